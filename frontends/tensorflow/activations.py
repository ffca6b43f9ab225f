"""Activations, and what is normalised along the last axis."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, erf, exp, log1p, maximum, minimum, sigmoid, tanh, term, where
from .context import Context

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _apply(function: Callable[[Term], Term]) -> Converter[Context]:
    return Converter(lambda ctx: function(term(ctx, 0)).value)


def _elu(x: Term) -> Term:
    return where(x < 0, exp(minimum(x, 0.0)) - 1.0, x)


def _selu(x: Term) -> Term:
    return where(x < 0, (exp(minimum(x, 0.0)) - 1.0) * _SELU_ALPHA, x) * _SELU_SCALE


def _softplus(x: Term) -> Term:
    """log(1 + exp(x)), which overflows nowhere."""
    return log1p(exp(-absolute(x))) + maximum(x, 0.0)


def gelu(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    if ctx.flag("approximate", True):
        return (x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1.0)).value
    return (x * 0.5 * (erf(x * 0.7071067811865476) + 1.0)).value


def leaky_relu(ctx: Context) -> SSAValue:
    x, alpha = term(ctx, 0), ctx.real("alpha", 0.2)
    if 0 <= alpha <= 1:
        return ctx.emit(ew.LeakyReluOp, x.value, alpha=alpha)
    return where(x > 0, x, x * alpha).value


TABLE = {
    "Elu": _apply(_elu),
    "Gelu": Converter(gelu),
    "LeakyRelu": Converter(leaky_relu),
    "LogSoftmax": _apply(lambda x: x.apply(LogSoftmaxOp, axis=-1)),
    "Relu": _apply(lambda x: x.apply(ew.ReluOp)),
    "Relu6": _apply(lambda x: x.clip(0.0, 6.0)),
    "Selu": _apply(_selu),
    "Sigmoid": _apply(sigmoid),
    "Softmax": _apply(lambda x: x.apply(SoftmaxOp, axis=-1)),
    "Softplus": _apply(_softplus),
    "Softsign": _apply(lambda x: x / (absolute(x) + 1.0)),
}
