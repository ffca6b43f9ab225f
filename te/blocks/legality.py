"""The order that accesses of one buffer need: which loops may be reordered or run at once.

What cannot be shown to be in order is refused. The dependences between iterations are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import Range, linear, linear_bounds
from ...dialects.sizes.kernel import lifted
from ...dialects.tir import BlockOp, ForOp
from ...passes.tir.analysis.dependence import (
    Verdict,
    carried,
    coincidence,
    fused,
    occurrence,
    point,
    reordered,
    written_once,
)
from ...passes.tir.analysis.meetings import Undecided, Witness
from ...provenance.walk import walk
from .accesses import block_of
from .bindings import Place, joined, range_of, resolved
from .state import name_of, refuse


def inside(root: ForOp) -> set[SSAValue]:
    """The variables of the loops below `root`."""
    return {op.var for op in walk(root) if isinstance(op, ForOp) and op is not root}


def check_parallel(primitive: str, loop: ForOp) -> None:
    """Refuse to run the iterations of a loop at once where two may name one element that one of them writes."""
    verdict = carried(loop)
    if not verdict:
        text = f"expected iterations of {name_of(loop)} that do not depend on each other, got {reason(verdict)}"
        refuse(primitive, text, loop, *_blocks(verdict))


def check_reorder(primitive: str, old: Sequence[ForOp], new: Sequence[ForOp]) -> None:
    """Refuse another order of a chain of loops where that turns the order of two accesses of one element."""
    verdict = reordered(old, new)
    if not verdict:
        order = ", ".join(map(name_of, new))
        refuse(primitive, f"expected an order that keeps all values, got {order}: {reason(verdict)}", *_blocks(verdict))


def check_written_once(primitive: str, loop: ForOp, buffer: SSAValue, text: str, *ops: Operation, remedy: str) -> None:
    """Refuse a loop that stores to elements of a buffer in several iterations."""
    verdict = written_once(loop, buffer)
    if not verdict:
        refuse(primitive, f"{text}, got {reason(verdict)}", *ops, remedy=remedy)


def check_merge(primitive: str, first: Sequence[ForOp], second: Sequence[ForOp]) -> None:
    """Refuse one nest of two where the second needs, before an iteration, what the first does in later ones."""
    verdict = fused(first, second)
    if not verdict:
        names = f"{name_of(first[-1])} and {name_of(second[-1])}"
        text = f"expected loops {names} that need nothing of each other's later iterations, got {reason(verdict)}"
        refuse(primitive, text, first[-1], second[-1], *_blocks(verdict))


def check_one_to_one(
    primitive: str, name: str, values: Sequence[SSAValue], exprs: Sequence[AffineExpr], *ops: Operation
) -> None:
    """Refuse expressions that give two points one element."""
    answer = coincidence(values, exprs, [range_of(value) for value in values])
    if answer is None:
        return
    got = f"an open question: {answer}"
    if isinstance(answer, Witness):
        got = f"{list(answer.element)} at {point(answer.earlier)} and at {point(answer.later)}"
    refuse(primitive, f"expected each element of {name} at one point, got {got}", *ops)


def reason(verdict: Verdict) -> str:
    """The witness of a conflict, or why there is no answer."""
    if verdict.conflict is not None:
        return str(verdict.conflict)
    return f"an open question: {verdict.undecided}"


def _blocks(verdict: Verdict) -> list[Operation]:
    """The blocks of the accesses that are in conflict."""
    if verdict.conflict is None:
        return []
    around = [block_of(touch.op) for touch in (verdict.conflict.first, verdict.conflict.second)]
    return list(dict.fromkeys(block for block in around if block is not None))


class _Runs(NamedTuple):
    """The runs of a block in loops: its point and conditions, over the variables of the loops and then others."""

    values: list[SSAValue]
    fixed: list[SSAValue]
    point: list[AffineExpr]
    conditions: list[AffineExpr]

    @property
    def ranges(self) -> list[Range]:
        return list(map(range_of, self.values))


def _runs(block: BlockOp, loops: Sequence[ForOp]) -> _Runs:
    point = Place(block.map.data.results, tuple(block.indices))
    place = resolved(joined(point, *(Place(guard.results, tuple(block.indices)) for guard in block.guards[:1])))
    moved: list[SSAValue] = [loop.var for loop in loops]
    others = [value for value in place.values if value not in moved]
    values = [*moved, *others]
    dims = [AffineDimExpr(values.index(value)) for value in place.values]
    exprs = [expr.replace_dims_and_symbols(dims, ()) for expr in place.exprs]
    count = len(point.exprs)
    return _Runs(values, others, exprs[:count], exprs[count:] if len(block.guards) == 1 else [])


def is_one_to_one(block: BlockOp, loops: Sequence[ForOp]) -> bool:
    """Return whether no two iterations of `loops` run a block at one point, other loops staying as they are."""
    runs = _runs(block, loops)
    return coincidence(runs.values, runs.point, runs.ranges, runs.conditions, fixed=runs.fixed) is None


def check_starts_first(primitive: str, block: BlockOp, loops: Sequence[ForOp]) -> None:
    """Refuse a reduction of which loops run terms before the first, with which it starts, or do not run the first."""
    runs = _runs(block, loops)
    kinds = [kind.data for kind in block.kinds]
    terms, data = (
        [e for e, k in zip(runs.point, kinds, strict=True) if (k == "reduce") is own] for own in (True, False)
    )
    found = occurrence(runs.values, terms, [0] * len(terms), runs.ranges, runs.conditions)
    early = coincidence(runs.values, data, runs.ranges, runs.conditions, fixed=runs.fixed, second=terms)
    if isinstance(found, Witness) and early is None:
        return
    names = ", ".join(
        f"{arg.name_hint}=0" for arg, kind in zip(block.block.args, kinds, strict=True) if kind == "reduce"
    )
    match early or found:
        case Undecided() as answer:
            got = f"an open question: {answer}"
        case Witness() as answer if early is not None:
            got = f"{point(answer.earlier)} before {point(answer.later)}"
        case _:
            got = "none of it"
    refuse(primitive, f"expected loops that run the first term, {names}, first, got {got}", block)


def extent_of(place: Place, free: set[SSAValue]) -> tuple[Place, int] | None:
    """The first index and the number of indices that an expression takes where the variables of `free` run.

    None where the span is unknown, or reaches beyond what is taken.
    """
    form = linear(place.exprs[0], place.ranges)
    start: AffineExpr = AffineConstantExpr(0)
    low_sum, high_sum = 0, 0
    for atom, factor in form.terms:
        used = {place.values[dim] for dim in atom.used_dims()}
        if not used & free:
            start = start + atom * lifted(factor)
            continue
        if not used <= free:
            return None
        single = linear(atom, place.ranges)
        low, high = linear_bounds(single, place.ranges)
        if not isinstance(low, int) or not isinstance(high, int) or not isinstance(factor, int):
            return None
        low_sum += min(low * factor, high * factor)
        high_sum += max(low * factor, high * factor)
    start = start + lifted(form.constant + low_sum)
    return Place((start,), place.values).simplified(), high_sum - low_sum + 1
