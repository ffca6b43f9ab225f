"""tir-loop-partition: the iterations of a loop that a guard never stops run without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr
from xdsl.passes import ModulePass

from ...dialects.affine import Linear, Range, below, linear, linear_bounds
from ...dialects.sizes import Size, proves, same
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Ranges, blocks_of, view
from ...provenance.walk import walk
from .rewriting.index_set_splitting import subrange
from .rewriting.ops import record
from .rewriting.tail_pieces import pieces

HINT = "pragma_loop_partition_hint"
"""The attribute of a loop that asks for it, or, if it is 0, against it."""


def run(func: PrimFuncOp, const_loops: bool = False) -> None:
    """Partition the loops of one kernel, outer ones first, in place."""
    asked = const_loops
    for op in walk(func):
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
                for inner, inner_ranges in blocks_of(op, ranges):
                    _block(inner, inner_ranges)


def _partition(loop: ForOp, ranges: Ranges) -> list[ForOp]:
    """Replace `loop` by its parts, and return them; by itself if no guard asks for more."""
    extent = loop.trip_count
    hint = loop.attributes.pop(HINT, None)
    asked = hint is not None
    parallel = loop.kind.data == "parallel"
    if (parallel and loop.is_known and not asked) or (loop.kind.data == "vectorized" and not asked) or below(extent, 2):
        return [loop]
    if isinstance(hint, IntegerAttr) and not hint.value.data:
        return [loop]
    begin: Size = 0
    end = extent
    loads = asked or loop.is_known
    for first, last in _doubtless(loop.block, loop.var, {**ranges, loop.var: loop.bounds}, loads):
        # A guard that would leave nothing free of it, or of which only a call knows that, stays where it is.
        start, stop = _common((begin, end), (first, last))
        if start is not None and stop is not None and _leaves(start, stop) and _keeps(loop, start, stop):
            begin, end = start, stop
    if same(begin, 0) and same(end, extent):
        return [loop]
    last = pieces(loop, ranges, asked) if same(begin, 0) and not loop.is_known else None
    if parallel and (not loop.is_known or (same(begin, 0) and _is_uneven(loop))):
        if same(begin, 0):
            _branch(loop, end, None if last is None else last[1])
        return [loop]
    cuts: list[Size] = [0, *([] if same(begin, 0) else [begin]), *([] if same(end, extent) else [end]), extent]
    if last is not None:
        cuts = [0] if same(last[0], 0) else [0, end]
    parts = [(a, subrange(loop, a, b, ranges)) for a, b in pairwise(cuts)]
    parts += [(end, piece) for piece in last[1]] if last is not None else []
    assert loop.parent is not None
    loops = [part for _, part in parts]
    loop.parent.insert_ops_before(loops, loop)
    record("Partition", loop, f"no guard in iterations {begin} to {end - 1} of {extent}", loops)
    loop.detach()
    loop.erase()
    # The ends of an open loop may have no iteration at all: they would be cut without end.
    if not asked or not isinstance(extent, int):
        return loops
    found: list[ForOp] = []
    for first, part in parts:
        if not same(first, begin):
            part.attributes[HINT] = IntegerAttr(1, i64)
        found += [part] if same(first, begin) else _partition(part, ranges)
    return found


def _leaves(start: Size, stop: Size) -> bool:
    """Return whether iterations run from `start` to `stop`; where only a call knows, whether there are none too few."""
    if isinstance(start, int) and isinstance(stop, int):
        return start < stop
    return proves(start, "<=", stop)


def _is_uneven(loop: ForOp) -> bool:
    """Return whether stores in a loop have guards, those of an uneven split."""
    return any(isinstance(op, IfOp) and op.likely is not None for op in walk(loop))


def _keeps(loop: ForOp, start: Size, stop: Size) -> bool:
    """Return whether an unrolled loop stays one of known passes, each of which may have registers of its own."""
    return loop.kind.data != "unrolled" or not loop.is_known or (isinstance(start, int) and isinstance(stop, int))


def _branch(loop: ForOp, end: Size, last: Sequence[ForOp] | None) -> None:
    """Let the iterations of a loop from `end` on, where a guard may stop what they do, have code of their own.

    last: what they do, if not a copy of the others.
    """
    guard = affine_map(1, (AffineDimExpr(0) * -1 + lifted(end - 1),))
    branch = IfOp.make(guard, [loop.var], likely=True, orelse=True)
    branch.location = loop.location
    assert branch.orelse is not None
    values: dict[SSAValue, SSAValue] = {}
    branch.orelse.block.add_ops([op.clone(values) for op in loop.block.ops] if last is None else last)
    for op in list(loop.block.ops):
        op.detach()
        branch.block.add_op(op)
    loop.block.add_op(branch)
    record("Partition", loop, f"no guard in iterations 0 to {end - 1} of {loop.trip_count}", [branch], gone=False)


def _common(a: Range, b: Range) -> tuple[Size | None, Size | None]:
    """The start and the stop of what two ranges have in common; None where only a call knows it."""
    (begin, end), (first, last) = a, b
    start = begin if proves(first, "<=", begin) else first if proves(first, ">=", begin) else None
    stop = end if proves(last, ">=", end) else last if proves(last, "<=", end) else None
    return start, stop


def _doubtless(block: Block, var: SSAValue, ranges: Ranges, loads: bool) -> Iterator[Range]:
    """For each guard expression that a range of `var` decides: the iterations, from and to, where it always holds.

    loads: also of guarded loads.
    """
    for op in block.ops:
        if (isinstance(op, IfOp) and op.likely is not None) or (loads and isinstance(op, LoadOp) and op.guard):
            yield from _holds(op, var, ranges)
        for inner, inner_ranges in blocks_of(op, ranges):
            yield from _doubtless(inner, var, inner_ranges, loads)


def _holds(op: IfOp | LoadOp, var: SSAValue, ranges: Ranges) -> Iterator[Range]:
    seen = view(op, ranges)
    if var not in seen.values:
        return
    position = seen.values.index(var)
    low, high = seen.ranges[position]
    for expr in seen.guard:
        whole = linear(expr, seen.ranges)
        # factor * var + rest >= 0 for the least rest
        others = Linear(tuple(term for term in whole.terms if position not in term[0].used_dims()), whole.constant)
        rest, _ = linear_bounds(others, seen.ranges)
        mine = tuple(term for term in whole.terms if position in term[0].used_dims())
        form = _undivided(Linear(mine, rest), seen.ranges)
        factor, rest = form.coefficient(position), form.constant
        if not isinstance(factor, int) or not factor or len(form.terms) > 1:
            continue
        within = (-(rest // factor), high + 1) if factor > 0 else (low, rest // -factor + 1)
        start, stop = _common((low, high + 1), within)
        if start is not None and stop is not None:
            yield start, stop


def _undivided(form: Linear, ranges: tuple[Range, ...]) -> Linear:
    """Return an expression that is at least 0 where `form` is, without the quotient, if that is its only term."""
    match form.terms:
        case (
            (
                AffineBinaryOpExpr(
                    kind=AffineBinaryOpKind.FloorDiv, lhs=dividend, rhs=AffineConstantExpr(value=divisor)
                ),
                int(factor),
            ),
        ) if isinstance(form.constant, int):
            inner = linear(dividend, ranges)
            if factor > 0:
                return inner.plus(Linear((), form.constant // factor * divisor))
            return inner.times(-1).plus(Linear((), (form.constant // -factor + 1) * divisor - 1))
        case _:
            return form


@dataclass(frozen=True)
class TirLoopPartitionPass(ModulePass):
    """Splits a loop where a guard starts or stops to hold, so that most iterations run without it.

    Before: any kernels. After: a loop that is not parallel or vectorized, unless its own attribute asks for it, and in
    which a `tir.if likely` or a guarded load depends affinely on the loop's variable, stands as up to three
    loops of the same kind: iterations before those where the guard always holds, these, and iterations after them. In
    the middle one those guards are gone, an `if` being left with no condition (`tir-simplify` then takes it away, with
    loops of one iteration). Guards are looked at in order; one that leaves no iteration free of it, or has a rest of
    the variable, is left alone. Outer loops come first, so that inner ones are only split where the guard is still in
    doubt.
    Locations: copies keep those of what they copy.

    How often a loop of open sizes runs only a call says. A parallel one of them, and one
    around uneven splits, stays one loop, with a branch inside for the last iterations, in which a guard may stop what
    they do. Of a loop over tiles that are unrolled the last one is done in smaller tiles.

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
