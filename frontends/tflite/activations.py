"""Activations: operators of their own, and those fused into others."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.activation import PReluOp
from ...dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ..importing import activations
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, erf, tanh, term, where
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


def _apply(function: Callable[[Term], Term]) -> Callable[[Context], SSAValue]:
    return lambda ctx: function(term(ctx, 0)).value


def _hard_swish(x: Term) -> Term:
    return x * (x + 3.0).clip(0.0, 6.0) * (1.0 / 6.0)


def gelu(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    if ctx.flag("Approximate"):
        return (x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1.0)).value
    return (x * 0.5 * (erf(x * 0.7071067811865476) + 1.0)).value


def leaky_relu(ctx: Context) -> SSAValue:
    x, alpha = term(ctx, 0), ctx.float("Alpha", 0.0)
    if 0 <= alpha <= 1:
        return ctx.emit(ew.LeakyReluOp, x.value, alpha=alpha)
    return where(x > 0, x, x * alpha).value


def prelu(ctx: Context) -> SSAValue:
    """nn.prelu where the slope is one number per channel, else what broadcasts."""
    x, slope = term(ctx, 0), ctx.value(1)
    rank, own = len(x.shape), shape_of(slope)
    if own and own[-1] == x.shape[-1] and all(extent == 1 for extent in own[:-1]):
        vector = Term(ctx, slope).reshape(own[-1])
        return ctx.emit(PReluOp, x.value, vector.value, axis=rank - 1)
    return where(x < 0, x * Term(ctx, slope), x).value


def softmax(ctx: Context) -> SSAValue:
    x, beta = term(ctx, 0), ctx.float("Beta", 0.0)
    return ctx.emit(SoftmaxOp, (x if beta == 1.0 else x * beta).value, axis=-1)


def log_softmax(ctx: Context) -> SSAValue:
    return ctx.emit(LogSoftmaxOp, ctx.value(0), axis=-1)


TABLE = {
    "ELU": Converter(_apply(activations.elu)),
    "GELU": Converter(gelu),
    "HARD_SWISH": Converter(_apply(_hard_swish)),
    "LEAKY_RELU": Converter(leaky_relu),
    "LOGISTIC": Converter(_apply(lambda x: x.apply(ew.SigmoidOp))),
    "LOG_SOFTMAX": Converter(log_softmax),
    "PRELU": Converter(prelu),
    "RELU": Converter(_apply(lambda x: x.apply(ew.ReluOp))),
    "RELU6": Converter(_apply(lambda x: x.clip(0.0, 6.0))),
    "RELU_0_TO_1": Converter(_apply(lambda x: x.clip(0.0, 1.0))),
    "RELU_N1_TO_1": Converter(_apply(lambda x: x.clip(-1.0, 1.0))),
    "SOFTMAX": Converter(softmax),
    "TANH": Converter(_apply(lambda x: x.apply(ew.TanhOp))),
}
