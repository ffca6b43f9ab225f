"""The work at a point of a stage's loops, inlined stages included: the numbers of which costs are made."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from ....dialects import te
from ....dialects.sizes import Size
from ....dialects.sizes.kernel import nominal
from ....dialects.tir import element_bytes
from ....te.schedule.stage import Stage
from ...kernel.work import operations_at_point
from ..cost import Moved, moved
from .common import Scheduling, points, shape_of

_FLOAT = 4


class Amounts(NamedTuple):
    """The work of a stage at one point of its loops, and the bytes of all tensors that it reads and writes."""

    operations: int
    """Arithmetic; an elementary function is 16."""
    loads: int
    """Elements that are read from buffers."""
    bytes: int

    def moved(self, work: Scheduling) -> Moved:
        """Return the bytes that each tensor once brings from the nearest cache that holds all of them."""
        return moved(float(self.bytes), 1, self.bytes, work.machine)


def amounts(work: Scheduling, stage: Stage) -> Amounts:
    """The amounts of a stage whose sizes are numbers."""
    operations = loads = 0
    result = stage.compute.result
    width = element_bytes(result.type.element_type)
    sizes: dict[SSAValue, int] = {result: _elements(stage.compute.shape) * width}
    for part in work.parts(stage):
        operations += operations_at_point(part.compute)
        for read in part.compute.reads:
            owner = read.tensor.owner
            if not isinstance(owner, te.ComputeOp) or not work.schedule[owner].inlined:
                loads += 1
                sizes[read.tensor] = min(_elements(shape_of(read)), points(stage)) * _FLOAT
    return Amounts(operations, loads, sum(sizes.values()))


def _elements(shape: Sequence[Size]) -> int:
    return prod(map(nominal, shape))
