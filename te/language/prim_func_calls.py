"""`extern_primfunc`: a kernel of tir as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from ...dialects.element_types import dtype_name
from ...dialects.te import FuncOp
from ...dialects.tir import PrimFuncOp, buffer_of
from ...support.dtypes import fail
from .tensor import Operation, Tensor, current_tag


class HoldsOp(Protocol):
    """An object that stands for a kernel, such as `tir.PrimFunc`."""

    @property
    def op(self) -> PrimFuncOp: ...


class PrimFuncCallOp(Operation):
    """Tensors that a kernel fills."""

    def __init__(
        self,
        func: PrimFuncOp,
        inputs: Sequence[Tensor],
        tag: str,
        attrs: dict[str, Any],
        expressions: FuncOp | None,
    ):
        outputs = [buffer_of(argument) for argument in func.block.args[len(inputs) :]]
        super().__init__(
            func.sym_name.data,
            [list(cast("Sequence[int]", buffer.get_shape())) for buffer in outputs],
            [dtype_name(buffer.element_type) for buffer in outputs],
        )
        self.func = func
        self.expressions = expressions
        """The same as tensor expressions, if they are known."""
        self.inputs = list(inputs)
        self.tag = tag
        self.attrs = attrs

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def extern_primfunc(
    inputs: Sequence[Tensor],
    primfunc: PrimFuncOp | HoldsOp,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    *,
    expressions: FuncOp | None = None,
) -> Any:
    """The outputs of a kernel that is called with `inputs`: a tensor, or a list of several.

    primfunc: its arguments are the inputs in order, then the outputs. It is not changed. Raises ScheduleError when
    numbers, shapes or dtypes of the inputs are not those of its arguments.
    expressions: the same kernel as tensor expressions, which are scheduled in its place.

        C = te.extern_primfunc([A, B], func)
    """
    primfunc = primfunc if isinstance(primfunc, PrimFuncOp) else primfunc.op
    name, arguments = primfunc.sym_name.data, primfunc.block.args
    count = len(arguments) - primfunc.outputs.value.data
    if len(inputs) != count:
        fail(f"te.extern_primfunc: expected {count} inputs of '{name}', got {len(inputs)}")
    for tensor, argument in zip(inputs, arguments, strict=False):
        buffer = buffer_of(argument)
        wanted, actual = (buffer.get_shape(), dtype_name(buffer.element_type)), (tensor.shape, tensor.dtype)
        if wanted != actual:
            fail(f"te.extern_primfunc: expected {_spell(*wanted)} in '{name}', got {_spell(*actual)} '{tensor.name}'")
    if current_tag() and tag:
        fail("te.extern_primfunc: nested tag is not allowed for now")
    op = PrimFuncCallOp(primfunc, inputs, tag or current_tag(), dict(attrs or {}), expressions)
    return op.output(0) if op.num_outputs == 1 else op.outputs


def _spell(shape: Sequence[object], dtype: str) -> str:
    return f"{dtype}{list(shape)}"
