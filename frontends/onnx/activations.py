"""Activations. Those that relay has no operator for are arithmetic, which fuses into one kernel."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.activation import PReluOp
from ...dialects.relay.nn import LogSoftmaxOp, SoftmaxOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import ArgMaxOp
from ...dialects.sizes import same
from ..importing import activations
from ..importing.activations import gelu_erf, gelu_tanh, logarithm_of_1_and_exp
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, places, sigmoid, tanh, term, where, wide_term
from .context import Context

Function = Callable[[Context, Term], Term]


def activation(function: Function) -> Converter[Context]:
    """The converter of a function of one input, which is computed in float32 or wider and rounded once."""
    return Converter(lambda ctx: function(ctx, wide_term(ctx, 0)).to(ctx.dtype(0)).value)


def selu(ctx: Context, x: Term) -> Term:
    return activations.selu(x, ctx.float("alpha", 1.6732632), ctx.float("gamma", 1.050701))


def gelu(ctx: Context, x: Term) -> Term:
    return activations.gelu(ctx, x, ctx.word("approximate", "none"))


def hard_sigmoid(ctx: Context, x: Term) -> Term:
    return (x * ctx.float("alpha", 0.2) + ctx.float("beta", 0.5)).clip(0.0, 1.0)


def hard_swish(ctx: Context, x: Term) -> Term:
    return x * (x * (1 / 6) + 0.5).clip(0.0, 1.0)


def mish(ctx: Context, x: Term) -> Term:
    return x * tanh(logarithm_of_1_and_exp(x))


def softsign(ctx: Context, x: Term) -> Term:
    return x / (absolute(x) + 1.0)


def swish(ctx: Context, x: Term) -> Term:
    alpha = ctx.float("alpha", 1.0)
    return x * sigmoid(x if alpha == 1.0 else x * alpha)


def swiglu(ctx: Context) -> SSAValue:
    """The gate's `swish` times the values, which are of one shape."""
    ctx.require_shape(1, ctx.shape(0), "values")
    return (swish(ctx, wide_term(ctx, 0)) * wide_term(ctx, 1)).to(ctx.dtype(0)).value


def thresholded_relu(ctx: Context, x: Term) -> Term:
    return where(x > ctx.float("alpha", 1.0), x, 0.0)


def shrink(ctx: Context) -> SSAValue:
    """Towards 0 by `bias`, to 0 within `lambd` of it; integers are compared as floats."""
    own, lambd, bias = ctx.dtype(0), ctx.float("lambd", 0.5), ctx.float("bias", 0.0)
    x = wide_term(ctx, 0) if own.kind not in "iu" else term(ctx, 0).to("float64")
    outside = where(x < -lambd, x + bias, where(x > lambd, x - bias, 0.0))
    return outside.to(own).value


def prelu(ctx: Context) -> SSAValue:
    """nn.prelu when the slopes lie along one axis, else a choice between the input and its product with them.

    Before opset 7 a vector of slopes lies along the channels.
    """
    data, slope = term(ctx, 0), term(ctx, 1)
    rank = len(data.shape)
    if ctx.opset < 7 and rank > 1 and slope.shape == data.shape[1:2]:
        return ctx.emit(PReluOp, data.value, slope.value, axis=1)
    place = (1,) * (rank - len(slope.shape)) + slope.shape
    several = [axis for axis, extent in enumerate(place) if not same(extent, 1)]
    if len(place) == rank and len(several) == 1 and same(place[several[0]], data.shape[several[0]]):
        vector = slope.reshape(prod(slope.shape))
        return ctx.emit(PReluOp, data.value, vector.value, axis=several[0])
    if data.dtype.kind == "u":
        return data.value
    return where(data < 0, data * slope, data).value


def softmax(op: type[Operator]) -> Converter[Context]:
    """The converter of a softmax: from opset 13 on along `axis`; before, over all elements from `axis` on."""

    def convert(ctx: Context) -> SSAValue:
        return along_axis(ctx, lambda rows, axis: rows.apply(op, axis=axis), _axis(ctx), ctx.opset)

    return Converter(convert)


def _axis(ctx: Context) -> int:
    return ctx.int("axis", -1 if ctx.opset >= 13 else 1)


def along_axis(ctx: Context, function: Callable[[Term, int], Term], axis: int, opset: int) -> SSAValue:
    """`function` of the data and the axis, where all from `axis` on was one axis before opset 13."""
    data, shape = term(ctx, 0), ctx.shape(0)
    if not -len(shape) <= axis < len(shape):
        ctx.fail(f"an axis in [{-len(shape)}, {len(shape)})", str(axis))
    axis %= len(shape)
    if opset >= 13 or prod(shape[axis:]) == shape[axis]:
        return function(data, axis).value
    rows = data.reshape(prod(shape[:axis]), prod(shape[axis:]))
    return function(rows, 1).reshape(*shape).value


def hardmax(ctx: Context) -> SSAValue:
    """1 at the first of the largest elements along an axis, else 0."""

    def one_hot(data: Term, axis: int) -> Term:
        extent, rank = data.shape[axis], len(data.shape)
        largest = data.apply(ArgMaxOp, axis=[axis], keepdims=True)
        return largest.equal(places(ctx, extent, rank, axis, "int32")).to(data.dtype)

    return along_axis(ctx, one_hot, _axis(ctx), ctx.opset)


def bias_gelu(ctx: Context) -> SSAValue:
    return gelu_erf(wide_term(ctx, 0) + wide_term(ctx, 1)).to(ctx.dtype(0)).value


def fast_gelu(ctx: Context) -> SSAValue:
    x = wide_term(ctx, 0)
    return gelu_tanh(x + wide_term(ctx, 1) if ctx.has(1) else x).to(ctx.dtype(0)).value


def quick_gelu(ctx: Context, x: Term) -> Term:
    return x * sigmoid(x * ctx.float("alpha", 1.702))


TABLE = {
    "Celu": activation(lambda ctx, x: activations.celu(x, ctx.float("alpha", 1.0))),
    "Elu": activation(lambda ctx, x: activations.elu(x, ctx.float("alpha", 1.0))),
    "Gelu": activation(gelu),
    "HardSigmoid": activation(hard_sigmoid),
    "HardSwish": activation(hard_swish),
    "Hardmax": Converter(hardmax),
    "LogSoftmax": softmax(LogSoftmaxOp),
    "Mish": activation(mish),
    "PRelu": Converter(prelu),
    "Selu": activation(selu),
    "Shrink": Converter(shrink),
    "Softmax": softmax(SoftmaxOp),
    "Softplus": activation(lambda ctx, x: logarithm_of_1_and_exp(x)),
    "Softsign": activation(softsign),
    "SwiGLU": Converter(swiglu),
    "Swish": activation(swish),
    "ThresholdedRelu": activation(thresholded_relu),
}

MICROSOFT = {
    "BiasGelu": Converter(bias_gelu),
    "FastGelu": Converter(fast_gelu),
    "Gelu": activation(lambda ctx, x: gelu_erf(x)),
    "QuickGelu": activation(quick_gelu),
}
