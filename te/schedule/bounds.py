"""Bound inference: the part of its tensor that each stage computes at its attach point, and the extents of its loops.

A stage at the root covers its whole tensor. An attached one covers what one iteration of its host's loop reads: the
loops around that point stand still, those inside it (and the reduce axes of readers) run. Its start is then an affine
function of the loops around it, its extent a number. Nothing is built, so that a schedule can be shown which cannot
be lowered yet; lowering asks for the same bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import ZERO, Range, linear, substitute
from ...dialects.schedule.base import SCOPES
from ...dialects.sizes import Size, same
from ...dialects.tir import UNBOUNDED
from ...support.errors import ScheduleError
from ..language.expr import Axis
from .intervals import clip, interval_of, union
from .itervar import IterVar, Split
from .relations import Interval, axis_values, full_region, last_of, loop_extents
from .spelling import index_text
from .stage_state import Attach, StageState
from .stage_table import StageTable

_BLOCK, _THREAD = SCOPES.index("global"), SCOPES.index("shared")
"""A loop bound to blocks, and one bound to threads, runs for each buffer of scopes up to this one."""

Reading: TypeAlias = tuple[StageState, tuple[AffineExpr, ...]]
"""A reading stage and the point it reads: dim i is its axis i, and the dims after its axes are computed indices."""


@dataclass(frozen=True)
class LoopRange:
    """`extent` values from `start` (the text of an expression over loops further out)."""

    start: str
    extent: Size

    @property
    def min(self) -> int | str:
        """The first value; a text where loops further out decide it."""
        return int(self.start) if self.start.lstrip("-").isdigit() else self.start

    def __str__(self) -> str:
        return f"range(min={self.start}, ext={self.extent})"


@dataclass(frozen=True)
class Bounds:
    """The region that a stage computes each time."""

    around: tuple[IterVar, ...]
    """The loops around the place where it is computed, outermost first; in a scan its steps come first."""
    ranges: tuple[Range, ...]
    """The values of each of them."""
    region: list[Interval]
    """The part of its tensor; dim i of a start is loop `around[i]`."""
    extents: dict[IterVar, Size]
    """The extents of all its iteration variables."""


def attach_axis(attach: Attach) -> IterVar | None:
    """The loop of the host that the stage is computed in; None when the host has got other axes since."""
    return attach.loop if attach.loop in attach.stage.leaf else None


def readings(
    schedule: StageTable[StageState],
    inlined: Callable[[StageState, list[Reading]], bool] = lambda stage, _: stage.inlined,
) -> dict[StageState, list[Reading]]:
    """Who reads each stage and where, each point once, through the stages that are inlined.

    inlined: whether a stage is, of the stage and its readings, which are those through its readers.
    """
    stage_of = {stage.compute: stage for stage in schedule.computes}
    readings_of: dict[StageState, list[Reading]] = {}
    gone: set[StageState] = set()
    numbers: dict[StageState, dict[tuple[SSAValue, tuple[AffineExpr, ...]], int]] = {}
    for stage in reversed(schedule.computes):
        mine: dict[Reading, None] = {}
        for read, reader in _reads(stage, stage_of):
            axes = tuple(AffineDimExpr(i) for i in range(len(reader.compute.block.args)))
            for host, point in readings_of[reader] if reader in gone else [(reader, axes)]:
                computed = numbers.setdefault(host, {})
                mine[host, composed(read, reader.compute, host.compute, point, computed)] = None
        readings_of[stage] = list(mine)
        if inlined(stage, readings_of[stage]):
            gone.add(stage)
    return readings_of


def _reads(stage: StageState, stage_of: Mapping[te.ComputeOp, StageState]) -> Iterator[tuple[te.ReadOp, StageState]]:
    """The reads of a stage by computes, and the stages of these."""
    for result in stage.compute.results:
        for use in result.uses:
            read, compute = use.operation, use.operation.parent_op()
            if isinstance(read, te.ReadOp) and isinstance(compute, te.ComputeOp):
                yield read, stage_of[compute]


def composed(
    read: te.ReadOp,
    reader: te.ComputeOp,
    host: te.ComputeOp,
    point: tuple[AffineExpr, ...],
    computed: dict[tuple[SSAValue, tuple[AffineExpr, ...]], int],
) -> tuple[AffineExpr, ...]:
    """Return the point of a read in the loops of its reader's host; `computed` numbers computed indices."""
    rank = len(host.block.args)
    position: dict[SSAValue, int] = {argument: i for i, argument in enumerate(reader.block.args)}

    def dim(index: SSAValue) -> AffineExpr:
        if index in position:
            return point[position[index]]
        return AffineDimExpr(rank + computed.setdefault((index, point), len(computed)))

    dims = [dim(index) for index in read.indices]
    exprs = [substitute(expr, dims) for expr in read.map.data.results]
    ranges = (UNBOUNDED,) * (rank + len(computed))
    return tuple(linear(expr, ranges).expr for expr in exprs)


