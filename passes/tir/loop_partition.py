"""tir-loop-partition: the passes of a loop that a guard never stops run without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...dialects.affine import Linear, Range, linear, linear_bounds, substitute
from ...dialects.tir import ForOp, IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp
from .common import LEADING, Access, Ranges, narrowed, prim_funcs, record, settle, update, view


def run(func: PrimFuncOp) -> None:
    """Partition the loops of one kernel, outer ones first, in place."""
    _block(func.block, {})


def _block(block: Block, ranges: Ranges) -> None:
    for op in list(block.ops):
        match op:
            case ForOp():
                for loop in _partition(op, ranges):
                    ranges[loop.var] = (0, max(0, loop.trip_count - 1))
                    _block(loop.block, ranges)
            case IfOp():
                _block(op.block, narrowed(op, ranges))
                if op.orelse is not None:
                    _block(op.orelse.block, ranges)
            case _:
                pass


def _partition(loop: ForOp, ranges: Ranges) -> list[ForOp]:
    """Replace `loop` by its pieces, and return them; by itself if no guard asks for more."""
    extent = loop.trip_count
    if loop.kind.data == "parallel" or extent < 2:
        return [loop]
    begin, end = 0, extent
    for first, last in _doubtless(loop.block, loop.var, {**ranges, loop.var: (0, extent - 1)}):
        # A guard that would leave nothing free of it stays where it is.
        if max(begin, first) < min(end, last):
            begin, end = max(begin, first), min(end, last)
    if (begin, end) == (0, extent):
        return [loop]
    cuts = sorted({0, begin, end, extent})
    pieces = [piece(loop, a, b, ranges) for a, b in pairwise(cuts)]
    assert loop.parent is not None
    loop.parent.insert_ops_before(pieces, loop)
    record("Partition", loop, f"no guard in passes {begin} to {end - 1} of {extent}", pieces)
    loop.detach()
    loop.erase()
    return pieces


def _doubtless(block: Block, var: SSAValue, ranges: Ranges) -> Iterator[Range]:
    """For each guard expression that a range of `var` decides: the passes, from and to, where it always holds."""
    for op in block.ops:
        match op:
            case ForOp():
                ranges[op.var] = (0, max(0, op.trip_count - 1))
                yield from _doubtless(op.block, var, ranges)
            case IfOp():
                if op.likely is not None:
                    yield from _holds(op, var, ranges)
                yield from _doubtless(op.block, var, narrowed(op, ranges))
                if op.orelse is not None:
                    yield from _doubtless(op.orelse.block, var, ranges)
            case LoadOp() if op.guard is not None:
                yield from _holds(op, var, ranges)
            case _:
                pass


def _holds(op: IfOp | LoadOp, var: SSAValue, ranges: Ranges) -> Iterator[Range]:
    seen = view(op, ranges)
    if var not in seen.values:
        return
    position = seen.values.index(var)
    low, high = seen.ranges[position]
    for expr in seen.guard:
        form = linear(expr, seen.ranges)
        if not (factor := form.coefficient(position)):
            continue
        # factor * var + rest >= 0 for the least rest
        rest, _ = linear_bounds(form.plus(Linear(((AffineDimExpr(position), -factor),), 0)), seen.ranges)
        yield (max(low, -(rest // factor)), high + 1) if factor > 0 else (low, min(high, rest // -factor) + 1)


def piece(loop: ForOp, begin: int, end: int, ranges: Ranges) -> ForOp:
    """A copy of `loop` that does its passes from `begin` to `end`."""
    copy = loop.clone()
    copy.properties["extent"] = IntegerAttr(end - begin, i64)
    shift = AffineDimExpr(0) + begin
    inside: Ranges = {**ranges, copy.var: (0, end - begin - 1)}
    others: list[Operation] = []
    for op in copy.walk():
        if isinstance(op, ForOp) and op is not copy:
            inside[op.var] = (0, max(0, op.trip_count - 1))
        elif copy.var in op.operands:
            if isinstance(op, LoadOp | StoreOp | IfOp | IndexOp):
                _shift(op, copy.var, begin, inside)
            else:
                others.append(op)
    if begin and others:
        number = IndexOp.make(AffineMap(1, 0, (shift,)), [copy.var])
        number.location = copy.location
        first = copy.block.first_op
        assert first is not None
        copy.block.insert_op_before(number, first)
        for op in others:
            op.operands = [number.result if operand is copy.var else operand for operand in op.operands]
    return copy


def _shift(op: Access, var: SSAValue, by: int, ranges: Ranges) -> None:
    """Let `op` use `var + by` in place of `var`, and drop the guards that then always hold."""
    if by:
        indices = op.operands[LEADING[type(op)] :]
        dims: list[AffineExpr] = [
            AffineDimExpr(i) + by if value is var else AffineDimExpr(i) for i, value in enumerate(indices)
        ]
        for name in ("map", "guard"):
            if isinstance(old := op.properties.get(name), AffineMapAttr):
                exprs = tuple(substitute(expr, dims) for expr in old.data.results)
                op.properties[name] = AffineMapAttr(AffineMap(len(dims), 0, exprs))
    seen = view(op, ranges)
    update(op, seen.values, settle(seen.map, seen.guard, seen.ranges))


@dataclass(frozen=True)
class TirLoopPartitionPass(ModulePass):
    """Splits a loop where a guard starts or stops to hold, so that most passes run without it.

    Before: any kernels. After: a loop that is not parallel, and in which a `tir.if likely` or a guarded load depends
    affinely on the loop's variable, stands as up to three loops of the same kind: passes before those where the guard
    always holds, these, and passes after them. In the middle one those guards are gone, an `if` being left with no
    condition (`tir-simplify` then takes it away, with loops of one pass). Guards are looked at in order; one that
    leaves no pass free of it, or divides the variable, is left alone. Outer loops come first, so that inner ones are
    only split where the guard is still in doubt.
    Locations: copies keep those of what they copy.

    const-loops: whether loops of constant extent, which all are, are partitioned at all. TVM has that off.

    ```mlir
    tir.for %i in 4 {
      tir.if likely [6 - %i * 2] >= 0 {
        %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<4xf32> -> f32
        tir.store %0, %b[%i * 2] : f32, !tir.buffer<8xf32>
      }
    }
    // becomes
    tir.for %i in 1 {
      tir.if likely [] >= 0 {
        %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<4xf32> -> f32
        tir.store %0, %b[0] : f32, !tir.buffer<8xf32>
      }
    }
    tir.for %i in 3 {
      tir.if likely [] >= 0 {
        %1 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32
        tir.store %1, %b[%i * 2 + 2] : f32, !tir.buffer<8xf32>
      }
    }
    ```
    """

    name = "tir-loop-partition"
    const_loops: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.const_loops:
            for func in prim_funcs(op):
                run(func)
