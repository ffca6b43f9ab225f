"""The axes of stages that are no computes: the steps of a scan, the loops of a hybrid script."""

from __future__ import annotations

from typing import TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument

from ...dialects import te, tir
from ...dialects.sizes.types import extents_of
from .itervar import IterVar, Kind

Producer: TypeAlias = te.ComputeOp | te.StateOp | te.ScanOp | te.ExternOp | te.HybridOp | BlockArgument
"""The origin of a stage: an operation, or an argument of the function."""


def opaque_axes(producer: Producer) -> list[IterVar]:
    """The axes that the stage of an operation which is no compute starts with.

    Of a scan its steps, `NAME.idx`, which are ordered, and the other dimensions of its states, `NAME.out0.i2`, which
    are its own; of a
    hybrid script its loops, from the outside in and in order. An extern and a placeholder have none.
    """
    if isinstance(producer, te.HybridOp):
        loops = [op for op in producer.body.walk() if isinstance(op, tir.ForOp)]
        return [_loop(loop, i) for i, loop in enumerate(loops)]
    if not isinstance(producer, te.ScanOp):
        return []
    label = producer.label.data
    axes = [IterVar(f"{label}.idx", producer.steps - producer.first, "ordered")]
    for i, state in enumerate(producer.states):
        extents = extents_of(cast(TensorType[Attribute], state.type))[1:]
        axes += [IterVar(f"{label}.out{i}.i{k}", extent, "opaque") for k, extent in enumerate(extents, 2)]
    return axes


def _loop(loop: tir.ForOp, index: int) -> IterVar:
    axis = IterVar(loop.var.name_hint or f"i{index}", loop.trip_count)
    axis.kind = cast(Kind, loop.kind.data)
    return axis
