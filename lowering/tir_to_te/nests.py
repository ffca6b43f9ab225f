"""Loops of tir as nests of one store each: loops are taken apart where no iteration can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.traits import is_side_effect_free

from ...dialects.sizes import Size, same, same_shape
from ...dialects.tir import ForOp, IndexOp, LoadOp, StoreOp, buffer_of
from ...dialects.tir.block import BlockOp, InitOp
from ...provenance.diagnostics import describe


class NotRaised(Exception):
    """The reason why loops are no tensor expressions, with the place of the op that is to blame."""

    def __init__(self, op: Operation, reason: str):
        super().__init__(f"{reason} at {describe(op.location)}")


class Scheduled(NotRaised):
    """The reason why a kernel stays as it is written: somebody has said how its loops run."""


@dataclass(frozen=True)
class Nest:
    """A store in loops, outermost first, that run it at each of their points once, in any order over data."""

    label: str
    axes: tuple[SSAValue, ...]
    extents: tuple[Size, ...]
    store: StoreOp
    body: tuple[Operation, ...]
    """The ops that the stored value is made of, in order."""

    def extent_of(self, axis: SSAValue) -> Size:
        return self.extents[self.axes.index(axis)]


def nests_of(statement: Operation) -> list[Nest]:
    """Return the nests that do what a statement does, one after the other; raises NotRaised where that is not sure."""
    return list(_nests([statement], (), ()))


def plain_point(map_results: Iterable[AffineExpr], indices: Sequence[SSAValue]) -> list[SSAValue | int | None]:
    """Return the values that indices are, numbers as such; None for sums and products."""
    return [
        indices[expr.position]
        if isinstance(expr, AffineDimExpr)
        else expr.value
        if isinstance(expr, AffineConstantExpr)
        else None
        for expr in map_results
    ]


def _nests(ops: Iterable[Operation], axes: tuple[SSAValue, ...], extents: tuple[Size, ...]) -> Iterator[Nest]:
    for op in ops:
        match op:
            case ForOp():
                if op.kind.data != "serial" or op.attributes:
                    raise Scheduled(op, "a loop with a schedule of its own")
                _check_apart(op)
                yield from _nests(op.block.ops, (*axes, op.var), (*extents, op.trip_count))
            case BlockOp():
                yield from _block(op, axes, extents)
            case StoreOp():
                yield Nest(_label(op), axes, extents, op, _behind(op))
            case _ if not op.regions and (is_side_effect_free(op) or isinstance(op, LoadOp)):
                pass
            case _:
                raise NotRaised(op, f"{op.name}, which no tensor expression stands for,")


def _block(op: BlockOp, axes: tuple[SSAValue, ...], extents: tuple[Size, ...]) -> Iterator[Nest]:
    """The nests of a block whose variables are the loops around it, in any order."""
    if op.guards:
        raise NotRaised(op, "a block with a condition")
    if op.attributes:
        raise Scheduled(op, "an annotated block")
    if any(kind.data == "opaque" for kind in op.kinds):
        raise NotRaised(op, "an opaque block")
    bound = plain_point(op.map.data.results, op.indices)
    values = [value for value in bound if isinstance(value, SSAValue)]
    spread = [axis for axis, extent in zip(axes, extents, strict=True) if not same(extent, 1)]
    if len(set(values)) != len(values) or not set(spread) <= set(values):
        raise Scheduled(op, "a block whose variables are not the loops around it")
    if values != [axis for axis in axes if axis in values]:
        raise Scheduled(op, "loops in another order than the variables of their block, as a schedule makes them,")
    domain: list[Size] = []
    for value, extent in zip(bound, op.domain, strict=True):
        around = (
            extents[axes.index(value)] if isinstance(value, SSAValue) and value in axes else 1 if value == 0 else None
        )
        if around is None or not same(around, extent):
            raise NotRaised(op, "a block whose variables are not the loops around it")
        domain.append(extent)
    inside = [part for part in op.block.ops if not isinstance(part, InitOp)]
    stores = [part for part in inside if isinstance(part, StoreOp)]
    if len(stores) != 1 or any(part.regions for part in inside):
        raise NotRaised(op, "a block that is not one store")
    variables = tuple(op.block.args)
    (store,) = stores
    if op.init is not None:
        starts = list(op.init.block.ops)
        first = starts[-1] if starts else None
        if not isinstance(first, StoreOp) or first.buffer is not store.buffer or not _same_point(first, store):
            raise NotRaised(op, "an init of other elements than the block's")
        if any(part.regions or isinstance(part, StoreOp) for part in starts[:-1]):
            raise NotRaised(op, "an init that is not one store")
        kinds = [kind.data for kind in op.kinds]
        data = [number for number, kind in enumerate(kinds) if kind == "spatial"]
        # The init runs where the reduce variables are 0, which are no part of its point.
        yield Nest(
            op.label.data,
            tuple(variables[number] for number in data),
            tuple(domain[number] for number in data),
            first,
            _behind(first),
        )
    yield Nest(op.label.data, variables, tuple(domain), store, _behind(store))


def _same_point(one: StoreOp, other: StoreOp) -> bool:
    return plain_point(one.map.data.results, one.indices) == plain_point(other.map.data.results, other.indices)


def _behind(store: StoreOp) -> tuple[Operation, ...]:
    """The ops that a store's value is made of; loads stand in its block, with no store of what they read in between."""
    ops: dict[Operation, None] = {}
    pending: list[SSAValue] = [store.value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner not in ops:
            ops[owner] = None
            if owner.regions or not (is_side_effect_free(owner) or isinstance(owner, LoadOp)):
                raise NotRaised(owner, f"a value of {owner.name}")
            pending += owner.indices if isinstance(owner, LoadOp | IndexOp) else owner.operands
    for load in (op for op in ops if isinstance(op, LoadOp)):
        if load.parent is not store.parent:
            raise NotRaised(load, "an element that is loaded outside of the loops that use it")
        between: Operation | None = load.next_op
        while between is not None and between is not store:
            if any(isinstance(op, StoreOp) and op.buffer is load.buffer for op in between.walk()):
                raise NotRaised(load, "an element that is written between its load and its use")
            between = between.next_op
    return tuple(sorted(ops, key=_Order(store.parent_block())))


class _Order:
    """The order of ops that stand in blocks around each other: those outside first."""

    def __init__(self, block: Block | None):
        self._blocks: list[Block] = []
        while block is not None:
            self._blocks.insert(0, block)
            parent = block.parent_op()
            block = None if parent is None else parent.parent_block()

    def __call__(self, op: Operation) -> tuple[int, int]:
        block = op.parent_block()
        assert block is not None
        return self._blocks.index(block), block.get_operation_index(op)


def _check_apart(loop: ForOp) -> None:
    """Raise NotRaised unless each statement of a loop may run for all its iterations before the next one runs.

    Iterations touch different elements of what is written, if one dimension of it is the loop's variable everywhere.
    """
    stores = [op for op in loop.walk() if isinstance(op, StoreOp)]
    if len([op for op in loop.block.ops if op.regions or isinstance(op, StoreOp)]) < 2:
        return
    for buffer in dict.fromkeys(store.buffer for store in stores):
        points = [
            [_bound(index) for index in plain_point(op.map.data.results, op.indices)]
            for op in loop.walk()
            if isinstance(op, StoreOp | LoadOp) and op.buffer is buffer
        ]
        if not any(all(point[dim] is loop.var for point in points) for dim in range(len(points[0]))):
            raise NotRaised(loop, "a loop whose iterations may depend on each other")


def _bound(index: SSAValue | int | None) -> SSAValue | int | None:
    """The value that a variable of a block has, if it is one value; other indices as they are."""
    if isinstance(index, BlockArgument) and isinstance(block := index.block.parent_op(), BlockOp):
        return plain_point(block.map.data.results, block.indices)[index.index]
    return index


def _label(store: StoreOp) -> str:
    return store.buffer.name_hint or "stage"


def is_whole(nest: Nest, axes: Sequence[SSAValue]) -> bool:
    """Return whether a nest writes each element of its buffer at one point of these axes."""
    shape = buffer_of(nest.store.buffer).get_shape()
    point = plain_point(nest.store.map.data.results, nest.store.indices)
    if list(axes) != [axis for axis in point if isinstance(axis, SSAValue)] or len(set(axes)) != len(axes):
        return False
    if not set(axes) <= set(nest.axes):
        return False
    extents = [nest.extent_of(index) if isinstance(index, SSAValue) else 1 if index == 0 else 0 for index in point]
    return same_shape(extents, shape)
