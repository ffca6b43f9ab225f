"""tir-loop-partition: the iterations of a loop that a guard never stops run without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ...dialects.affine import Linear, Range, linear, linear_bounds
from ...dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Ranges, blocks_of, view
from .rewriting.index_set_splitting import subrange
from .rewriting.ops import record

HINT = "pragma_loop_partition_hint"
"""The attribute of a loop that asks for it."""


def run(func: PrimFuncOp, const_loops: bool = False) -> None:
    """Partition the loops of one kernel, outer ones first, in place."""
    asked = const_loops
    for op in func.walk():
        if isinstance(op, ForOp):
            asked |= HINT in op.attributes
        elif isinstance(op, IfOp):
            asked |= op.likely is not None
    if asked:
        _block(func.block, {})


def _block(block: Block, ranges: Ranges) -> None:
    for op in list(block.ops):
        match op:
            case ForOp():
                for loop in _partition(op, ranges):
                    ranges[loop.var] = loop.bounds
                    _block(loop.block, ranges)
            case _:
                for inner, known in blocks_of(op, ranges):
                    _block(inner, known)


def _partition(loop: ForOp, ranges: Ranges) -> list[ForOp]:
    """Replace `loop` by its parts, and return them; by itself if no guard asks for more."""
    extent = loop.trip_count
    asked = loop.attributes.pop(HINT, None) is not None
    if loop.kind.data == "parallel" or (loop.kind.data == "vectorized" and not asked) or extent < 2:
        return [loop]
    begin, end = 0, extent
    for first, last in _doubtless(loop.block, loop.var, {**ranges, loop.var: (0, extent - 1)}):
        # A guard that would leave nothing free of it stays where it is.
        if max(begin, first) < min(end, last):
            begin, end = max(begin, first), min(end, last)
    if (begin, end) == (0, extent):
        return [loop]
    cuts = sorted({0, begin, end, extent})
    parts = {a: subrange(loop, a, b, ranges) for a, b in pairwise(cuts)}
    assert loop.parent is not None
    loop.parent.insert_ops_before(list(parts.values()), loop)
    record("Partition", loop, f"no guard in iterations {begin} to {end - 1} of {extent}", list(parts.values()))
    loop.detach()
    loop.erase()
    if not asked:
        return list(parts.values())
    found: list[ForOp] = []
    for first, part in parts.items():
        if first != begin:
            part.attributes[HINT] = IntegerAttr(1, i64)
        found += [part] if first == begin else _partition(part, ranges)
    return found


def _doubtless(block: Block, var: SSAValue, ranges: Ranges) -> Iterator[Range]:
    """For each guard expression that a range of `var` decides: the iterations, from and to, where it always holds."""
    for op in block.ops:
        if (isinstance(op, IfOp) and op.likely is not None) or (isinstance(op, LoadOp) and op.guard is not None):
            yield from _holds(op, var, ranges)
        for inner, known in blocks_of(op, ranges):
            yield from _doubtless(inner, var, known)


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


@dataclass(frozen=True)
class TirLoopPartitionPass(ModulePass):
    """Splits a loop where a guard starts or stops to hold, so that most iterations run without it.

    Before: any kernels. After: a loop that is neither parallel nor, unless its own attribute asks for it, vectorized,
    and in which a `tir.if likely` or a guarded load depends affinely on the loop's variable, stands as up to three
    loops of the same kind: iterations before those where the guard always holds, these, and iterations after them. In
    the middle one those guards are gone, an `if` being left with no condition (`tir-simplify` then takes it away, with
    loops of one iteration). Guards are looked at in order; one that leaves no iteration free of it, or divides the
    variable, is left alone. Outer loops come first, so that inner ones are only split where the guard is still in
    doubt.
    Locations: copies keep those of what they copy.

    Kernels without uneven splits (`tir.if likely`) stay as they are, as guards of loads are seldom worth the code: a
    loop whose attribute `pragma_loop_partition_hint` says that they are has its kernel taken apart, too.
    const_loops: take all kernels apart. Every loop has a constant extent here, so that TVM's rule, to leave those alone
    by default, would leave all; it takes loops of unknown extent apart, whose guards stem from uneven splits.

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
    const_loops: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func, self.const_loops)
