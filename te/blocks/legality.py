"""The order that accesses of one buffer need: which loops may be reordered or run at once.

What cannot be shown to be in order is refused. The dependences between iterations are exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import flatten, linear, linear_bounds
from ...dialects.sizes.kernel import lifted
from ...dialects.tir import BlockOp, ForOp, buffer_of
from ...passes.tir.analysis.dependence import Verdict, carried, coincidence, fused, point, reordered
from ...passes.tir.analysis.meetings import Witness
from ...provenance.walk import walk
from .accesses import Access, block_of
from .bindings import Place, range_of, resolved
from .state import name_of, refuse


def is_distinct(loop: ForOp, accesses: Sequence[Access], varying: set[SSAValue]) -> bool:
    """Return whether no two iterations of `loop` name one element, whatever the loops of `varying` do in each.

    Shown where all accesses are at `loop * c + rest` with a rest in [0, c), of one dimension or of the flat buffer,
    but for a part that is the same in both iterations.
    """
    if not accesses:
        return True
    shape = buffer_of(accesses[0].buffer).get_shape()
    strides = buffer_of(accesses[0].buffer).strides
    flat = [Place((flatten(access.place.exprs, strides),), access.place.values) for access in accesses]
    by_dim = [[Place((a.place.exprs[dim],), a.place.values) for a in accesses] for dim in range(len(shape))]
    return any(_separates(loop, places, varying) for places in (flat, *by_dim))


def _separates(loop: ForOp, places: Sequence[Place], varying: set[SSAValue]) -> bool:
    fixed: set[str] | None = None
    steps = {step for place in places for step in _coefficients(loop, place)}
    for step in sorted(steps, reverse=True):
        fixed = None
        for place in places:
            rest = _quotient(loop, place, step, varying)
            if rest is None or (fixed is not None and rest != fixed):
                break
            fixed = rest
        else:
            return True
    return False


def _coefficients(loop: ForOp, place: Place) -> list[int]:
    """The candidates for the distance of two iterations."""
    if loop.var not in place.values:
        return []
    form = linear(place.exprs[0], place.ranges)
    position = place.values.index(loop.var)
    return [abs(factor) for atom, factor in form.terms if position in atom.used_dims() and isinstance(factor, int)]


def _quotient(loop: ForOp, place: Place, step: int, varying: set[SSAValue]) -> set[str] | None:
    """The fixed part of `place // step` beside the loop; None if that is not the loop plus something fixed."""
    if loop.var not in place.values:
        return None
    ranges = place.ranges
    form = linear(place.exprs[0] // AffineConstantExpr(step), ranges)
    position = place.values.index(loop.var)
    fixed: set[str] = {str(form.constant)}
    sign = None
    for atom, factor in form.terms:
        if isinstance(atom, AffineDimExpr) and atom.position == position:
            sign = factor
            continue
        used = {place.values[dim] for dim in atom.used_dims()}
        if used & (varying | {loop.var}) or not all(_is_loop(value) for value in used):
            return None
        names = ",".join(str(id(place.values[dim])) for dim in sorted(atom.used_dims()))
        fixed.add(f"{factor} {atom} {names}")
    if sign not in (1, -1):
        return None
    return fixed | {f"sign {sign}"}


def _is_loop(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Block) and isinstance(value, BlockArgument) and isinstance(owner.parent_op(), ForOp)


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


def is_one_to_one(block: BlockOp, loops: Sequence[ForOp]) -> bool:
    """Return whether no two iterations of `loops` run a block at one point, other loops staying as they are."""
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    total: AffineExpr = AffineConstantExpr(0)
    for expr, extent in zip(place.exprs, block.domain, strict=True):
        total = total * lifted(extent) + expr
    form = linear(total, place.ranges)
    wanted: set[SSAValue] = {loop.var for loop in loops if not loop.is_known or loop.is_run(2)}
    factors: list[tuple[int, int]] = []
    for atom, factor in form.terms:
        if not isinstance(factor, int):
            return False
        if not isinstance(atom, AffineDimExpr):
            if {place.values[dim] for dim in atom.used_dims()} & wanted:
                return False
            continue
        if (value := place.values[atom.position]) not in wanted:
            continue
        wanted.remove(value)
        high = place.ranges[atom.position][1]
        if not isinstance(high, int):
            return False
        factors.append((abs(factor), high))
    reach = 0
    for factor, high in sorted(factors):
        if factor <= reach:
            return False
        reach += factor * high
    return not wanted


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
