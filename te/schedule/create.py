"""`create_schedule`: from te operations to a schedule of their te.func, for sizes that are known or open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import BlockArgument

from ...dialects.sizes import UndecidedSize
from ...dialects.sizes.kernel import is_derived
from ...dialects.te import STAGES
from ...support.doors import door
from ...support.dtypes import INT
from ...support.errors import ScheduleError
from ..language.emit import build_function
from ..language.expr import Var
from ..language.extents import size_of
from ..language.tensor import Operation, Tensor
from ..language.tensor_compute import TensorComputeOp
from .open_sizes import FunctionSizes, OpenSizes
from .schedule import Schedule, replay
from .tensor_intrin import TensorIntrin


@door(ScheduleError)
def create_schedule(
    operations: Operation | Tensor | Sequence[Operation | Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "main",
    sizes: Mapping[str, float] | None = None,
) -> Schedule:
    """The default schedule of the operations whose results are wanted, and of all that they read.

    inputs: the function's arguments in order (every placeholder, in order of use, without it).
    sizes: the values of the variables (`te.var`, `te.size_var`) that shapes and expressions use, by name. Others stay
    open: the function that is built takes them from its arrays.
    """
    wanted = [operations] if isinstance(operations, Operation | Tensor) else list(operations)
    named = (tensor for output in wanted for tensor in ([output] if isinstance(output, Tensor) else output.outputs))
    # Tensors of one operation may name it several times.
    outputs = list(dict.fromkeys(named))
    values_of = FunctionSizes(sizes)
    try:
        func, values = build_function(outputs, inputs, name, values_of)
    except UndecidedSize:
        values_of = FunctionSizes(sizes, nominal=True)
        func, values = build_function(outputs, inputs, name, values_of)
        symbolic = False
    else:
        symbolic = True
        if values_of.missing:
            func.properties["sizes"] = ArrayAttr(map(StringAttr, values_of.missing))
    schedule = Schedule(func, values_of)
    stage_of = {stage.producer: stage for stage in schedule.stages}
    for tensor, value in values.items():
        if isinstance(value, BlockArgument):
            schedule.arguments[tensor] = value
        if isinstance(value.owner, STAGES):
            schedule.operations.setdefault(tensor.op, stage_of[value.owner])
    for operation, stage in schedule.operations.items():
        if isinstance(operation, TensorComputeOp) and isinstance(operation.intrin, TensorIntrin):
            stage.tensor_compute(operation.intrin, operation.schedulable_ndim)
    schedule.origin = OpenSizes((), dict(sizes or {}), (*schedule.arguments, *outputs), tuple(outputs), symbolic)
    return schedule


def with_sizes(schedule: Schedule, sizes: Mapping[str, float]) -> Schedule:
    """A schedule of open sizes for these, with the same primitives; raises ScheduleError when one has no value."""
    open_sizes = schedule.open
    assert open_sizes is not None
    values = {**open_sizes.given, **sizes}
    for each in open_sizes.names:
        if not is_derived(each) and each not in values:
            size_of(Var(each, INT), values)
    inputs = [tensor for tensor in open_sizes.parameters if tensor not in open_sizes.outputs]
    name = schedule.func.sym_name.data
    func, _ = build_function(open_sizes.outputs, inputs, name, values)
    return replay(func, schedule.sequence, None, schedule.intrinsics, FunctionSizes(values))
