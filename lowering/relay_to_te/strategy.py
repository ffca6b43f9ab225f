"""Default schedules: which loops a fused group gets, by the tags of its stages.

Elementwise stages that another reads are inlined into it. A row for groups (`Strategy.group`), when one of the stages,
inlined or not, has its tag, schedules all. Each stage left is scheduled, producers first, by the row for its tag; a
schedule may take other stages along, as that of a product does with the elementwise stage that reads it. A reduction
without a tag has that of its structure (structure.py). One whose tag has no row is one as any other.

What rows cannot schedule has the plain schedule (`plain_schedule`), which every function can have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.dialects.builtin import DictionaryAttr, StringAttr

from ...dialects import te
from ...dialects.affine import is_long
from ...dialects.sizes import same_shape
from ...support.machine import Machine
from ...te.schedule.bounds import Reading, readings
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage import Stage
from ...te.schedule.stage_state import StageState
from .knobs import Decisions, Space
from .schedules.common import Scheduling, tag_of
from .schedules.joined import is_joined, stands_alone
from .stages import BYTES, NORMALIZED, REPEATED, ROWS_APART
from .strategies import Strategy, all_rows, rows_for
from .structure import name_structure

_REDUCTION = "comm_reduce"
"""The tag of the row for reductions of any kind."""
_COPIES = 128
"""Ops that may be computed again at other points in the loops of a stage, rather than be read from buffers."""

CHOSEN = "strategies"
"""The attribute of a schedule.sequence that names the row that each stage was scheduled by."""


def _loaded(home: str, work: Scheduling, stage: Stage) -> None:
    module, _, name = home.partition(":")
    getattr(import_module(f".schedules.{module}", __package__), name)(work, stage)


def _rows(name: str, home: str, *tags: str, group: bool = False) -> list[Strategy]:
    """Rows of a schedule, a module of `schedules/` and a name in it, which is loaded when it is first run."""
    return [Strategy(name, tag, partial(_loaded, home), group=group) for tag in tags]


ROWS: tuple[Strategy, ...] = (
    *_rows("conv2d_NCHWc", "convolution:schedule_conv2d_nchwc", "conv2d_NCHWc"),
    *_rows("depthwise_conv2d_NCHWc", "convolution:schedule_depthwise_nchwc", "depthwise_conv2d_NCHWc"),
    *_rows("conv2d_nchw", "convolution_pixels:schedule_pixels", "conv2d_nchw"),
    *_rows("conv2d_winograd", "winograd:schedule_winograd", "conv2d_winograd"),
    *_rows("dense", "dense:schedule_dense", "dense", "dense_pack"),
    *_rows("dense_bytes", "bits:schedule_bytes", BYTES),
    *_rows("pool", "pooling:schedule_pool", "pool_max", "pool_sum", "depthwise_conv2d_nchw", "sqr_sum"),
    *_rows("reduce", "reduction:schedule_reduction", "adaptive_pool_max", "adaptive_pool_sum", "comm_reduce"),
    *_rows("injective", "elementwise:schedule_elementwise", ""),
    *_rows("repeated", "elementwise:schedule_repeated", REPEATED),
    *_rows("attention", "attention:schedule_attention", "dense", group=True),
    *_rows(
        "rows",
        "normalization:schedule_rows",
        "softmax_output",
        "log_softmax_output",
        "layer_norm",
        NORMALIZED,
        group=True,
    ),
)
"""The compiler's rows: name, schedule, the tags of stages it is for."""


def schedule_function(
    func: te.FuncOp, machine: Machine, *, few_rows: bool = False, decisions: Decisions | None = None
) -> Schedule:
    """The schedule of a te.func for a machine: by the compiler's rows and those registered.

    few_rows: where only a call knows how many rows a product has, it is for one. decisions: the numbers of knobs; those
    that are not named have their defaults. Raises ScheduleError for decisions that the knobs do not allow.
    """
    return _scheduled(func, machine, few_rows, decisions).schedule


def schedule_by_rows(schedule: Schedule, machine: Machine, decisions: Decisions | None = None) -> Schedule:
    """Apply the compiler's rows, and those registered, to a schedule that has no primitives yet, and return it.

    decisions and errors as in `schedule_function`.
    """
    _apply(Scheduling(schedule, machine, decisions=decisions))
    return schedule


def space_of(func: te.FuncOp, machine: Machine) -> Space:
    """The knobs of a te.func's schedule for a machine, and what their decisions cost. `func` is consumed."""
    return _scheduled(func, machine).knobs.space()


def _scheduled(
    func: te.FuncOp, machine: Machine, few_rows: bool = False, decisions: Decisions | None = None
) -> Scheduling:
    work = Scheduling(Schedule(func), machine, few_rows, decisions)
    _apply(work)
    return work