def infer_bounds(schedule: StageTable[StageState]) -> dict[StageState, Bounds]:
    """The bounds of every compute that is not inlined.

    Raises ScheduleError when a stage is attached where it is not read, or after that, or in a loop that is no more.
    """
    inference = _Inference(schedule)
    for stage in reversed(schedule.computes):
        if not stage.inlined:
            inference.visit(stage)
    return inference.found


def infer_ranges(schedule: StageTable[StageState]) -> dict[IterVar, LoopRange]:
    """The range of every iteration variable of the stages that are not inlined, as text; raises as `infer_bounds`."""
    others = [stage for stage in schedule.stages if not stage.is_compute]
    ranges = {
        axis: LoopRange(*_opaque_range(schedule, stage, axis)) for stage in others for axis in stage.all_iter_vars
    }
    for stage, bounds in infer_bounds(schedule).items():
        names = [axis.name for axis in bounds.around]
        texts = {
            axis: index_text(linear(interval.start, bounds.ranges).expr, names)
            for axis, interval in zip(stage.axes, bounds.region, strict=True)
        }
        for axis in stage.all_iter_vars:
            ranges[axis] = LoopRange(texts.get(axis, "0"), bounds.extents[axis])
    return ranges


def bounds_by_axis(schedule: StageTable[StageState]) -> dict[IterVar | Axis, LoopRange]:
    """Return what `infer_ranges` does, also by the axes of the te language's operations."""
    ranges: dict[IterVar | Axis, LoopRange] = {**infer_ranges(schedule)}
    for operation, stage in schedule.operations.items():
        pairs = zip(operation.root_iter_vars, [*stage.axes, *stage.reduce_axes], strict=False)
        ranges |= {axis: ranges[mine] for axis, mine in pairs if mine in ranges}
    return ranges | {axis: ranges[now] for axis, now in schedule.before.items() if now in ranges}


def _opaque_range(schedule: StageTable[StageState], stage: StageState, axis: IterVar) -> tuple[str, Size]:
    """Where an iteration variable of a stage that is no compute starts, and how many values it has.

    The steps of a scan begin after those that are given; a thread has the extent of the loops that are bound to it.
    """
    if isinstance(stage.producer, te.ScanOp) and axis is stage.axes[0]:
        return str(stage.producer.first), axis.extent
    if axis.sort == "thread" and axis.thread is not None and axis.thread.extent is None:
        bound = (leaf.extent for s in schedule.computes for leaf in s.leaf if leaf.thread is axis.thread)
        return "0", next(bound, 1)
    return "0", axis.extent


