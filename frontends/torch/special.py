"""Rarer functions, statistics that leave out what is no number, and integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi, prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.rearrange import ReverseOp, StackOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import SqueezeOp, TakeOp, TransposeOp
from ...dialects.sizes import Size
from ..importing.attributes import Element
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, copysign, log, where
from ..meanings import formulas
from ..meanings.activations import log_sigmoid
from ..meanings.reductions import Axes, mean_of_numbers, neighbours, of_numbers, reduced
from ..meanings.special_functions import erf_inverse, erfc
from .context import Context
from .elementwise import of_floats, of_two
from .promotion import FLOAT, LONG, kind_of, operand
from .reductions import over
from .shaping import cut, shaped

_WIDE = np.dtype(np.float64)


def _function(function: Callable[[Term], Term]) -> Converter[Context]:
    """A function of one tensor, in floats."""
    return of_floats(function)


def _entropy(x: Term) -> Term:
    inside = where(x > 0.0, -(x * log(x)), where(x.equal(0.0), x.number(0.0), -np.inf))
    return where(x.apply(ew.IsNanOp), x, inside)


def _angle(x: Term) -> Term:
    return where(x.apply(ew.IsNanOp), x, where(x < 0.0, x.number(pi), 0.0))


def _ldexp(x: Term, exponent: Term) -> Term:
    return x * exponent.number(2.0).apply(ew.PowerOp, exponent)


def _float_power(ctx: Context) -> SSAValue:
    """In float64."""
    return operand(ctx, "self", _WIDE).apply(ew.PowerOp, operand(ctx, "exponent", _WIDE)).value


def _infinite(sign: float) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        x = ctx.term("self")
        if kind_of(x.dtype) < 2:
            truth = x.to("bool")
            return truth.apply(LogicalAndOp, truth.apply(ew.LogicalNotOp)).value
        return x.equal(sign * float("inf")).value

    return Converter(convert)


def _log_sigmoid(ctx: Context) -> tuple[SSAValue, ...]:
    """The logarithm; the other result, which only gradients need, is not given."""
    return (log_sigmoid(ctx.term("self")).value,)


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


def _quantile(ctx: Context) -> SSAValue:
    """Numbers below which parts of an axis lie: of its sorted elements, or between two of them."""
    x, how = ctx.term("self"), ctx.word("interpolation", "linear")
    if how not in _INTERPOLATIONS:
        ctx.fail(f"an interpolation among {', '.join(_INTERPOLATIONS)}", repr(how))
    parts = (
        np.asarray(ctx.float("q", 0.0)) if isinstance(ctx.argument("q"), int | float) else ctx.array(ctx.at("q"), "q")
    )
    axis: int | None = None
    rank = len(x.shape)
    if ctx.given("dim"):
        axis = ctx.axis("dim", rank)
    else:
        x = x.reshape(prod(x.shape))
    at = axis or 0
    extent = x.shape[at]
    if not isinstance(cast(Size, extent), int):
        ctx.fail("an axis of known extent", str(extent))
    value, _ = ctx.emit_all(TopKOp, x.value, k=0, axis=at, is_ascend=True, dtype="int64")
    results: list[Term] = []
    for part in np.atleast_1d(parts).astype(np.float64):
        position = float(np.float32(part)) * (extent - 1) if x.dtype == FLOAT else part * (extent - 1)
        results.append(_between(ctx, value, at, position, how))
    missing = x.apply(ew.IsNanOp).to(x.dtype).apply(SumOp, axis=(at,), keepdims=True) > 0.0
    results = [where(missing, np.nan, result) for result in results]
    if axis is None and ctx.flag("keepdim"):
        results = [result.reshape(*(1,) * rank) for result in results]
    elif not ctx.flag("keepdim"):
        results = [Term(ctx, ctx.emit(SqueezeOp, result.value, axis=(at,))) for result in results]
    if not parts.ndim:
        return results[0].value
    return ctx.emit(StackOp, *[result.value for result in results], axis=0)


def _between(ctx: Context, value: SSAValue, axis: int, position: float, how: str) -> Term:
    low, high = int(np.floor(position)), int(np.ceil(position))
    if how == "nearest":
        low = high = int(np.round(position))
    lower, higher = (Term(ctx, cut(ctx, value, axis, n, n + 1)) for n in (low, high))
    if how == "lower" or low == high:
        return lower
    if how == "higher":
        return higher
    weight = 0.5 if how == "midpoint" else position - low
    return lower + (higher - lower) * weight


def _sorted(ctx: Context) -> SSAValue:
    return ctx.emit_all(TopKOp, ctx.of("self"), k=0, axis=0, is_ascend=True, dtype="int64")[0]


def _median(ctx: Context) -> SSAValue:
    """The lower of the two in the middle of all elements."""
    x = ctx.term("self")
    count = prod(x.shape)
    if not isinstance(cast(Size, count), int):
        ctx.fail("a known number of elements", str(count))
    value, _ = ctx.emit_all(TopKOp, shaped(ctx, x.value, (count,)), k=0, axis=0, is_ascend=True, dtype="int64")
    at = (count - 1) // 2
    return shaped(ctx, cut(ctx, value, 0, at, at + 1), ())


def _trapezoid(ctx: Context) -> SSAValue:
    """The sum of the areas below lines between neighbours along an axis, `dx` or differences of `x` apart."""
    y = ctx.term("y")
    axis = ctx.axis("dim", len(y.shape), -1)

    y = y if kind_of(y.dtype) == 2 else y.to(FLOAT)
    before, after = neighbours(y, axis)
    total = before + after
    if ctx.given("x"):
        x = ctx.term("x")
        along = axis if len(x.shape) == len(y.shape) else 0
        first, second = neighbours(x, along)
        width = second - first
        if len(x.shape) == 1:
            width = width.reshape(width.shape[0], *(1,) * (len(y.shape) - 1 - axis))
        width = width.to(total.dtype)
        return ((total * width).apply(SumOp, axis=(axis,), keepdims=False) * 0.5).value
    return (total.apply(SumOp, axis=(axis,), keepdims=False) * (ctx.float("dx", 1.0) / 2)).value


# Order of elements.


def _reversed(axis: int) -> Converter[Context]:
    return Converter(lambda ctx: ctx.emit(ReverseOp, ctx.of("self"), axis=(axis,)))


def _turned(ctx: Context) -> SSAValue:
    """A plane of two axes turned by right angles."""
    data, turns = ctx.of("self"), ctx.int("k", 1) % 4
    rank = len(shape_of(data))
    first, second = (ctx.axis_in(axis, rank) for axis in ctx.ints("dims", (0, 1)))
    if turns in (1, 2):
        data = ctx.emit(ReverseOp, data, axis=(second,))
    if turns in (2, 3):
        data = ctx.emit(ReverseOp, data, axis=(first,))
    if not turns % 2:
        return ctx.emit(ew.CopyOp, data) if not turns else data
    order = list(range(rank))
    order[first], order[second] = second, first
    return ctx.emit(TransposeOp, data, axes=order)


def _cross(ctx: Context) -> SSAValue:
    """The product of vectors of three numbers, along the first axis that has as many unless `dim` says another."""
    a, b = ctx.term("self"), ctx.term("other")
    axis = (
        ctx.axis("dim", len(a.shape))
        if ctx.given("dim")
        else next(
            (
                at
                for at, extent in enumerate(cast("tuple[Size, ...]", a.shape))
                if extent.__class__ is int and extent == 3
            ),
            -1,
        )
    )
    if axis < 0:
        ctx.fail("an axis of 3 numbers", str(list(a.shape)))
    order = [np.asarray(places) for places in ((1, 2, 0), (2, 0, 1))]
    left, right = (
        [Term(ctx, ctx.emit(TakeOp, x.value, ctx.constant(places, "axes"), axis=axis)) for places in order]
        for x in (a, b)
    )
    return (left[0] * right[1] - left[1] * right[0]).value


def _sum_to_size(ctx: Context) -> SSAValue:
    """The opposite of a broadcast: the sum over axes that a shape does not have, or has as 1."""
    x, wanted = ctx.term("self"), ctx.ints("size")
    before = len(x.shape) - len(wanted)
    axes = [*range(before), *(before + at for at, n in enumerate(wanted) if n.__class__ is int and n == 1)]
    return shaped(ctx, x.apply(SumOp, axis=axes, keepdims=True).value if axes else ctx.emit(ew.CopyOp, x.value), wanted)


def _logspace(ctx: Context) -> Any:
    dtype = ctx.element("dtype", FLOAT)
    base = ctx.float("base", 10.0)
    return (
        base ** np.linspace(ctx.float("start", 0.0), ctx.float("end", 0.0), ctx.int("steps"), dtype=np.float64)
    ).astype(dtype)


TABLE: dict[str, Converter[Context]] = {
    "aten.nansum.default": _of_numbers(partial(of_numbers, SumOp, neutral=0.0)),
    "aten.nanmean.default": _of_numbers(mean_of_numbers),
    **{f"aten.float_power.{form}": Converter(_float_power) for form in ("Scalar", "Tensor_Scalar", "Tensor_Tensor")},
    **{
        f"aten.special_xlog1py.{form}": of_two(partial(formulas.times_log1p, nan=True), floats=True)
        for form in ("default", "other_scalar", "self_scalar")
    },
    **{f"aten.quantile.{form}": Converter(_quantile) for form in ("default", "scalar")},
    **{f"aten.{name}.{form}": Converter(_trapezoid) for name in ("trapezoid", "trapz") for form in ("x", "dx")},
    "aten.angle.default": _function(_angle),
    "aten.copysign.Scalar": of_two(copysign, floats=True),
    "aten.copysign.Tensor": of_two(copysign, floats=True),
    "aten.cross.default": Converter(_cross),
    "aten.erfinv.default": _function(erf_inverse),
    "aten.fliplr.default": _reversed(1),
    "aten.flipud.default": _reversed(0),
    "aten.fmax.default": of_two(partial(formulas.of_numbers, ew.MaximumOp)),
    "aten.fmin.default": of_two(partial(formulas.of_numbers, ew.MinimumOp)),
    "aten.isneginf.default": _infinite(-1.0),
    "aten.isposinf.default": _infinite(1.0),
    "aten.ldexp.Tensor": of_two(_ldexp, floats=True),
    "aten.log_sigmoid_forward.default": Converter(_log_sigmoid),
    "aten.logaddexp2.default": of_two(formulas.log_add_exp2, floats=True),
    "aten.logspace.default": Converter(_logspace),
    "aten.median.default": Converter(_median),
    "aten.msort.default": Converter(_sorted),
    "aten.rot90.default": Converter(_turned),
    "aten.signbit.default": Converter(lambda ctx: formulas.signed(ctx.term("self")).value),
    "aten.sinc.default": _function(formulas.sinc),
    "aten.special_entr.default": _function(_entropy),
    "aten.special_ndtr.default": _function(lambda x: erfc(x * -(0.5**0.5)) * 0.5),
    "aten.sum_to_size.default": Converter(_sum_to_size),
}
