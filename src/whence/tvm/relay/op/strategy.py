"""Strategies of operators: functions that adapt topi's to the arguments of implementations, by TVM's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.lowering.relay_to_te.op_strategy import Compute, ScheduleFunction
from whence.support.errors import FrontendError, expectation
from whence.target.generic_func import generic_func as generic_func
from whence.target.generic_func import override_native_generic_func as override_native_generic_func


def wrap_topi_schedule(topi_schedule: Callable[[Sequence[Any]], Any]) -> ScheduleFunction:
    """Return the schedule of an implementation by a function (tensors of results) -> schedule."""
    return lambda attrs, outs, target: topi_schedule(outs)


def wrap_topi_compute(topi_compute: Callable[..., Any]) -> Compute:
    """Return the compute of an implementation by a function of the tensors of the arguments alone."""
    return lambda attrs, inputs, out_type: [topi_compute(*inputs)]


def wrap_compute_conv2d(
    topi_compute: Callable[..., Any],
    *,
    need_data_layout: bool = False,
    need_kernel_layout: bool = False,
    need_out_layout: bool = False,
    has_groups: bool = False,
) -> Compute:
    """Return the compute of an implementation by a function of a convolution.

    topi_compute: (data, kernel, strides, padding, dilation, ..layouts and groups as they are needed, out_dtype).
    """

    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        rank = len(attrs.strides)
        padding = tuple(attrs.padding)
        if len(padding) not in (rank, 2 * rank, 1):
            raise FrontendError(expectation("conv2d", f"{rank} or {2 * rank} numbers of padding", str(len(padding))))
        arguments = [*inputs, tuple(attrs.strides), padding, tuple(attrs.dilation)]
        if has_groups:
            arguments.append(attrs.groups)
        needs = (
            (need_data_layout, "data_layout"),
            (need_kernel_layout, "kernel_layout"),
            (need_out_layout, "out_layout"),
        )
        arguments += [getattr(attrs, name) for needed, name in needs if needed]
        return [topi_compute(*arguments, attrs.out_dtype or inputs[0].dtype)]

    return compute


def wrap_compute_dense(topi_compute: Callable[..., Any]) -> Compute:
    """Return the compute of an implementation by a function (data, weight, bias, out_dtype) of a dense layer."""
    return lambda attrs, inputs, out_type: [topi_compute(inputs[0], inputs[1], None, out_type.dtype)]
