"""Rarer functions, statistics that leave out what is no number, and integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi, prod
from typing import Any, cast

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay.rearrange import ReverseOp, StackOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import SqueezeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import Size
from ...support.dtypes import Array
from ..importing.attributes import Element, Flag, Float, Int, Ints, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of, constant, copysign, is_nan, log, where
from ..meanings import formulas
from ..meanings.activations import log_sigmoid
from ..meanings.elementwise import infinite
from ..meanings.reductions import Axes, mean_of_numbers, neighbours, of_numbers, reduced
from ..meanings.special_functions import erf_inverse, erfc
from .context import Context
from .elementwise import of_floats
from .promotion import FLOAT, LONG, floating, kind_of, meeting
from .reductions import over


def _entropy(x: Term) -> Term:
    inside = where(x > 0.0, -(x * log(x)), where(x.equal(0.0), x.number(0.0), -np.inf))
    return where(is_nan(x), x, inside)


def _angle(x: Term) -> Term:
    return where(is_nan(x), x, where(x < 0.0, x.number(pi), 0.0))


def _normal_part(x: Term) -> Term:
    """The part of a normal distribution that lies below."""
    return erfc(x * -(0.5**0.5)) * 0.5


def _log_sigmoid(x: Term) -> tuple[Term, ...]:
    """The logarithm; the other result, which only gradients need, is not given."""
    return (log_sigmoid(x),)


# Statistics.


def _of_numbers(function: Callable[..., Term]) -> Converter[Context]:
    """Of integers plain sums, of int64."""

    def computed(x: Term, axes: Axes, keepdims: bool, dtype: np.dtype[Any] | None) -> Term:
        dtype = dtype or (x.dtype if kind_of(x.dtype) == 2 else LONG)
        if kind_of(dtype) < 2:
            return reduced(SumOp, x.to(dtype), axes, keepdims)
        return function(x.to(dtype), axes=axes, keepdims=keepdims)

    return over(computed, dtype=Element(None))


_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(ctx: Context, x: Term, axis: int | None, keepdims: bool, how: str) -> Term:
    """Numbers below which parts of an axis lie: of its sorted elements, or between two of them."""
    single = isinstance(ctx.argument("q"), int | float)
    parts = np.asarray(ctx.float("q", 0.0)) if single else ctx.array(ctx.at("q"), "q")
    rank = len(x.shape)
    data = x.reshape(prod(x.shape)) if axis is None else x
    at = axis_of(data, axis or 0)
    extent = data.shape[at]
    if not isinstance(cast(Size, extent), int):
        ctx.fail("an axis of known extent", str(extent))
    value = _in_order(data, at)
    positions = [
        float(np.float32(part)) * (extent - 1) if x.dtype == FLOAT else part * (extent - 1)
        for part in np.atleast_1d(parts).astype(np.float64)
    ]
    missing = is_nan(data).to(x.dtype).apply(SumOp, axis=(at,), keepdims=True) > 0.0
    results = [where(missing, np.nan, _between(value, at, position, how)) for position in positions]
    if axis is None and keepdims:
        results = [result.reshape(*(1,) * rank) for result in results]
    elif not keepdims:
        results = [result.apply(SqueezeOp, axis=(at,)) for result in results]
    return results[0] if not parts.ndim else results[0].apply(StackOp, *results[1:], axis=0)


def _in_order(x: Term, axis: int) -> Term:
    return Term(x.ctx, x.ctx.emit_all(TopKOp, x.value, k=0, axis=axis, is_ascend=True, dtype="int64")[0])


def _at(x: Term, axis: int, place: int) -> Term:
    return x.apply(StridedSliceOp, begin=(place,), end=(place + 1,), strides=(1,), axes=(axis,))


def _between(value: Term, axis: int, position: float, how: str) -> Term:
    low, high = int(np.floor(position)), int(np.ceil(position))
    if how == "nearest":
        low = high = int(np.round(position))
    lower, higher = _at(value, axis, low), _at(value, axis, high)
    if how == "lower" or low == high:
        return lower
    if how == "higher":
        return higher
    return lower + (higher - lower) * (0.5 if how == "midpoint" else position - low)


def _msort(x: Term) -> Term:
    return _in_order(x, 0)


def _median(x: Term) -> Term:
    """The lower of the two in the middle of all elements."""
    count = prod(x.shape)
    if not isinstance(cast(Size, count), int):
        x.ctx.fail("a known number of elements", str(count))
    return _at(_in_order(x.reshape(count), 0), 0, (count - 1) // 2).reshape()


def _trapezoid(y: Term, x: Term | None, axis: int, dx: float) -> Term:
    """The sum of the areas below lines between neighbours along an axis, `dx` or differences of `x` apart."""
    axis = axis_of(y, axis)
    y = y if kind_of(y.dtype) == 2 else y.to(FLOAT)
    before, after = neighbours(y, axis)
    total = before + after
    if x is None:
        return total.apply(SumOp, axis=(axis,), keepdims=False) * (dx / 2)
    first, second = neighbours(x, axis if len(x.shape) == len(y.shape) else 0)
    width = second - first
    if len(x.shape) == 1:
        width = width.reshape(width.shape[0], *(1,) * (len(y.shape) - 1 - axis))
    return (total * width.to(total.dtype)).apply(SumOp, axis=(axis,), keepdims=False) * 0.5


# Order of elements.


def _reversed(x: Term, axis: int) -> Term:
    return x.apply(ReverseOp, axis=(axis,))


def _turned(x: Term, k: int, dims: tuple[int, int]) -> Term:
    """A plane of two axes turned by right angles."""
    turns = k % 4
    first, second = (axis_of(x, axis) for axis in dims)
    if turns in (1, 2):
        x = x.apply(ReverseOp, axis=(second,))
    if turns in (2, 3):
        x = x.apply(ReverseOp, axis=(first,))
    if not turns % 2:
        return x if turns else x.apply(ew.CopyOp)
    order = list(range(len(x.shape)))
    order[first], order[second] = second, first
    return x.apply(TransposeOp, axes=order)


def cross(a: Term, b: Term, axis: int | None) -> Term:
    """The product of vectors of three numbers, along the first axis that has as many unless another is said."""
    if axis is None:
        threes = [at for at, extent in enumerate(a.shape) if extent.__class__ is int and extent == 3]
        if not threes:
            a.ctx.fail("an axis of 3 numbers", str(list(a.shape)))
        axis = threes[0]
    axis = axis_of(a, axis)
    order = [constant(a.ctx, np.asarray(places), "axes") for places in ((1, 2, 0), (2, 0, 1))]
    left, right = ([x.apply(TakeOp, places, axis=axis) for places in order] for x in (a, b))
    return left[0] * right[1] - left[1] * right[0]


def _sum_to_size(x: Term, size: tuple[int, ...]) -> Term:
    """The opposite of a broadcast: the sum over axes that a shape does not have, or has as 1."""
    before = len(x.shape) - len(size)
    axes = [*range(before), *(before + at for at, n in enumerate(size) if n.__class__ is int and n == 1)]
    return (x.apply(SumOp, axis=axes, keepdims=True) if axes else x.apply(ew.CopyOp)).reshape(*size)


def _logspace(start: float, end: float, steps: int, base: float, dtype: np.dtype[Any]) -> Array:
    return (base ** np.linspace(start, end, steps, dtype=np.float64)).astype(dtype)


_FLOAT_POWER = meeting(ew.PowerOp, "self exponent", dtype=lambda common: np.dtype(np.float64))
_QUANTILE = row(
    _quantile,
    "self",
    axis=Int(None, name="dim"),
    keepdims=Flag(False, name="keepdim"),
    how=Word("linear", name="interpolation", among=("linear", "lower", "higher", "nearest", "midpoint")),
)
_TRAPEZOID = row(_trapezoid, "y x?", axis=Int(-1, name="dim"), dx=Float(1.0))

TABLE: dict[str, Converter[Context]] = {
    "aten.nansum.default": _of_numbers(partial(of_numbers, SumOp, neutral=0.0)),
    "aten.nanmean.default": _of_numbers(mean_of_numbers),
    **{f"aten.float_power.{form}": _FLOAT_POWER for form in ("Scalar", "Tensor_Scalar", "Tensor_Tensor")},
    **{
        f"aten.special_xlog1py.{form}": meeting(partial(formulas.times_log1p, nan=True), dtype=floating)
        for form in ("default", "other_scalar", "self_scalar")
    },
    **{f"aten.quantile.{form}": _QUANTILE for form in ("default", "scalar")},
    **{f"aten.{name}.{form}": _TRAPEZOID for name in ("trapezoid", "trapz") for form in ("x", "dx")},
    "aten.angle.default": of_floats(_angle),
    "aten.copysign.Scalar": meeting(copysign, dtype=floating),
    "aten.copysign.Tensor": meeting(copysign, dtype=floating),
    "aten.cross.default": row(cross, "self other", axis=Int(None, name="dim")),
    "aten.erfinv.default": of_floats(erf_inverse),
    "aten.fliplr.default": row(partial(_reversed, axis=1), "self"),
    "aten.flipud.default": row(partial(_reversed, axis=0), "self"),
    "aten.fmax.default": meeting(partial(formulas.of_numbers, ew.MaximumOp)),
    "aten.fmin.default": meeting(partial(formulas.of_numbers, ew.MinimumOp)),
    "aten.isneginf.default": row(partial(infinite, above=False), "self"),
    "aten.isposinf.default": row(partial(infinite, below=False), "self"),
    "aten.ldexp.Tensor": meeting(formulas.ldexp, dtype=floating),
    "aten.log_sigmoid_forward.default": row(_log_sigmoid, "self"),
    "aten.logaddexp2.default": meeting(formulas.log_add_exp2, dtype=floating),
    "aten.logspace.default": row(
        _logspace, start=Float(0.0), end=Float(0.0), steps=Int(), base=Float(10.0), dtype=Element(FLOAT)
    ),
    "aten.median.default": row(_median, "self"),
    "aten.msort.default": row(_msort, "self"),
    "aten.rot90.default": row(_turned, "self", k=Int(1), dims=Ints((0, 1), count=2)),
    "aten.signbit.default": row(formulas.signed, "self"),
    "aten.sinc.default": of_floats(formulas.sinc),
    "aten.special_entr.default": of_floats(_entropy),
    "aten.special_ndtr.default": of_floats(_normal_part),
    "aten.sum_to_size.default": row(_sum_to_size, "self", size=Ints()),
}
