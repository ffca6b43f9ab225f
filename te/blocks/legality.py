"""The order that accesses of one buffer need: which loops may be reordered or run at once.

What cannot be shown to be in order is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import bounds, flatten, linear, linear_bounds
from ...dialects.sizes.kernel import lifted
from ...dialects.tir import BlockOp, ForOp, LoadOp, StoreOp, buffer_of
from ...provenance.walk import walk
from .accesses import Access, block_of, elements, name_of_buffer
from .bindings import Place, resolved
from .state import name_of, refuse

_COMBINERS = (
    arith.AddfOp,
    arith.AddiOp,
    arith.MulfOp,
    arith.MuliOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
)
"""Ops of reductions whose terms may come in any order."""


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


def conflicts(primitive: str, root: Operation) -> dict[SSAValue, list[Access]]:
    """The accesses below `root` of each buffer that is written there."""
    found: dict[SSAValue, list[Access]] = {}
    for access in elements(primitive, root):
        found.setdefault(access.buffer, []).append(access)
    return {buffer: group for buffer, group in found.items() if any(access.writes for access in group)}


def inside(root: ForOp) -> set[SSAValue]:
    """The variables of the loops below `root`."""
    return {op.var for op in walk(root) if isinstance(op, ForOp) and op is not root}


def is_private(buffer: SSAValue, root: Operation) -> bool:
    """Return whether a buffer lives inside of `root`."""
    owner = buffer.owner
    parent = owner.parent_op() if isinstance(owner, Operation) else None
    while parent is not None:
        if parent is root:
            return True
        parent = parent.parent_op()
    return False


def check_parallel(primitive: str, loop: ForOp) -> None:
    """Refuse to run the iterations of a loop at once where two may name one element that one of them writes."""
    if loop.is_known and not loop.is_run(2):
        return
    for buffer, accesses in conflicts(primitive, loop).items():
        if is_private(buffer, loop) or is_distinct(loop, accesses, inside(loop)):
            continue
        where = next((block for access in accesses if access.writes and (block := block_of(access.op))), None)
        name = name_of_buffer(buffer)
        witness = _witness(loop, accesses)
        text = f"expected iterations of {name_of(loop)} that share no element of {name}, got {witness}"
        refuse(primitive, text, loop, *([where] if where is not None else []))


def _witness(loop: ForOp, accesses: Sequence[Access]) -> str:
    name, variable = name_of_buffer(accesses[0].buffer), name_of(loop)
    for access in accesses:
        block = block_of(access.op)
        if access.writes and loop.var not in access.place.values and (block is None or not block.guards):
            point = [bounds(expr, [(0, 0)] * len(access.place.values))[0] for expr in access.place.exprs]
            return f"{variable}=0 and {variable}=1 that both write {name}[{', '.join(map(str, point))}]"
    return f"accesses of {name} that may meet in two of them"


def check_reorder(primitive: str, old: Sequence[ForOp], new: Sequence[ForOp]) -> None:
    """Refuse another order of a chain of loops where that turns the order of two accesses of one element."""
    varying = {loop.var for loop in old} | inside(old[-1])
    many = [loop for loop in old if not loop.is_known or loop.is_run(2)]
    for buffer, accesses in conflicts(primitive, old[0]).items():
        if is_private(buffer, old[-1]):
            continue
        shared = [loop for loop in many if not is_distinct(loop, accesses, varying - {loop.var})]
        turned = [loop for loop in new if loop in shared]
        if turned == shared:
            continue
        first, second = next((a, b) for a, b in zip(shared, turned, strict=True) if a is not b)
        if is_accumulated(accesses, old):
            continue
        name = name_of_buffer(buffer)
        text = (
            f"expected {name_of(first)} and {name_of(second)} in their order, as iterations of both share elements of "
            f"{name}, got {', '.join(map(name_of, new))}"
        )
        refuse(primitive, text, first, second)


def is_accumulated(accesses: Sequence[Access], loops: Sequence[ForOp]) -> bool:
    """Return whether accesses are those of one sum, product or extreme whose terms may come in any order.

    The loops must run each point of the block once, as its start belongs to one of them.
    """
    blocks = {block_of(access.op) for access in accesses}
    if len(blocks) != 1 or (block := next(iter(blocks))) is None or reduction_of(block) is None:
        return False
    return is_one_to_one(block, loops)


def reduction_of(block: BlockOp) -> StoreOp | None:
    """The store of `C[..] = C[..] + term`, if all that a block does, but for its start, is this, in any order."""
    stores = [op for op in block.block.ops if isinstance(op, StoreOp)]
    if len(stores) != 1 or any(isinstance(op, ForOp | BlockOp) for op in block.block.ops):
        return None
    (store,) = stores
    combine = store.value.owner
    loads = [op for op in block.block.ops if isinstance(op, LoadOp) and op.buffer is store.buffer]
    if len(loads) != 1 or not isinstance(combine, Operation):
        return None
    (old,) = loads
    sums = isinstance(combine, math.FmaOp) and combine.operands[2] is old.result
    combines = isinstance(combine, _COMBINERS) and any(operand is old.result for operand in combine.operands)
    if not (sums or combines) or not old.result.has_one_use() or not combine.results[0].has_one_use():
        return None
    inits = [op for op in walk(block) if isinstance(op, StoreOp) and op.buffer is store.buffer]
    points = [Place(op.map.data.results, tuple(op.indices)).simplified() for op in (old, *inits)]
    starts_first = block.init is None or _begins_at_zero(block)
    return store if starts_first and all(point == points[0] for point in points) else None


def _begins_at_zero(block: BlockOp) -> bool:
    """Return whether the reduce variables of a block are all 0 in the first iteration, in whatever order."""
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    for kind, expr in zip(block.kinds, place.exprs, strict=True):
        if kind.data != "reduce":
            continue
        form = linear(expr, place.ranges)
        if form.constant != 0 or not all(isinstance(factor, int) and factor > 0 for _, factor in form.terms):
            return False
    return True


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
