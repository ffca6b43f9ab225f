"""Intrinsics with scalar parameters: numbers that a call gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...support.dtypes import fail
from ..language.expr import NUMERIC, Axis, Const, Expr, ExprLike, Var, convert
from ..language.tensor import Tensor, TensorSlice
from ..language.tensor_compute import IntrinCall
from .tensor_intrin import TensorIntrin


@dataclass(frozen=True, eq=False)
class OpenIntrin:
    """An intrinsic with scalar parameters: a call of it says what they are."""

    name: str
    params: tuple[Var, ...]
    make: Callable[[tuple[Const, ...]], TensorIntrin]

    def with_scalars(self, *values: ExprLike) -> TensorIntrin:
        """The intrinsic for these numbers; raises ScheduleError unless there is a number for each parameter."""
        if len(values) != len(self.params):
            names = ", ".join(param.name for param in self.params)
            fail(f"'{self.name}': expected scalar_inputs for {names}, got {len(values)}")
        numbers: list[Const] = []
        for param, value in zip(self.params, values, strict=True):
            number: Expr = convert(value, param.dtype)
            if not isinstance(number, Const) or number.dtype != param.dtype:
                fail(f"'{self.name}': expected a number of {param.dtype} for {param.name}, got {value}")
            numbers.append(number)
        return self.make(tuple(numbers))

    def __call__(
        self,
        *slices: TensorSlice | Tensor,
        reduce_axis: Axis | Sequence[Axis] = (),
        scalar_inputs: ExprLike | Sequence[ExprLike] = (),
    ) -> IntrinCall:
        """The intrinsic on regions of tensors with numbers: `scale(A[i, 0:16], scalar_inputs=[2.0])`."""
        values = (scalar_inputs,) if isinstance(scalar_inputs, NUMERIC) else tuple(scalar_inputs)
        return self.with_scalars(*values)(*slices, reduce_axis=reduce_axis)
