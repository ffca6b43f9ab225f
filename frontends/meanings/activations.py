"""Activations. Those that relay has no operator for are arithmetic, which fuses into one kernel and rounds once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import pi, prod, sqrt

from ...dialects.relay import elementwise as ew
from ...dialects.relay.activation import PReluOp
from ...dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import ArgMaxOp, MaxOp
from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import same
from ..importing.terms import (
    Term,
    absolute,
    along_rows,
    axis_of,
    erf,
    exp,
    expm1,
    log1p,
    maximum,
    minimum,
    once,
    places,
    where,
)
from ..importing.terms import sigmoid as _sigmoid
from ..importing.terms import sqrt as _root
from ..importing.terms import tanh as _tanh

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _linear(x: Term, slope: float, offset: float = 0.0) -> Term:
    x = x if slope == 1.0 else x * slope
    return x if offset == 0.0 else x + offset


def linear(x: Term) -> Term:
    return x


def relu(x: Term) -> Term:
    return x.apply(ew.ReluOp)


def clipped(low: float, high: float) -> partial[Term]:
    """The function that brings numbers into a range; NaN stays."""
    return partial(Term.clip, low=low, high=high)


def leaky_relu(x: Term, alpha: float) -> Term:
    return x.apply(ew.LeakyReluOp, alpha=alpha)


def prelu(x: Term, slopes: Term, axis: int | None = None) -> Term:
    """x above 0, times a slope below.

    slopes: what broadcasts to x, or with `axis` a vector along that. Where they lie along one axis it is nn.prelu.
    """
    rank = len(x.shape)
    if axis is None:
        place = (1,) * (rank - len(slopes.shape)) + slopes.shape
        several = [at for at, extent in enumerate(place) if not same(extent, 1)]
        if len(place) == rank and len(several) == 1 and same(place[several[0]], x.shape[several[0]]):
            axis = several[0]
    if axis is not None:
        return x.apply(PReluOp, slopes.reshape(prod(slopes.shape)), axis=axis)
    return x if x.dtype.kind == "u" else where(x < 0, x * slopes, x)


@once
def elu(x: Term, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Term:
    """scale x above 0, scale alpha (exp(input_scale x) - 1) below; the minimum keeps infinities out of gradients."""
    return where(x > 0.0, _linear(x, scale), expm1(minimum(_linear(x, input_scale), 0.0)) * (alpha * scale))


@once
def celu(x: Term, alpha: float = 1.0) -> Term:
    """`elu` whose slope at 0 is 1 for every alpha."""
    return where(x > 0.0, x, expm1(minimum(x, 0.0) / alpha) * alpha)


def selu(x: Term, alpha: float = SELU_ALPHA, gamma: float = SELU_SCALE) -> Term:
    return elu(x, alpha, gamma)


@once
def gelu_erf(x: Term) -> Term:
    """x times the part of a normal distribution that lies below it."""
    return x * 0.5 * (erf(x * sqrt(0.5)) + 1.0)


@once
def gelu_tanh(x: Term) -> Term:
    """`gelu_erf` by its approximation."""
    return x * 0.5 * (_tanh((x + x * x * x * 0.044715) * sqrt(2 / pi)) + 1.0)


def gelu(x: Term, approximate: bool | str = False) -> Term:
    """The form that is asked for: `tanh` or true, the approximation; `none` or false, the exact one."""
    return gelu_tanh(x) if approximate in (True, "tanh") else gelu_erf(x)


@once
def hard_sigmoid(x: Term, alpha: float = 1 / 6, beta: float = 0.5) -> Term:
    return (x * alpha + beta).clip(0.0, 1.0)


@once
def hard_swish(x: Term, alpha: float = 1 / 6, beta: float = 0.5) -> Term:
    return x * hard_sigmoid(x, alpha, beta)


def hard_tanh(x: Term, low: float, high: float) -> Term:
    return x.clip(low, high)


@once
def swish(x: Term, alpha: float = 1.0) -> Term:
    return x * _sigmoid(_linear(x, alpha))


@once
def softplus(x: Term, beta: float = 1.0, threshold: float | None = None) -> Term:
    """log(1 + exp(beta x)) / beta, right where exp(x) is infinite and where it is nothing beside 1.

    threshold: beyond it, beta x is taken for its softplus.
    """
    scaled = _linear(x, beta)
    result = _linear(maximum(scaled, 0.0) + log1p(exp(-absolute(scaled))), 1 / beta)
    return result if threshold is None else where(scaled > threshold, x, result)


@once
def log_sigmoid(x: Term) -> Term:
    """log(sigmoid(x)), right where the sigmoid is 0."""
    return minimum(x, 0.0) - log1p(exp(-absolute(x)))


@once
def mish(x: Term) -> Term:
    return x * _tanh(softplus(x))


@once
def softsign(x: Term) -> Term:
    return x / (absolute(x) + 1.0)


@once
def squareplus(x: Term, b: float) -> Term:
    return (x + _root(x * x + b)) * 0.5


@once
def sparse_plus(x: Term) -> Term:
    above = maximum(x + 1.0, 0.0)
    return where(x < 1.0, above * above * 0.25, x)


@once
def sparse_sigmoid(x: Term) -> Term:
    return ((x + 1.0) * 0.5).clip(0.0, 1.0)


@once
def tanh_shrink(x: Term) -> Term:
    return x - _tanh(x)


def threshold(x: Term, threshold: float, value: float = 0.0) -> Term:
    """x above a threshold, else a value; NaN stays."""
    return where(x <= threshold, value, x)


def above(x: Term, threshold: float, value: float = 0.0) -> Term:
    """x above a threshold, else a value, which NaN is, too."""
    return where(x > threshold, x, value)


def hard_shrink(x: Term, bound: float) -> Term:
    """0 within `bound` of 0; NaN stays."""
    return where(absolute(x) <= bound, 0.0, x)


@once
def soft_shrink(x: Term, bound: float) -> Term:
    """Towards 0 by `bound`, to 0 within it; NaN stays."""
    return where(x > bound, x - bound, where(x < -bound, x + bound, x * 0.0))


@once
def shrink(x: Term, bound: float, bias: float) -> Term:
    """Towards 0 by `bias`, to 0 within `bound` of it, and of NaN."""
    return where(x < -bound, _linear(x, 1.0, bias), where(x > bound, _linear(x, 1.0, -bias), 0.0))


def glu(x: Term, axis: int = -1) -> Term:
    """The first half along an axis, gated by the second."""
    axis = axis_of(x, axis)
    extent = x.shape[axis]
    x.ctx.require_multiple(extent, 2, "an axis of even extent")
    first, second = (
        x.apply(StridedSliceOp, begin=[at], end=[at + extent // 2], strides=[1], axes=[axis]) for at in (0, extent // 2)
    )
    return first * _sigmoid(second)


def along_one(op: type[Operator], x: Term, axis: int | Sequence[int]) -> Term:
    """An operator along an axis, or along several as if they were one; a scalar is a row of one."""
    if not x.shape:
        return x.reshape(1).apply(op, axis=0).reshape()
    if isinstance(axis, int):
        return x.apply(op, axis=axis_of(x, axis))
    return along_rows(lambda rows: rows.apply(op, axis=-1), x, axis)


def softmax(x: Term, axis: int | Sequence[int] = -1, beta: float = 1.0) -> Term:
    return along_one(SoftmaxOp, _linear(x, beta), axis)


def log_softmax(x: Term, axis: int | Sequence[int] = -1) -> Term:
    return along_one(LogSoftmaxOp, x, axis)


def safe_softmax(x: Term, axis: int) -> Term:
    """`softmax`, in which rows that are minus infinity as a whole become 0."""
    highest = x.apply(MaxOp, axis=(axis_of(x, axis),), keepdims=True)
    return where(highest.equal(-float("inf")), 0.0, softmax(x, axis))


def hardmax(x: Term, axis: int) -> Term:
    """1 at the first of the largest elements along an axis, else 0."""
    axis, rank = axis_of(x, axis), len(x.shape)
    largest = x.apply(ArgMaxOp, axis=[axis], keepdims=True)
    return largest.equal(places(x.ctx, x.shape[axis], rank, axis, "int32")).to(x.dtype)
