"""Default schedules: which loops a fused group gets, by the tags of its stages.

Elementwise stages that another reads are inlined into it. Each stage left is scheduled, producers first, by what its
tag says; a schedule may take other stages along, as that of a product does with the elementwise stage that reads it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...dialects import te
from ...te.schedule import Schedule
from ...te.stage import Stage
from .schedules.common import Scheduling, tag_of
from .schedules.convolution import schedule_conv2d_nchwc, schedule_depthwise_nchwc
from .schedules.dense import schedule_dense
from .schedules.elementwise import schedule_elementwise
from .schedules.normalization import normalization, schedule_normalization
from .schedules.reduction import schedule_reduction

TABLE: dict[str, Callable[[Scheduling, Stage], None]] = {
    "conv2d_NCHWc": schedule_conv2d_nchwc,
    "depthwise_conv2d_NCHWc": schedule_depthwise_nchwc,
    "dense": schedule_dense,
    "dense_pack": schedule_dense,
}
"""Tag of a stage -> its schedule; the others are elementwise or reductions."""


def schedule_function(func: te.FuncOp, vector_bits: int) -> Schedule:
    """The default schedule of a te.func for vectors of `vector_bits`."""
    schedule = Schedule(func)
    work = Scheduling(schedule, vector_bits)
    for stage in schedule.stages:
        if _inlinable(schedule, stage):
            stage.compute_inline()
    stages = [stage for stage in schedule.stages if not stage.inlined]
    if (rows := normalization(work, stages)) is not None:
        schedule_normalization(work, rows, stages)
    # A schedule takes producers along, so that those come first which know their readers: those with a tag.
    for stage in sorted(stages, key=lambda stage: tag_of(stage) not in TABLE):
        if stage not in work.done:
            default = schedule_elementwise if stage.compute.reducer is None else schedule_reduction
            TABLE.get(tag_of(stage), default)(work, stage)
    return schedule


def _inlinable(schedule: Schedule, stage: Stage) -> bool:
    compute = stage.compute
    return compute.reducer is None and "keep" not in compute.attributes and not schedule.is_output(stage)
