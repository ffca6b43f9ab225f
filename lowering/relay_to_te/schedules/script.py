"""Hybrid scripts whose outermost loops may run in parallel."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ....dialects.affine import below
from ....dialects.sizes.kernel import nominal
from ....dialects.sizes.types import extents_of
from ....te.schedule.stage import Stage
from .common import SERIAL_LIMIT, Scheduling


def schedule_script(work: Scheduling, stage: Stage) -> None:
    """Share the first loop among threads, if what the script reads and writes is worth it."""
    tensors = [cast("TensorType[Attribute]", value.type) for value in (*stage.inputs, *stage.outputs)]
    axes = [axis for axis in stage.leaf if not below(axis.extent, 2)]
    if (
        axes
        and axes[0] is stage.leaf[0]
        and sum(prod(map(nominal, extents_of(type_))) for type_ in tensors) >= SERIAL_LIMIT
    ):
        stage.parallel(axes[0])
    work.done.add(stage)
