"""`create_schedule`: from te operations to a schedule of their te.func, for sizes that are known or open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import BlockArgument

from ...dialects.sizes import SizeExpr, UndecidedSize
from ...dialects.sizes.kernel import kernel_size
from ...dialects.te import STAGES
from ...support.doors import door
from ...support.errors import ScheduleError
from ..language.emit import build_function
from ..language.tensor import Operation, Tensor
from ..language.tensor_compute import TensorComputeOp
from .open_sizes import OpenSizes
from .schedule import Schedule, replay
from .tensor_intrin import TensorIntrin

_NOMINAL = 256
"""The value of an open size while primitives are chosen, where no code fits all sizes: loops end elsewhere then."""


class _Sizes(Mapping[str, "float | SizeExpr"]):
    """The sizes that are given, and one of the function (or a nominal one) for every other that is asked for."""

    def __init__(self, given: Mapping[str, float], nominal: bool = False):
        self._given = given
        self._nominal = nominal
        self.missing: dict[str, int] = {}

    def __getitem__(self, name: str) -> float | SizeExpr:
        if name in self._given:
            return self._given[name]
        number = self.missing.setdefault(name, len(self.missing))
        return _NOMINAL if self._nominal else kernel_size(number)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


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
    values_of = _Sizes(sizes or {})
    try:
        func, values = build_function(outputs, inputs, name, values_of)
    except UndecidedSize:
        values_of = _Sizes(sizes or {}, nominal=True)
        func, values = build_function(outputs, inputs, name, values_of)
        symbolic = False
    else:
        symbolic = True
        if values_of.missing:
            func.properties["sizes"] = ArrayAttr(map(StringAttr, values_of.missing))
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
    if values_of.missing:
        parameters = [*schedule.arguments, *outputs]
        names = tuple(values_of.missing)
        schedule.open = OpenSizes(names, dict(sizes or {}), tuple(parameters), tuple(outputs), symbolic)
    return schedule


def with_sizes(schedule: Schedule, sizes: Mapping[str, float]) -> Schedule:
    """A schedule of open sizes for these, with the same primitives; raises ScheduleError when one has no value."""
    open_sizes = schedule.open
    assert open_sizes is not None
    inputs = [tensor for tensor in open_sizes.parameters if tensor not in open_sizes.outputs]
    name = schedule.func.sym_name.data
    func, _ = build_function(open_sizes.outputs, inputs, name, {**open_sizes.given, **sizes})
    return replay(func, schedule.sequence, None, schedule.intrinsics)
