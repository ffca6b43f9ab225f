"""Activations, and what is normalised along the last axis."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ..importing import activations
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, erf, sigmoid, tanh, term, where
from .context import Context


def _apply(function: Callable[[Term], Term]) -> Converter[Context]:
    return Converter(lambda ctx: function(term(ctx, 0)).value)


def gelu(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    if ctx.flag("approximate", True):
        return (x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1.0)).value
    return (x * 0.5 * (erf(x * 0.7071067811865476) + 1.0)).value


def leaky_relu(ctx: Context) -> SSAValue:
    x, alpha = term(ctx, 0), ctx.float("alpha", 0.2)
    if 0 <= alpha <= 1:
        return ctx.emit(ew.LeakyReluOp, x.value, alpha=alpha)
    return where(x > 0, x, x * alpha).value


TABLE = {
    "Elu": _apply(activations.elu),
    "Gelu": Converter(gelu),
    "LeakyRelu": Converter(leaky_relu),
    "LogSoftmax": _apply(lambda x: x.apply(LogSoftmaxOp, axis=-1)),
    "Relu": _apply(lambda x: x.apply(ew.ReluOp)),
    "Relu6": _apply(lambda x: x.clip(0.0, 6.0)),
    "Selu": _apply(activations.selu),
    "Sigmoid": _apply(sigmoid),
    "Softmax": _apply(lambda x: x.apply(SoftmaxOp, axis=-1)),
    "Softplus": _apply(activations.logarithm_of_1_and_exp),
    "Softsign": _apply(lambda x: x / (absolute(x) + 1.0)),
}