def _apply(work: Scheduling) -> None:
    """Schedule all stages."""
    schedule, chosen = name_structure(work.schedule), dict[str, str]()
    _inline(schedule)
    computes = [stage for stage in schedule.stages if stage.is_compute]
    stages = [stage for stage in computes if not stage.inlined]
    # Scripts, scans and calls run as they are.
    for stage in schedule.stages:
        if not stage.is_compute and tag_of(stage) == ROWS_APART:
            _loaded("script:schedule_script", work, stage)
    for stage in computes:
        if _run(work, stage, chosen, lambda row: row.group):
            break
    # A schedule takes producers along, so that those come first which know their readers: those with a tag.
    tags = {row.tag for row in all_rows(ROWS) if row.tag and not row.group}
    for stage in sorted(stages, key=lambda stage: tag_of(stage) not in tags):
        if stage not in work.done:
            _run(work, stage, chosen, lambda row: not row.group)
    if chosen:
        names = {label: StringAttr(name) for label, name in sorted(chosen.items())}
        schedule.sequence.attributes[CHOSEN] = DictionaryAttr(names)
    work.knobs.check()


def plain_schedule(func: te.FuncOp) -> Schedule:
    """The schedule of a te.func that nothing is assumed for: each stage that is not inlined in loops of its own.

    The outermost loop over data of a stage is shared among threads.
    """
    schedule = Schedule(func)
    _inline(schedule)
    for stage in schedule.computes:
        data = [axis for axis in stage.leaf if not axis.reduce]
        if not stage.inlined and data and stage.leaf[0] is data[0]:
            stage.parallel(data[0])
    schedule.sequence.attributes[CHOSEN] = DictionaryAttr({})
    return schedule


def is_scheduled_from_outside(func: te.FuncOp) -> bool:
    """Return whether a registered row is for some stage of a function."""
    tags = {tag for stage in name_structure(Schedule(func.clone())).computes for tag in _tags(stage)}
    return any(row.tag in tags for row in all_rows(()))


def rows_that_serve(func: te.FuncOp, machine: Machine) -> list[Strategy]:
    """Return the rows by which the most demanding stages of a function may be scheduled, the most wanted first.

    These are rows of tags; of functions without any, the rows for elementwise stages. `func` is consumed.
    """
    stages = [stage for stage in name_structure(Schedule(func)).stages if stage.is_compute]
    tagged = [stage for stage in stages if tag_of(stage)] or stages
    rows = {row: None for stage in tagged for row in rows_for(_tags(stage)[0], ROWS) if row.when(stage, machine)}
    return sorted(rows, key=lambda row: -row.plevel)


def _tags(stage: StageState) -> list[str]:
    """The tags of the rows that may schedule a stage: its own, and those of rows for what has no other."""
    if stage.is_compute and stage.compute.reducer is not None:
        return list(dict.fromkeys((tag_of(stage) or _REDUCTION, _REDUCTION)))
    return list(dict.fromkeys((tag_of(stage), "")))


def _run(work: Scheduling, stage: Stage, chosen: dict[str, str], kind: Callable[[Strategy], bool]) -> bool:
    """Schedule a stage by the row for it, if there is one of that kind; notes what was scheduled by it."""
    for tag in _tags(stage):
        for row in rows_for(tag, ROWS):
            if kind(row) and row.when(stage, work.machine):
                before = set(work.done)
                work.begin(stage)
                row.schedule(work, stage)
                scheduled = work.done - before
                if not row.group:
                    scheduled.add(stage)
                    work.done.add(stage)
                chosen.update((part.label, row.name) for part in work.schedule.stages if part in scheduled)
                return bool(scheduled)
    return False


def _ends_product(schedule: Schedule, stage: StageState) -> bool:
    """Return whether a stage is computed of the product that it alone reads, and of what elementwise stages make of it.

    Others that read its elements read them several times, and these are ready where the product is in registers.
    """
    pending, seen = [stage], {stage}
    while pending:
        part = pending.pop()
        for read in part.compute.reads:
            if isinstance(read.tensor.owner, te.ComputeOp):
                producer = schedule[read.tensor.owner]
                if producer.compute.reducer is not None:
                    return tag_of(producer) == "dense" and same_shape(producer.compute.shape, stage.compute.shape)
                if producer not in seen:
                    seen.add(producer)
                    pending.append(producer)
    return False


def _inline(schedule: Schedule) -> None:
    inlined = _inlined(schedule)
    for stage in schedule.stages:
        if stage in inlined:
            stage.compute_inline()


def _inlined(schedule: Schedule) -> set[StageState]:
    """The elementwise stages that others read, but for those that would be copied too often.

    A stage that is read at several points of a loop is computed at each of them. In a chain of stages that each read
    the one before at two points that would be 2 ** n copies of the first: so here and there one gets a buffer.
    """
    inlined: set[StageState] = set()
    copied = Counter[StageState]()
    joining: set[StageState] = {stage for stage in schedule.computes if is_joined(stage)}

    def may(stage: StageState, readings: list[Reading]) -> bool:
        compute = stage.compute
        if compute.reducer is not None or "keep" in compute.attributes or schedule.is_output(stage):
            return False
        if len({host for host, _ in readings}) > 1 and _ends_product(schedule, stage):
            return False
        times = Counter(host for host, _ in readings)
        copies = {host: (count - 1) * len(compute.block.ops) for host, count in times.items() if count > 1}
        if any(copied[host] + ops > _COPIES for host, ops in copies.items()):
            return False
        if any(is_long(index) for _, point in readings for index in point):
            return False
        if stands_alone(stage, readings, any(host in joining for host, _ in readings)):
            return False
        if is_joined(stage):
            joining.update(host for host, _ in readings)
        copied.update(copies)
        inlined.add(stage)
        return True

    readings(schedule, may)
    return inlined
