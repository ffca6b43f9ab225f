"""Activations."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...dialects.relay import elementwise as ew
from ..importing.attributes import Float, Int, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of, once
from ..meanings import activations
from .context import Context


def _prelu(ctx: Context, x: Term, slope: Term) -> Term:
    """Before opset 7 a vector of slopes lies along the channels."""
    channels = ctx.opset < 7 and len(x.shape) > 1 and slope.shape == x.shape[1:2]
    return activations.prelu(x, slope, 1 if channels else None)


def _shrink(x: Term, lambd: float, bias: float) -> Term:
    """`shrink`, in which integers are compared as floats."""
    wide = x.to("float64") if x.dtype.kind in "iu" else x
    return activations.shrink(wide, lambd, bias).to(x.dtype)


@once
def _swiglu(gate: Term, values: Term, alpha: float) -> Term:
    """The gate's `swish` times the values, which are of one shape."""
    gate.ctx.require_shape(1, gate.shape, "values")
    return activations.swish(gate, alpha) * values


@once
def _biased_gelu(x: Term, bias: Term) -> Term:
    return activations.gelu_erf(x + bias)


@once
def _fast_gelu(x: Term, bias: Term | None = None) -> Term:
    return activations.gelu_tanh(x if bias is None else x + bias)


def along_axis(function: Callable[[Term, int], Term], x: Term, axis: int, opset: int) -> Term:
    """A function along an axis; before opset 13 all from that axis on are one."""
    axis = axis_of(x, axis)
    if opset >= 13 or prod(x.shape[axis:]) == x.shape[axis]:
        return function(x, axis)
    rows = x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))
    return function(rows, 1).reshape(*x.shape)


def _along(function: Callable[[Term, int], Term]) -> Converter[Context]:
    def computed(ctx: Context, x: Term, axis: int) -> Term:
        return along_axis(function, x, axis, ctx.opset)

    return row(computed, "input", axis=Int(lambda ctx: -1 if ctx.opset >= 13 else 1))


TABLE = {
    "Celu": row(activations.celu, "X", alpha=Float(1.0)),
    "Elu": row(activations.elu, "X", alpha=Float(1.0)),
    "Gelu": row(activations.gelu, "X", approximate=Word("none", among=("none", "tanh"))),
    "HardSigmoid": row(activations.hard_sigmoid, "X", alpha=Float(0.2), beta=Float(0.5)),
    "HardSwish": row(activations.hard_swish, "X"),
    "Hardmax": _along(activations.hardmax),
    "LeakyRelu": row(ew.LeakyReluOp, "X", alpha=Float(0.01)),
    "LogSoftmax": _along(activations.log_softmax),
    "Mish": row(activations.mish, "X"),
    "PRelu": row(_prelu, "X slope"),
    "Selu": row(activations.selu, "X", alpha=Float(1.6732632), gamma=Float(1.050701)),
    "Shrink": row(_shrink, "input", lambd=Float(0.5), bias=Float(0.0)),
    "Softmax": _along(activations.softmax),
    "Softplus": row(activations.softplus, "X"),
    "Softsign": row(activations.softsign, "input"),
    "SwiGLU": row(_swiglu, "gate values", alpha=Float(1.0)),
    "Swish": row(activations.swish, "X", alpha=Float(1.0)),
    "ThresholdedRelu": row(activations.above, "X", threshold=Float(1.0, name="alpha")),
}

MICROSOFT = {
    "BiasGelu": row(_biased_gelu, "A B"),
    "FastGelu": row(_fast_gelu, "X bias?"),
    "Gelu": row(activations.gelu_erf, "X"),
    "QuickGelu": row(activations.swish, "X", alpha=Float(1.702)),
}
