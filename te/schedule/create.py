"""`create_schedule`: from te operations to a schedule of their te.func."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import BlockArgument

from ...dialects.te import STAGES
from ..language.emit import build_function
from ..language.tensor import Operation, Tensor
from ..language.tensor_compute import TensorComputeOp
from .schedule import Schedule
from .tensor_intrin import TensorIntrin


def create_schedule(
    operations: Operation | Tensor | Sequence[Operation | Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "main",
    sizes: Mapping[str, float] | None = None,
) -> Schedule:
    """The default schedule of the operations whose results are wanted, and of all that they read.

    inputs: the function's arguments in order (every placeholder, in order of use, without it).
    sizes: the values of the variables (`te.var`, `te.size_var`) that shapes and expressions use, by name.
    Raises ScheduleError when a variable has no value.
    """
    given = [operations] if isinstance(operations, Operation | Tensor) else list(operations)
    named = (tensor for one in given for tensor in ([one] if isinstance(one, Tensor) else one.outputs))
    # Tensors of one operation may name it several times.
    outputs = list(dict.fromkeys(named))
    func, values = build_function(outputs, inputs, name, sizes)
    schedule = Schedule(func)
    stage_of = {stage.producer: stage for stage in schedule.stages}
    for tensor, value in values.items():
        if isinstance(value, BlockArgument):
            schedule.arguments[tensor] = value
        if isinstance(value.owner, STAGES):
            schedule.operations.setdefault(tensor.op, stage_of[value.owner])
    for operation, stage in schedule.operations.items():
        if isinstance(operation, TensorComputeOp) and isinstance(operation.intrin, TensorIntrin):
            stage.tensor_compute(operation.intrin, operation.schedulable_ndim)
    return schedule
