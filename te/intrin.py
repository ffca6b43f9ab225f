"""Tensor intrinsics: what computes a tile of a stage in place of its innermost loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dialects import te
from ..provenance.diagnostics import ScheduleError
from .emit import build_function
from .tensor import ComputeOp, Operation, Tensor, placeholder

if TYPE_CHECKING:
    from .schedule import Schedule


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """`pattern` is what a tile must compute, `body` the schedule that computes it instead, from the same inputs."""

    name: str
    pattern: te.FuncOp
    body: Schedule

    @property
    def compute(self) -> te.ComputeOp:
        """The compute that a tile is compared with."""
        (compute,) = self.pattern.computes
        return compute


def decl_tensor_intrin(
    op: Operation | Tensor,
    fcompute: Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor | Schedule],
    name: str = "tensor_intrin",
) -> TensorIntrin:
    """An intrinsic that does what the compute `op` does on its input tensors.

    fcompute: from placeholders for the inputs, in order of first read, and one for the output, whose shape and dtype
    count, to what takes the loops' place: a tensor or a schedule of one. Where a loop of the reduction stays outside
    the tile, only the last stage's terms are added, so it must reduce as `op` does.
    Raises ScheduleError when `op` is more than one compute of placeholders, or the replacement does not look like it.
    """
    from .language import create_schedule
    from .schedule import Schedule

    operation = op.op if isinstance(op, Tensor) else op
    inputs = operation.input_tensors
    if not isinstance(operation, ComputeOp) or any(isinstance(tensor.op, ComputeOp) for tensor in inputs):
        raise ScheduleError(f"decl_tensor_intrin: expected one compute of placeholders, got {operation} ('{name}')")
    pattern, _ = build_function(operation.outputs, inputs, name)
    ins = [placeholder(tensor.shape, tensor.dtype, tensor.name) for tensor in inputs]
    outs = [placeholder(tensor.shape, tensor.dtype, tensor.name) for tensor in operation.outputs]
    made = fcompute(ins, outs)
    body = made if isinstance(made, Schedule) else create_schedule(made, ins, name)
    wanted, found = (
        ([value.type for value in func.block.args], [value.type for value in func.return_op.values])
        for func in (pattern, body.func)
    )
    if wanted != found:
        raise ScheduleError(
            f"decl_tensor_intrin: expected a replacement of {_types(wanted)}, got {_types(found)} ('{name}')"
        )
    return TensorIntrin(name, pattern, body)


def _types(types: Sequence[Sequence[object]]) -> str:
    return " -> ".join(f"({', '.join(map(str, side))})" for side in types)
