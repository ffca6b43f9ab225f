"""Default schedules: which loops a fused group gets, by the tags of its stages.

Elementwise stages that another reads are inlined into it. A tag of `GROUPS`, of an inlined stage too, schedules the
whole group. Each stage left is scheduled, producers first, by what its tag says; a schedule may take other stages
along, as that of a product does with the elementwise stage that reads it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...dialects import te
from ...support.machine import Machine
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage import Stage
from .schedules.common import Scheduling, tag_of
from .schedules.convolution import schedule_conv2d_nchwc, schedule_depthwise_nchwc
from .schedules.dense import schedule_dense
from .schedules.elementwise import schedule_elementwise
from .schedules.normalization import schedule_rows
from .schedules.pooling import schedule_pool
from .schedules.reduction import schedule_reduction

TABLE: dict[str, Callable[[Scheduling, Stage], None]] = {
    "conv2d_NCHWc": schedule_conv2d_nchwc,
    "depthwise_conv2d_NCHWc": schedule_depthwise_nchwc,
    "dense": schedule_dense,
    "dense_pack": schedule_dense,
    "pool_max": schedule_pool,
    "pool_sum": schedule_pool,
    "depthwise_conv2d_nchw": schedule_pool,
    "sqr_sum": schedule_pool,
    "adaptive_pool_max": schedule_reduction,
    "adaptive_pool_sum": schedule_reduction,
    "comm_reduce": schedule_reduction,
}
"""Tag of a stage -> its schedule; the others are elementwise."""

GROUPS: dict[str, Callable[[Scheduling, list[Stage]], None]] = {
    "softmax_output": schedule_rows,
    "log_softmax_output": schedule_rows,
    "layer_norm": schedule_rows,
}
"""Tag of any stage of a group -> what schedules all stages with buffers, or leaves them to their own tags."""


def schedule_function(func: te.FuncOp, machine: Machine) -> Schedule:
    """The default schedule of a te.func for a machine."""
    schedule = Schedule(func)
    work = Scheduling(schedule, machine)
    for stage in schedule.stages:
        if _inlinable(schedule, stage):
            stage.compute_inline()
    stages = [stage for stage in schedule.stages if not stage.inlined]
    if (group := next((tag for stage in schedule.stages if (tag := tag_of(stage)) in GROUPS), None)) is not None:
        GROUPS[group](work, stages)
    # A schedule takes producers along, so that those come first which know their readers: those with a tag.
    for stage in sorted(stages, key=lambda stage: tag_of(stage) not in TABLE):
        if stage not in work.done:
            TABLE.get(tag_of(stage), schedule_elementwise)(work, stage)
    return schedule


def _inlinable(schedule: Schedule, stage: Stage) -> bool:
    compute = stage.compute
    return compute.reducer is None and "keep" not in compute.attributes and not schedule.is_output(stage)
