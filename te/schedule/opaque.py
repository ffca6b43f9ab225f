"""The axes of stages that are no computes: the steps of a scan, the loops of a hybrid script."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects import te, tir
from .itervar import IterVar, Kind

if TYPE_CHECKING:
    from .stage import Stage


def opaque_axes(stage: Stage) -> list[IterVar]:
    """The axes that a stage starts with.

    Of a scan its steps, `NAME.idx`, which are ordered, and the other dimensions of its states, `NAME.out0.i2`; of a
    hybrid script its loops. Those cannot be changed. An extern and a placeholder have none.
    """
    producer = stage.producer
    if isinstance(producer, te.HybridOp):
        loops = [op for op in producer.body.walk() if isinstance(op, tir.ForOp)]
        return [_loop(stage, loop, i) for i, loop in enumerate(loops)]
    if not isinstance(producer, te.ScanOp):
        return []
    label = producer.label.data
    found = [IterVar(stage, f"{label}.idx", producer.steps - producer.first, "ordered")]
    for i, state in enumerate(producer.states):
        extents = cast(TensorType[Attribute], state.type).get_shape()[1:]
        found += [IterVar(stage, f"{label}.out{i}.i{k}", extent, "opaque") for k, extent in enumerate(extents, 2)]
    return found


def _loop(stage: Stage, loop: tir.ForOp, index: int) -> IterVar:
    axis = IterVar(stage, loop.var.name_hint or f"i{index}", loop.trip_count, "opaque")
    axis.kind = cast(Kind, loop.kind.data)
    return axis


def opaque_range(axis: IterVar) -> tuple[str, int]:
    """Where an iteration variable of such a stage starts, and how many values it has.

    The steps of a scan begin after those that are given; a thread has the extent of the loops that are bound to it.
    """
    stage = axis.stage
    if isinstance(stage.producer, te.ScanOp) and axis is stage.axes[0]:
        return str(stage.producer.first), axis.extent
    if axis.sort == "thread" and axis.thread is not None and axis.thread.extent is None:
        bound = (leaf.extent for s in stage.schedule.computes for leaf in s.leaf if leaf.thread is axis.thread)
        return "0", next(bound, 1)
    return "0", axis.extent
