"""`create_schedule`: from te operations to a schedule of their te.func."""

from __future__ import annotations

from collections.abc import Sequence

from .emit import build_function
from .schedule import Schedule
from .tensor import Operation, Tensor


def create_schedule(
    operations: Operation | Tensor | Sequence[Operation | Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "main",
) -> Schedule:
    """The default schedule of the operations whose results are wanted, and of all that they read.

    inputs: the function's arguments in order (every placeholder, in order of use, without it).
    """
    given = [operations] if isinstance(operations, Operation | Tensor) else list(operations)
    outputs = [tensor for one in given for tensor in ([one] if isinstance(one, Tensor) else one.outputs)]
    func, values = build_function(outputs, inputs, name)
    schedule = Schedule(func)
    for tensor, value in values.items():
        for stage in schedule.stages:
            if stage.compute.result is value:
                schedule.operations.setdefault(tensor.op, stage)
    return schedule
