"""The index maps and guards of accesses: resolved to loop variables, simplified under known ranges, put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ..affine import Range, below, flatten, linear, linear_bounds, substitute
from ..sizes import Size, proves
from ..sizes.kernel import affine_map, at_least, negative
from .access import PAST_THE_END, UNBOUNDED, IndexOp, LoadOp, StoreOp
from .control import ForOp, IfOp
from .masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from .prefetch import PrefetchOp
from .tiles import TileLoadOp, TileStoreOp

Reader: TypeAlias = LoadOp | MaskedLoadOp

Writer: TypeAlias = StoreOp | MaskedStoreOp

Touch: TypeAlias = LoadOp | MaskedLoadOp | StoreOp | MaskedStoreOp | PrefetchOp | TileLoadOp | TileStoreOp
"""The ops that name a place in a buffer."""

Mapped: TypeAlias = Touch | IndexOp | MaskOp
"""The ops that compute something from indices."""

Access: TypeAlias = Mapped | IfOp
"""The ops that hold an index map."""

Ranges: TypeAlias = dict[SSAValue, Range]
"""The smallest and largest value of loop variables; a value without an entry is unbounded."""

LEADING: dict[type[Operation], int] = {
    LoadOp: 1,
    StoreOp: 2,
    MaskedLoadOp: 2,
    MaskedStoreOp: 3,
    PrefetchOp: 1,
    TileLoadOp: 1,
    TileStoreOp: 1,
    IfOp: 0,
    IndexOp: 0,
    MaskOp: 0,
}
"""The number of operands of an access before its indices; the last of them is its buffer."""

NO_GUARD = AffineMapAttr(AffineMap(0, 0, ()))
"""A guard that always holds."""


class SimplifiedMaps(NamedTuple):
    """The maps of an access, simplified."""

    map: AffineMapAttr
    guard: AffineMapAttr | None
    """None when every guard expression always holds."""
    never: bool
    """True if the guard never holds; the maps are then as they were."""
    kept: tuple[int, ...]
    """The dims still in use, in order: dim i of the new maps was dim `kept[i]`."""
    ranges: tuple[Range, ...]
    """The range of every old dim where the guard holds."""


def _narrow(expr: AffineExpr, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """The ranges where `expr` is not negative; narrower only when it is linear in one dim."""
    form = linear(expr, ranges)
    if len(form.terms) != 1 or not isinstance(dim := form.terms[0][0], AffineDimExpr):
        return ranges
    low, high = ranges[dim.position]
    if not isinstance(factor := form.terms[0][1], int):
        return ranges
    # factor * dim + constant >= 0
    if factor > 0:
        first = -(form.constant // factor)
        low = low if proves(first, "<=", low) else first
        # At most one value is left.
        high = low if not isinstance(low, int) and proves(high, "<=", low) else high
    else:
        last = form.constant // -factor
        high = high if proves(last, ">=", high) else last
    return (*ranges[: dim.position], (low, high), *ranges[dim.position + 1 :])


@lru_cache(maxsize=1 << 13)
def simplify_maps(
    map: tuple[AffineExpr, ...], guard: tuple[AffineExpr, ...], ranges: tuple[Range, ...]
) -> SimplifiedMaps:
    """Simplify both maps: guard expressions that always hold go, the map is simplified as where the guard holds."""
    conditions: list[AffineExpr] = []
    inside = ranges
    for condition in guard:
        form = linear(condition, inside)
        low, high = linear_bounds(form, inside)
        if at_least(low, 0):
            continue
        never = negative(high)
        narrowed = inside if never else _narrow(condition, inside)
        if never or any(below(last, first) for first, last in narrowed):
            count = len(ranges)
            as_it_was = AffineMapAttr(affine_map(count, map)), AffineMapAttr(affine_map(count, guard))
            return SimplifiedMaps(*as_it_was, True, tuple(range(count)), ranges)
        inside = narrowed
        conditions.append(form.expr)
    results = [linear(expr, inside).expr for expr in map]
    used = sorted(set[int]().union(*(expr.used_dims() for expr in (*results, *conditions))))
    if used != list(range(len(used))):
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(ranges)
        for new, old in enumerate(used):
            dims[old] = AffineDimExpr(new)
        results = [substitute(expr, dims) for expr in results]
        conditions = [substitute(expr, dims) for expr in conditions]
    return SimplifiedMaps(
        AffineMapAttr(affine_map(len(used), tuple(results))),
        AffineMapAttr(affine_map(len(used), tuple(conditions))) if conditions else None,
        False,
        tuple(used),
        inside,
    )


class Operands(NamedTuple):
    """The index operands of an access, each value once, tir.index results and constants resolved."""

    values: tuple[SSAValue, ...]
    dims: tuple[AffineExpr, ...] | None
    """Return the dims of the access in terms of `values`; None when they are as they were."""


def operands_of(indices: Sequence[SSAValue]) -> Operands:
    """Resolve index operands: a value given twice is one, a `tir.index` is its map, a constant its number."""
    values: dict[SSAValue, AffineExpr] = {}
    dims = [_resolve(value, values) for value in indices]
    if len(values) == len(dims) and all(dim is own for dim, own in zip(dims, values.values(), strict=True)):
        return Operands(tuple(values), None)
    return Operands(tuple(values), tuple(dims))


def _resolve(value: SSAValue, values: dict[SSAValue, AffineExpr]) -> AffineExpr:
    if (expr := values.get(value)) is not None:
        return expr
    match value.owner:
        case Block():
            pass
        case IndexOp(map=map, indices=indices):
            return substitute(map.data.results[0], [_resolve(index, values) for index in indices])
        case ConstantOp(value=IntegerAttr(value=number)):
            return AffineConstantExpr(number.data)
        case _:
            pass
    return values.setdefault(value, AffineDimExpr(len(values)))


def exprs_of(op: Access) -> tuple[tuple[AffineExpr, ...], tuple[AffineExpr, ...]]:
    """The index expressions and the guard expressions of an access; an `if` has a guard only."""
    if isinstance(op, IfOp):
        return (), op.guard.data.results
    guard = op.guard if isinstance(op, LoadOp) else None
    return op.map.data.results, guard.data.results if guard is not None else ()


class View(NamedTuple):
    """An access in terms of resolved index operands."""

    values: tuple[SSAValue, ...]
    map: tuple[AffineExpr, ...]
    guard: tuple[AffineExpr, ...]
    ranges: tuple[Range, ...]


def view(op: Access, ranges: Ranges) -> View:
    """The maps of `op` over its resolved index operands, and their ranges."""
    operands = operands_of(op.operands[LEADING[type(op)] :])
    map, guard = exprs_of(op)
    if operands.dims is not None:
        map = tuple(substitute(expr, operands.dims) for expr in map)
        guard = tuple(substitute(expr, operands.dims) for expr in guard)
    return View(operands.values, map, guard, tuple(ranges.get(value, UNBOUNDED) for value in operands.values))


def update(op: Access, values: Sequence[SSAValue], simplified: SimplifiedMaps) -> None:
    """Give `op` the simplified maps over those of `values` that they use."""
    properties = op.properties
    if isinstance(op, IfOp):
        properties["guard"] = simplified.guard or NO_GUARD
    else:
        properties["map"] = simplified.map
        if isinstance(op, LoadOp):
            if simplified.guard is not None:
                properties["guard"] = simplified.guard
            elif op.guard is not None:
                del properties["guard"], properties["otherwise"]
                op.attributes.pop(PAST_THE_END, None)
    old = op.operands
    new = (*old[: LEADING[type(op)]], *(values[i] for i in simplified.kept))
    if old != new:
        op.operands = new


def narrowed(op: IfOp, ranges: Ranges) -> Ranges:
    """The ranges in the body of `op`."""
    seen = view(op, ranges)
    return _where(seen, seen.guard, ranges)


def narrowed_else(op: IfOp, ranges: Ranges) -> Ranges:
    """The ranges in the else branch of `op`: of a guard of one expression, those where it is negative."""
    seen = view(op, ranges)
    return _where(seen, (seen.guard[0] * -1 - 1,), ranges) if len(seen.guard) == 1 else ranges


def _where(seen: View, guard: tuple[AffineExpr, ...], ranges: Ranges) -> Ranges:
    simplified = simplify_maps((), guard, seen.ranges)
    return {**ranges, **dict(zip(seen.values, simplified.ranges, strict=True))}


def blocks_of(op: Operation, ranges: Ranges) -> Iterator[tuple[Block, Ranges]]:
    """The blocks that `op` holds, each with the ranges that hold in it."""
    if not op.regions:
        return
    match op:
        case ForOp():
            ranges[op.var] = op.bounds
            yield op.block, ranges
        case IfOp():
            yield op.block, narrowed(op, ranges)
            if op.orelse is not None:
                yield op.orelse.block, narrowed_else(op, ranges)
        case _:
            for region in op.regions:
                for block in region.blocks:
                    yield block, ranges


@lru_cache(maxsize=1 << 13)
def flat_index(map: tuple[AffineExpr, ...], strides: tuple[Size, ...]) -> AffineExpr:
    """The one index of a row-major array."""
    return flatten(map, strides)
