"""Activations. Those that relay has no operator for are arithmetic, which fuses into one kernel."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay.activation import PReluOp
from ...dialects.relay.elementwise import ClipOp, LeakyReluOp, ReluOp
from ...dialects.relay.nn import LogSoftmaxOp, SoftmaxOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import MaxOp
from ...dialects.sizes import same
from ..importing import activations
from ..importing.activations import gelu, logarithm_of_1_and_exp
from ..importing.converter import Converter
from ..importing.terms import Term, exp, expm1, minimum, sigmoid, tanh, where
from .context import Context
from .promotion import FLOAT, cast_to, floating
from .shaping import cut

Function = Callable[[Context, Term], Term]


def activation(function: Function) -> Converter[Context]:
    """The converter of a function of one input, which is computed in float32 or wider and rounded once."""

    def convert(ctx: Context) -> SSAValue:
        x = ctx.term("self")
        wide = x if x.dtype.itemsize >= 4 or x.dtype.kind in "iub" else x.to(FLOAT)
        return function(ctx, wide).to(x.dtype).value

    return Converter(convert)


def _elu(ctx: Context, x: Term) -> Term:
    alpha, scale, inner = ctx.float("alpha", 1.0), ctx.float("scale", 1.0), ctx.float("input_scale", 1.0)
    below = expm1(minimum(x if inner == 1.0 else x * inner, 0.0)) * (alpha * scale)
    return where(x > 0.0, x if scale == 1.0 else x * scale, below)


def _celu(ctx: Context, x: Term) -> Term:
    return activations.celu(x, ctx.float("alpha", 1.0))


def _gelu(ctx: Context, x: Term) -> Term:
    return gelu(ctx, x, ctx.word("approximate", "none"))


def _softplus(ctx: Context, x: Term) -> Term:
    """log(1 + exp(beta x)) / beta; beyond a threshold x itself."""
    beta, threshold = ctx.float("beta", 1.0), ctx.float("threshold", 20.0)
    scaled = x if beta == 1.0 else x * beta
    result = logarithm_of_1_and_exp(scaled)
    return where(scaled > threshold, x, result if beta == 1.0 else result / beta)


def _hardtanh(ctx: Context) -> SSAValue:
    low, high = ctx.float("min_val", -1.0), ctx.float("max_val", 1.0)
    return ctx.emit(ClipOp, ctx.of("self"), a_min=low, a_max=high)


def _leaky_relu(ctx: Context) -> SSAValue:
    return ctx.emit(LeakyReluOp, ctx.of("self"), alpha=ctx.float("negative_slope", 0.01))


def _prelu(ctx: Context) -> SSAValue:
    data, slope = ctx.term("self"), ctx.term("weight")
    if len(slope.shape) != 1 or same(slope.shape[0], 1) or len(data.shape) < 2:
        alone = slope if len(data.shape) == 1 and len(slope.shape) == 1 else slope.reshape(*(1,) * len(data.shape))
        return where(data < 0, data * alone, data).value
    return ctx.emit(PReluOp, data.value, slope.value, axis=1)


def _glu(ctx: Context) -> SSAValue:
    """One half of an axis, gated by the other."""
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), -1)
    half = shape[axis] // 2
    ctx.require_multiple(shape[axis], 2, "an axis of even extent")
    first, second = (Term(ctx, cut(ctx, ctx.of("self"), axis, at, at + half)) for at in (0, half))
    return (first * sigmoid(second)).value


def _softmax(op: type[Operator]) -> Converter[Context]:
    """Along an axis; in another element type if `dtype` says so."""

    def convert(ctx: Context) -> SSAValue:
        dtype = ctx.element("dtype", None) or (
            FLOAT if ctx.argument("half_to_float") is True else floating(ctx.dtype_of("self"))
        )
        data = cast_to(ctx, ctx.of("self"), dtype)
        shape = ctx.shape_of("self")
        if not shape:
            zero = Term(ctx, data) - Term(ctx, data)
            return (exp(zero) if op is SoftmaxOp else zero).value
        wide = cast_to(ctx, data, FLOAT) if dtype.itemsize < 4 else data
        return cast_to(ctx, ctx.emit(op, wide, axis=ctx.axis("dim", len(shape))), dtype)

    return Converter(convert)


def _safe_softmax(ctx: Context) -> SSAValue:
    """Along an axis, of which rows that are minus infinity as a whole become 0."""
    x = Term(ctx, cast_to(ctx, ctx.of("self"), ctx.element("dtype", None) or floating(ctx.dtype_of("self"))))
    axis = ctx.axis("dim", len(x.shape))
    highest = x.apply(MaxOp, axis=(axis,), keepdims=True)
    wide = x.to(FLOAT) if x.dtype.itemsize < 4 else x
    return where(highest.equal(-float("inf")), 0.0, wide.apply(SoftmaxOp, axis=axis).to(x.dtype)).value


def _threshold(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    return where(x <= ctx.float("threshold", 0.0), ctx.float("value", 0.0), x).value


def _relu(ctx: Context) -> SSAValue:
    return ctx.emit(ReluOp, ctx.of("self"))


def _relu6(ctx: Context) -> SSAValue:
    return ctx.emit(ClipOp, ctx.of("self"), a_min=0.0, a_max=6.0)


TABLE: dict[str, Converter[Context]] = {
    "aten._safe_softmax.default": Converter(_safe_softmax),
    "aten.celu.default": activation(_celu),
    "aten.elu.default": activation(_elu),
    "aten.gelu.default": activation(_gelu),
    "aten.glu.default": Converter(_glu),
    "aten.hardsigmoid.default": activation(lambda ctx, x: (x * (1 / 6) + 0.5).clip(0.0, 1.0)),
    "aten.hardswish.default": activation(lambda ctx, x: x * (x * (1 / 6) + 0.5).clip(0.0, 1.0)),
    "aten.hardtanh.default": Converter(_hardtanh),
    "aten.leaky_relu.default": Converter(_leaky_relu),
    "aten.log_sigmoid.default": activation(lambda ctx, x: activations.log_sigmoid(x)),
    "aten.log_softmax.int": _softmax(LogSoftmaxOp),
    "aten._log_softmax.default": _softmax(LogSoftmaxOp),
    "aten.mish.default": activation(lambda ctx, x: x * tanh(logarithm_of_1_and_exp(x))),
    "aten.prelu.default": Converter(_prelu),
    "aten._prelu_kernel.default": Converter(_prelu),
    "aten.relu.default": Converter(_relu),
    "aten.relu6.default": Converter(_relu6),
    "aten.selu.default": activation(lambda ctx, x: activations.selu(x)),
    "aten.silu.default": activation(lambda ctx, x: x * sigmoid(x)),
    "aten.softmax.int": _softmax(SoftmaxOp),
    "aten._softmax.default": _softmax(SoftmaxOp),
    "aten.softplus.default": activation(_softplus),
    "aten.threshold.default": Converter(_threshold),
}
