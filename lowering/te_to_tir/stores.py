"""The innermost loop of a stage: its store, behind guards where loops run past the elements that are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import tir
from ...dialects.affine import ZERO, below, bounds, simplify, substitute
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import at_least
from ...te.language.affine_forms import bounds_of
from ...te.schedule.itervar import IterVar, Split
from ...te.schedule.relations import Interval, axis_values, mixed_axes
from ...te.schedule.stage_state import StageState
from .bodies import combine_location, room, start_location
from .buffers import BufferLowering

Part: TypeAlias = Literal["all", "init", "update"]
"""A part of a reduction: the whole, its start, its terms."""


@dataclass(frozen=True)
class Nest:
    """The loops of a stage that computes a region of its tensor."""

    stage: StageState
    region: Sequence[Interval]
    extents: dict[IterVar, Size]
    rounded: frozenset[int] = frozenset()
    """The dimensions in which the region may end past the tensor, with elements that are computed but not read."""


def _may_be_cut(nest: Nest) -> bool:
    """Return whether no uneven split asks for its guard to stay."""
    splits = [relation for relation in nest.stage.relations if isinstance(relation, Split) and relation.tail == "guard"]
    return all(same(nest.extents[split.parent] % nest.extents[split.inner], 0) for split in splits)


class StoreLowering(BufferLowering):
    """Emits what is inside of all loops."""

    def store(self, nest: Nest, bound: dict[IterVar, AffineExpr], *, init: bool) -> None:
        """The stage's element where its loops are at `bound`; init: what its reduction starts from."""
        stage = nest.stage
        compute = stage.compute
        block = self.builder.block
        with self.builder.located(start_location(compute) if init else compute.location):
            leaves = dict(bound)
            if init:
                leaves.update((axis, ZERO) for axis in stage.leaf if axis not in bound)
            values = axis_values(stage, nest.extents, leaves)
            points = self.points(stage, nest.region, values)
            if guard := self.guards(nest, values, points, init):
                map, operands = self.access(guard)
                branch = self.builder.add(tir.IfOp.make(map, operands, likely=_may_be_cut(nest)))
                self.builder.block = branch.block
            self.past_the_end = bool(nest.rounded)
            self.stores_at(stage, points, init=init)
            self.past_the_end = False
        self.builder.block = block

    def stores_at(self, stage: StageState, points: dict[SSAValue, AffineExpr], *, init: bool) -> None:
        """Store the stage's element at `points`; init: what its reduction starts from."""
        compute = stage.compute
        stores = [self.storage[output] for output in compute.outputs]
        targets = [self.target(compute, points, storage) for storage in stores]
        if compute.reducer is None:
            values = self.elements(compute, points)
        elif init:
            values = self.starts(compute, points)
        else:
            loads = [tir.LoadOp.make(store.buffer, *target) for store, target in zip(stores, targets, strict=True)]
            with self.builder.located(combine_location(compute)):
                olds = [self.builder.add(load).result for load in loads]
                values = self.combined(compute, points, olds)
        for value, store, target in zip(values, stores, targets, strict=True):
            self.builder.add(tir.StoreOp.make(value, store.buffer, *target))

    def guards(
        self, nest: Nest, values: dict[IterVar, AffineExpr], points: dict[SSAValue, AffineExpr], init: bool
    ) -> list[AffineExpr]:
        """Expressions that are negative where a loop runs past what is wanted, each condition once."""
        exprs = (simplify(expr, self.ranges) for expr in self._guards(nest, values, points, init))
        return list(dict.fromkeys(exprs))

    def _guards(
        self, nest: Nest, values: dict[IterVar, AffineExpr], points: dict[SSAValue, AffineExpr], init: bool
    ) -> Iterable[AffineExpr]:
        """Uneven splits and layouts, ragged regions, the predicate of the store."""
        stage = nest.stage
        mixed = mixed_axes(stage) if init else ()
        for relation in stage.relations:
            for parent in relation.guarded:
                extent, value = nest.extents[parent], values[parent]
                still = init and parent.reduce and parent not in mixed
                if not still and not below(bounds(value, self.ranges)[1], extent):
                    yield room(value, extent)
        places = zip(stage.compute.axes, nest.region, stage.compute.shape, strict=True)
        for dim, (argument, interval, extent) in enumerate(places):
            if interval.is_whole(extent) or dim in nest.rounded:
                continue
            low, high = bounds(points[argument], self.ranges)
            if not at_least(low, 0):
                yield points[argument]
            if not below(high, extent):
                yield room(points[argument], extent)
        for condition in stage.storage.conditions:
            yield from (substitute(e, [points[a] for a in stage.compute.axes]) for e in bounds_of(condition))
