"""What the tir passes share: index maps under known ranges, constants, and moving or dropping ops with a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ....dialects.affine import Range, flatten, linear, linear_bounds, substitute
from ....dialects.tir import UNBOUNDED, ForOp, IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ....dialects.tir.prefetch import PrefetchOp
from ....provenance.ledger import current_ledger

Reader: TypeAlias = LoadOp | MaskedLoadOp
Writer: TypeAlias = StoreOp | MaskedStoreOp
Touch: TypeAlias = LoadOp | MaskedLoadOp | StoreOp | MaskedStoreOp | PrefetchOp
"""The ops that name a place in a buffer."""

Mapped: TypeAlias = LoadOp | MaskedLoadOp | StoreOp | MaskedStoreOp | PrefetchOp | IndexOp | MaskOp
"""The ops that compute something from indices."""

Access: TypeAlias = LoadOp | MaskedLoadOp | StoreOp | MaskedStoreOp | PrefetchOp | IndexOp | MaskOp | IfOp
"""The ops that hold an index map."""

Ranges: TypeAlias = dict[SSAValue, Range]
"""The smallest and largest value of loop variables; a value without an entry is unbounded."""

LEADING: dict[type[Operation], int] = {
    LoadOp: 1,
    StoreOp: 2,
    MaskedLoadOp: 2,
    MaskedStoreOp: 3,
    PrefetchOp: 1,
    IfOp: 0,
    IndexOp: 0,
    MaskOp: 0,
}
"""How many operands of an access stand before its indices; the last of them is its buffer."""

NO_GUARD = AffineMapAttr(AffineMap(0, 0, ()))
"""A guard that always holds."""

_INDEX = IndexType()


def prim_funcs(module: ModuleOp) -> Iterator[PrimFuncOp]:
    """The kernels of a module."""
    return (op for op in module.ops if isinstance(op, PrimFuncOp))


class Settled(NamedTuple):
    """The maps of an access, simplified."""

    map: AffineMapAttr
    guard: AffineMapAttr | None
    """None when every guard expression always holds."""
    never: bool
    """Whether the guard never holds; the maps are then as they were."""
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
    factor = form.terms[0][1]
    # factor * dim + constant >= 0
    if factor > 0:
        low = max(low, -(form.constant // factor))
    else:
        high = min(high, form.constant // -factor)
    return (*ranges[: dim.position], (low, high), *ranges[dim.position + 1 :])


@lru_cache(maxsize=1 << 13)
def settle(map: tuple[AffineExpr, ...], guard: tuple[AffineExpr, ...], ranges: tuple[Range, ...]) -> Settled:
    """Simplify both maps: guard expressions that always hold go, the map is simplified as where the guard holds."""
    conditions: list[AffineExpr] = []
    inside = ranges
    for condition in guard:
        form = linear(condition, inside)
        low, high = linear_bounds(form, inside)
        if low >= 0:
            continue
        narrowed = _narrow(condition, inside) if high >= 0 else inside
        if high < 0 or any(first > last for first, last in narrowed):
            count = len(ranges)
            as_it_was = AffineMapAttr(AffineMap(count, 0, map)), AffineMapAttr(AffineMap(count, 0, guard))
            return Settled(*as_it_was, True, tuple(range(count)), ranges)
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
    return Settled(
        AffineMapAttr(AffineMap(len(used), 0, tuple(results))),
        AffineMapAttr(AffineMap(len(used), 0, tuple(conditions))) if conditions else None,
        False,
        tuple(used),
        inside,
    )


class Operands(NamedTuple):
    """The index operands of an access, each value once, tir.index results and constants resolved."""

    values: tuple[SSAValue, ...]
    dims: tuple[AffineExpr, ...] | None
    """What the dims of the access are in terms of `values`; None when they are as they were."""


def operands_of(indices: Sequence[SSAValue]) -> Operands:
    """Resolve index operands: a value given twice is one, a `tir.index` is its map, a constant its number."""
    values: dict[SSAValue, AffineExpr] = {}
    dims = [_resolve(value, values) for value in indices]
    if len(values) == len(dims) and all(dim is own for dim, own in zip(dims, values.values(), strict=True)):
        return Operands(tuple(values), None)
    return Operands(tuple(values), tuple(dims))


def _resolve(value: SSAValue, values: dict[SSAValue, AffineExpr]) -> AffineExpr:
    if (known := values.get(value)) is not None:
        return known
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


def update(op: Access, values: Sequence[SSAValue], settled: Settled) -> None:
    """Give `op` the settled maps over those of `values` that they use."""
    properties = op.properties
    if isinstance(op, IfOp):
        properties["guard"] = settled.guard or NO_GUARD
    else:
        properties["map"] = settled.map
        if isinstance(op, LoadOp):
            if settled.guard is not None:
                properties["guard"] = settled.guard
            elif op.guard is not None:
                del properties["guard"], properties["otherwise"]
    old = op.operands
    new = (*old[: LEADING[type(op)]], *(values[i] for i in settled.kept))
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
    settled = settle((), guard, seen.ranges)
    return {**ranges, **dict(zip(seen.values, settled.ranges, strict=True))}


def blocks_of(op: Operation, ranges: Ranges) -> Iterator[tuple[Block, Ranges]]:
    """The blocks that `op` holds, each with the ranges that hold in it."""
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


@lru_cache(maxsize=1 << 10)
def vector_type(element: Attribute, width: int) -> VectorType[Attribute]:
    """`width` lanes of `element`."""
    return VectorType(element, [width])


@lru_cache(maxsize=1 << 10)
def stride_attribute(stride: int) -> IntegerAttr:
    return IntegerAttr(stride, i64)


@lru_cache(maxsize=1 << 13)
def flat_index(map: tuple[AffineExpr, ...], strides: tuple[int, ...]) -> AffineExpr:
    """The one index of a row-major array."""
    return flatten(map, strides)


def splat(value: Attribute, type: Attribute) -> Attribute:
    """`value` for every lane of `type`; itself for a scalar type or when it has the lanes already."""
    if isinstance(type, VectorType) and isinstance(value, FloatAttr | IntegerAttr):
        number = cast(IntegerAttr, value).value.data
        return DenseIntOrFPElementsAttr.from_list(cast(VectorType[IndexType], type), [number])
    return value


def constant(value: Attribute, type: Attribute, location: LocationAttr) -> ConstantOp:
    """A constant of `type`, `value` in every lane."""
    return ConstantOp.create(result_types=[type], properties={"value": splat(value, type)}, location=location)


def index_constant(value: int, location: LocationAttr) -> ConstantOp:
    return constant(IntegerAttr(value, _INDEX), _INDEX, location)


def record(pattern: str, op: Operation, reason: str, after: Sequence[Operation] = (), *, gone: bool = True) -> None:
    """Tell the open ledger that `op` went (or, not `gone`, changed) and what stands for it now."""
    if (ledger := current_ledger()) is None:
        return
    inside = [op.location, *(inner.location for inner in op.walk() if inner is not op)] if gone else [op.location]
    ledger.record(
        pattern,
        removed=[inner.name for inner in op.walk()] if gone else (),
        created=[new.name for new in after],
        before=inside,
        after=[new.location for new in after] if gone else [op.location],
        reason=reason,
    )


def drop(op: Operation, pattern: str, reason: str) -> None:
    """Erase `op` and all in it, with a record."""
    record(pattern, op, reason)
    op.detach()
    op.erase()


def hoist(block: Block, op: Operation) -> list[Operation]:
    """Move the ops of `block`, a block of `op`, before `op`; returns them."""
    moved = list(block.ops)
    parent = op.parent
    assert parent is not None
    for inner in moved:
        inner.detach()
        parent.insert_op_before(inner, op)
    return moved


def replace_var(loop: ForOp, value: int) -> None:
    """Let what still uses the variable of `loop` outside of index maps use the number `value`."""
    if loop.var.first_use is None:
        return
    number = index_constant(value, loop.location)
    first = loop.block.first_op
    assert first is not None
    loop.block.insert_op_before(number, first)
    loop.var.replace_all_uses_with(number.result)
