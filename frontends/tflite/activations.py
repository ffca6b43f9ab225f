"""Activations: operators of their own, and those fused into others."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ..importing.attributes import Flag, Float
from ..importing.converter import Converter
from ..importing.rows import row
from ..meanings import activations
from .context import Context

NONE, RELU, RELU_N1_TO_1, RELU6, TANH = range(5)
"""The fused activations of the schema."""


def clipped(low: float, high: float) -> Callable[[Context, SSAValue], SSAValue]:
    return lambda ctx, value: ctx.emit(ew.ClipOp, value, a_min=low, a_max=high)


_FUSED: dict[int, Callable[[Context, SSAValue], SSAValue]] = {
    NONE: lambda _, value: value,
    RELU: lambda ctx, value: ctx.emit(ew.ReluOp, value),
    RELU_N1_TO_1: clipped(-1.0, 1.0),
    RELU6: clipped(0.0, 6.0),
    TANH: lambda ctx, value: ctx.emit(ew.TanhOp, value),
}


def fused(ctx: Context, value: SSAValue) -> SSAValue:
    """`value` after the activation that the options name."""
    kind = ctx.int("FusedActivationFunction", NONE)
    if kind not in _FUSED:
        ctx.fail("a fused activation NONE, RELU, RELU_N1_TO_1, RELU6 or TANH", f"number {kind}")
    return _FUSED[kind](ctx, value)


TABLE: dict[str, Converter[Context]] = {
    "ELU": row(activations.elu, "input"),
    "GELU": row(activations.gelu, "input", approximate=Flag(False, name="Approximate")),
    "HARD_SWISH": row(activations.hard_swish, "input"),
    "LEAKY_RELU": row(ew.LeakyReluOp, "input", alpha=Float(0.0, name="Alpha")),
    "LOGISTIC": row(ew.SigmoidOp, "input"),
    "LOG_SOFTMAX": row(activations.log_softmax, "logits"),
    "PRELU": row(activations.prelu, "input alpha"),
    "RELU": row(ew.ReluOp, "input"),
    "RELU6": row(activations.clipped(0.0, 6.0), "input"),
    "RELU_0_TO_1": row(activations.clipped(0.0, 1.0), "input"),
    "RELU_N1_TO_1": row(activations.clipped(-1.0, 1.0), "input"),
    "SOFTMAX": row(activations.softmax, "logits", beta=Float(0.0, name="Beta")),
    "TANH": row(ew.TanhOp, "input"),
}
