"""The ranges of a schedule's loops: what part of its tensor each stage computes at its attach point.

For views: nothing is built, so a schedule can be shown that cannot be lowered yet. A stage at the root covers its whole
tensor. An attached one covers what one pass of its host's loop reads: the loops around that point are fixed, those
inside it (and the reduce axes of readers) are free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ..dialects import te
from ..dialects.affine import ZERO, Linear, Range, linear, linear_bounds, substitute
from ..dialects.tir import UNBOUNDED
from ..provenance.diagnostics import ScheduleError
from .itervar import Attach, IterVar
from .relations import Interval, axis_values, full_region, loop_extents
from .schedule import Schedule
from .spelling import index_text
from .stage import Stage


@dataclass(frozen=True)
class LoopRange:
    """`extent` values from `start` (the text of an expression over loops further out)."""

    start: str
    extent: int

    def __str__(self) -> str:
        return f"range(min={self.start}, ext={self.extent})"


Reading: TypeAlias = tuple[Stage, tuple[AffineExpr, ...]]
"""A stage that reads and the point it reads: dim i is its axis i, one more dim stands for all computed indices."""


def attach_axis(attach: Attach) -> IterVar | None:
    """The loop of the host that the stage is computed in; None when the host has got other axes since."""
    return attach.loop if attach.loop in attach.stage.leaf else None


def readings(schedule: Schedule) -> dict[Stage, list[Reading]]:
    """Who reads each stage and where, through the stages that are inlined."""
    stage_of = {stage.compute: stage for stage in schedule.stages}
    found: dict[Stage, list[Reading]] = {}
    for stage in reversed(schedule.stages):
        mine: dict[Reading, None] = {}
        for use in (use for result in stage.compute.results for use in result.uses):
            read, compute = use.operation, use.operation.parent_op()
            if not isinstance(read, te.ReadOp) or not isinstance(compute, te.ComputeOp):
                continue
            reader = stage_of[compute]
            position: dict[SSAValue, int] = {argument: i for i, argument in enumerate(compute.block.args)}
            dims = [AffineDimExpr(position.get(index, len(position))) for index in read.indices]
            point = tuple(substitute(expr, dims) for expr in read.map.data.results)
            if not reader.inlined:
                mine[reader, point] = None
            for further, place in found[reader] if reader.inlined else ():
                unknown = AffineDimExpr(len(further.compute.block.args))
                mine[further, tuple(substitute(expr, [*place, unknown]) for expr in point)] = None
        found[stage] = list(mine)
    return found


def infer_ranges(schedule: Schedule) -> dict[IterVar, LoopRange]:
    """The range of every iteration variable of the stages that are not inlined.

    Raises ScheduleError when a stage is attached where it is not read, or in a loop that is no more.
    """
    inference = _Inference(schedule)
    for stage in reversed(schedule.stages):
        if not stage.inlined:
            inference.visit(stage)
    return inference.found


class _Inference:
    """Dim i of every expression is a loop (or an axis of a reader) that takes the values `ranges[i]`."""

    def __init__(self, schedule: Schedule):
        self.readings = readings(schedule)
        self.found: dict[IterVar, LoopRange] = {}
        self.regions: dict[Stage, list[Interval]] = {}
        self.points: dict[Stage, list[AffineExpr]] = {}
        """What each axis of a stage is, in terms of its loops, region start included."""
        self.enclosing: dict[Stage, frozenset[int]] = {}
        """The loops around the attach point of a stage."""
        self.loops: dict[IterVar, int] = {}
        self.names: list[str] = []
        self.ranges: list[Range] = []

    def _dim(self, name: str, values: Range) -> AffineDimExpr:
        self.names.append(name)
        self.ranges.append(values)
        return AffineDimExpr(len(self.ranges) - 1)

    def visit(self, stage: Stage) -> None:
        if stage.attach is None:
            region, fixed = full_region(stage.compute.shape), frozenset[int]()
        else:
            fixed = self._around(stage, stage.attach)
            region = self._required(stage, fixed)
        self.regions[stage], self.enclosing[stage] = region, fixed
        extents = loop_extents(stage, region)
        leaves: dict[IterVar, AffineExpr] = {}
        for axis in stage.leaf:
            leaves[axis] = dim = self._dim(axis.name, (0, max(0, extents[axis] - 1)))
            self.loops[axis] = dim.position
        values = axis_values(stage, extents, leaves)
        starts = [interval.start for interval in region] + [ZERO] * len(stage.reduce_axes)
        roots = [*stage.axes, *stage.reduce_axes]
        self.points[stage] = [values[axis] + start for axis, start in zip(roots, starts, strict=True)]
        texts: Mapping[IterVar, str] = {
            axis: index_text(linear(start, tuple(self.ranges)).expr, self.names)
            for axis, start in zip(roots, starts, strict=True)
        }
        for axis in stage.all_iter_vars:
            self.found[axis] = LoopRange(texts.get(axis, "0"), extents[axis])

    def _around(self, stage: Stage, attach: Attach) -> frozenset[int]:
        host, axis = attach.stage, attach_axis(attach)
        if axis is None or host not in self.regions:
            raise ScheduleError(
                f"compute_at: expected a loop of a stage with loops that follows, "
                f"got {attach.axis.name} of '{host.label}' (stage '{stage.label}')"
            )
        outer = host.leaf[: host.leaf.index(axis) + 1]
        return self.enclosing[host] | {self.loops[loop] for loop in outer}

    def _required(self, stage: Stage, fixed: frozenset[int]) -> list[Interval]:
        """The smallest region that holds every point read while the loops `fixed` stand still."""
        assert stage.attach is not None
        host, shape = stage.attach.stage, stage.compute.shape
        needed: list[Interval] | None = None
        for reader, point in self.readings[stage]:
            if not _inside(reader, host):
                raise ScheduleError(
                    f"compute_at: stage '{stage.label}' is computed inside '{host.label}', "
                    f"but read outside by '{reader.label}'"
                )
            dims = [*self.points[reader], self._dim("?", UNBOUNDED)]
            ranges = tuple(self.ranges)
            found = [_interval(substitute(expr, dims), ranges, fixed) for expr in point]
            whole = zip(needed or found, found, shape, strict=True)
            needed = [_union(a, b, ranges, extent) for a, b, extent in whole]
        if needed is None:
            raise ScheduleError(f"compute_at: stage '{stage.label}' is computed inside '{host.label}', but never read")
        return [_clip(i, tuple(self.ranges), extent) for i, extent in zip(needed, shape, strict=True)]


def _inside(stage: Stage, host: Stage) -> bool:
    at: Stage | None = stage
    while at is not None and at is not host:
        at = at.attach.stage if at.attach is not None else None
    return at is host


def _interval(expr: AffineExpr, ranges: tuple[Range, ...], fixed: frozenset[int]) -> Interval:
    """What `expr` covers while the dims `fixed` stand still and the others run."""
    form = linear(expr, ranges)
    still = tuple(term for term in form.terms if term[0].used_dims() <= fixed)
    low, high = linear_bounds(Linear(tuple(t for t in form.terms if t not in still), form.constant), ranges)
    return Interval(Linear(still, low).expr, high - low + 1)


def _union(a: Interval, b: Interval, ranges: tuple[Range, ...], extent: int) -> Interval:
    """An interval that covers both; the whole dimension when their starts differ by no constant."""
    shift = linear(b.start - a.start, ranges)
    if shift.terms:
        return Interval(ZERO, extent)
    first = a.start if shift.constant >= 0 else b.start
    return Interval(first, max(a.extent, shift.constant + b.extent) - min(0, shift.constant))


def _clip(interval: Interval, ranges: Sequence[Range], extent: int) -> Interval:
    """Never more than the dimension itself."""
    form = linear(interval.start, tuple(ranges))
    if interval.extent >= extent:
        return Interval(ZERO, extent)
    if form.terms:
        return interval
    start = max(0, form.constant)
    return Interval(Linear((), start).expr, max(1, min(form.constant + interval.extent, extent) - start))