class _Inference:
    def __init__(self, schedule: StageTable[StageState]):
        self.schedule = schedule
        self.readings = readings(schedule)
        scans = [stage.producer for stage in schedule.stages if isinstance(stage.producer, te.ScanOp)]
        self.updates = {update.owner: scan for scan in scans for update in scan.updates}
        self.found: dict[StageState, Bounds] = {}
        self.later: set[StageState] = set()
        """Stages at the root that compute what the steps of scans read."""

    def visit(self, stage: StageState) -> None:
        """Readers and hosts come first."""
        around: tuple[IterVar, ...] = ()
        ranges: tuple[Range, ...] = ()
        if stage.attach is not None:
            around, ranges = self._around(stage, stage.attach)
            region = self._required(stage, stage.attach.stage, around, ranges)
        elif (scan := stage.scan or self.updates.get(stage.compute)) is not None:
            last = scan.steps - 1
            last = max(scan.first, last) if isinstance(last, int) and isinstance(scan.first, int) else last
            around, ranges = (self.schedule[scan].axes[0],), ((scan.first, last),)
            region = [Interval(AffineDimExpr(0), 1), *full_region(stage.compute.shape[1:])]
        elif self._begins_later(stage):
            # A part that no step of a scan reads may have nothing to be computed from.
            region = self._required(stage, None, around, ranges)
        else:
            region = full_region(stage.compute.shape)
        self.found[stage] = Bounds(around, ranges, region, loop_extents(stage, region))

    def _begins_later(self, stage: StageState) -> bool:
        """Return whether all that read a stage at the root are steps of scans, or stages that these alone read."""
        uses = (use.operation.parent_op() for result in stage.compute.results for use in result.uses)
        if stage.storage.layout is not None or not all(isinstance(use, te.ComputeOp) for use in uses):
            return False
        readers = [reader for reader, _ in self.readings[stage]]
        later = all(self._is_step(reader) or reader in self.later for reader in readers)
        if answer := bool(readers) and later:
            self.later.add(stage)
        return answer

    def _is_step(self, stage: StageState) -> bool:
        return stage.scan is not None or stage.compute in self.updates

    def _around(self, stage: StageState, attach: Attach) -> tuple[tuple[IterVar, ...], tuple[Range, ...]]:
        """The loops around the attach point, and their values."""
        host, axis = attach.stage, attach_axis(attach)
        if host.inlined:
            raise ScheduleError(
                f"compute_at: stage '{stage.label}' is computed inside '{host.label}', which is inlined"
            )
        if axis is None or host not in self.found:
            raise ScheduleError(
                f"compute_at: expected a loop of a stage that follows, "
                f"got {attach.axis.name} of '{host.label}' (stage '{stage.label}')"
            )
        outer, bounds = host.leaf[: host.leaf.index(axis) + 1], self.found[host]
        counts = tuple((0, last_of(bounds.extents[loop])) for loop in outer)
        return (*bounds.around, *outer), (*bounds.ranges, *counts)

    def _required(
        self, stage: StageState, host: StageState | None, around: tuple[IterVar, ...], ranges: tuple[Range, ...]
    ) -> list[Interval]:
        """The smallest region that holds every point read while the loops around stand still."""
        shape = stage.compute.shape
        rank = SCOPES.index(stage.scope)
        # All threads that reach the buffer find in it what they read.
        fixed = frozenset(
            i
            for i, axis in enumerate(around)
            if axis.thread is None or rank > (_BLOCK if axis.thread.is_block else _THREAD)
        )
        needed: Sequence[Interval | None] | None = None
        for reader, point in self.readings[stage]:
            if host is not None:
                self._check_order(stage, host, around, reader)
            dims, everything = self._point(reader, around, ranges, fixed)
            *axes, unknown = dims
            computed = max((dim + 1 for expr in point for dim in expr.used_dims()), default=0) - len(axes)
            dims = [*axes, *[unknown] * computed]
            intervals = [interval_of(substitute(expr, dims), everything, fixed) for expr in point]
            whole = zip(intervals if needed is None else needed, intervals, shape, strict=True)
            needed = [union(a, b, ranges, extent) for a, b, extent in whole]
        if needed is None:
            assert host is not None
            raise ScheduleError(
                f"compute_at: stage '{stage.label}' is computed inside '{host.label}', which does not read it"
            )
        return [
            clip(interval or Interval(ZERO, extent), ranges, extent)
            for interval, extent in zip(needed, shape, strict=True)
        ]

    def _check_order(
        self, stage: StageState, host: StageState, around: tuple[IterVar, ...], reader: StageState
    ) -> None:
        if not _inside(reader, host):
            raise ScheduleError(
                f"compute_at: stage '{stage.label}' is computed inside '{host.label}', "
                f"but read outside by '{reader.label}'"
            )
        if reader is not host and self.found[reader].around[: len(around)] != around:
            raise ScheduleError(f"compute_at: stage '{stage.label}' is computed after '{reader.label}', which reads it")

    def _point(
        self, reader: StageState, around: tuple[IterVar, ...], ranges: tuple[Range, ...], fixed: frozenset[int]
    ) -> tuple[list[AffineExpr], tuple[Range, ...]]:
        """Each axis of a reader, and at last a computed index, over the loops around and dims of their own."""
        bounds = self.found[reader]
        everything = [*ranges, *bounds.ranges[len(ranges) :]]

        def free(values: Range) -> AffineExpr:
            everything.append(values)
            return AffineDimExpr(len(everything) - 1)

        def within(split: Split, value: AffineExpr) -> AffineExpr:
            # Exactly its range, even where its loops run past the end.
            exact = split.tail != "round_up" and fixed.isdisjoint(value.used_dims())
            return free((0, last_of(bounds.extents[split.parent]))) if exact else value

        roots = [*stage_axes(reader)]
        values: Mapping[IterVar, AffineExpr] = {}
        outside = around[len(bounds.around) :]
        if outside:
            # The host itself: some of its loops are around.
            leaves: dict[IterVar, AffineExpr] = {
                axis: ZERO if same(ranges[i][0], 0) and same(ranges[i][1], 0) else AffineDimExpr(i)
                for i, axis in enumerate(outside, len(bounds.around))
            }
            for axis in reader.leaf:
                if axis not in leaves:
                    leaves[axis] = free((0, last_of(bounds.extents[axis])))
            values = axis_values(reader, bounds.extents, leaves, within)
        points: list[AffineExpr] = []
        for i, axis in enumerate(roots):
            value = values.get(axis)
            if value is None or fixed.isdisjoint(value.used_dims()):
                # Exactly its range, even where its loops run past the end.
                value = free((0, last_of(bounds.extents[axis])))
            points.append(value + bounds.region[i].start if i < len(bounds.region) else value)
        return [*points, free(UNBOUNDED)], tuple(everything)


def stage_axes(stage: StageState) -> Sequence[IterVar]:
    """The root axes, data axes first."""
    return [*stage.axes, *stage.reduce_axes]


def _inside(stage: StageState, host: StageState) -> bool:
    at: StageState | None = stage
    while at is not None and at is not host:
        at = at.attach.stage if at.attach is not None else None
    return at is host
