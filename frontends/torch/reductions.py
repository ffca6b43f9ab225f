"""Reductions over axes, and sums and products of all that comes before."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ...dialects.sizes import Size
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, sqrt
from ..meanings.formulas import log_sum_exp
from .context import Context
from .promotion import BOOL, FLOAT, LONG, cast_to, floating, kind_of


def axes_of(ctx: Context, rank: int, name: str = "dim") -> tuple[int, ...]:
    """The axes of a reduction; all where none are given."""
    operand = ctx.ints(name, ()) if ctx.argument(name) != () else ()
    return tuple(sorted({ctx.axis_in(axis, rank) for axis in operand})) if operand and rank else tuple(range(rank))


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The element type of sums and products."""
    return LONG if kind_of(dtype) < 2 else dtype


def _reduced(x: Term, op: type[Operator], axes: Sequence[int], keepdims: bool) -> Term:
    """A reduction; over no axes the data themselves."""
    return x.apply(op, axis=tuple(axes), keepdims=keepdims) if axes else x.apply(ew.CopyOp)


def summing(op: type[Operator]) -> Converter[Context]:
    """A sum or product: of integers and truth values in int64, of half precision in float32, rounded once."""

    def convert(ctx: Context) -> SSAValue:
        own = ctx.dtype_of("self")
        dtype = ctx.element("dtype", _widened(own))
        assert dtype is not None
        x = Term(ctx, cast_to(ctx, ctx.of("self"), FLOAT if dtype.itemsize < 4 and kind_of(dtype) == 2 else dtype))
        result = _reduced(x, op, axes_of(ctx, len(x.shape)), ctx.flag("keepdim"))
        return cast_to(ctx, result.value, dtype)

    return Converter(convert)


def _mean(ctx: Context) -> SSAValue:
    own = ctx.dtype_of("self")
    dtype = ctx.element("dtype", own)
    assert dtype is not None
    if kind_of(dtype) < 2:
        ctx.fail("floats", dtype.name)
    x = Term(ctx, cast_to(ctx, ctx.of("self"), FLOAT if dtype.itemsize < 4 else dtype))
    return cast_to(ctx, _reduced(x, reduce.MeanOp, axes_of(ctx, len(x.shape)), ctx.flag("keepdim")).value, dtype)


def extreme(op: type[Operator]) -> Converter[Context]:
    """The largest or smallest over axes."""

    def convert(ctx: Context) -> SSAValue:
        x = ctx.term("self")
        truths = x.dtype == BOOL
        wide = x.to("int32") if truths else x
        result = _reduced(wide, op, axes_of(ctx, len(x.shape)), ctx.flag("keepdim"))
        return (result.to("bool") if truths else result).value

    return Converter(convert)


def extreme_at(op: type[Operator], position: type[Operator]) -> Converter[Context]:
    """The largest or smallest along an axis, and where the first of them is."""

    def convert(ctx: Context) -> tuple[SSAValue, SSAValue]:
        x, keepdims = ctx.term("self"), ctx.flag("keepdim")
        if not x.shape:
            return x.apply(ew.CopyOp).value, ctx.constant(np.zeros((), np.int64), "places")
        axis = ctx.axis("dim", len(x.shape))
        truths = x.dtype == BOOL
        wide = x.to("int32") if truths else x
        value = wide.apply(op, axis=(axis,), keepdims=keepdims)
        places = wide.apply(position, axis=(axis,), keepdims=keepdims).to("int64")
        return (value.to("bool") if truths else value).value, places.value

    return Converter(convert)


def place_of_extreme(op: type[Operator]) -> Converter[Context]:
    """Where the first extreme is, along an axis, or among all elements."""

    def convert(ctx: Context) -> SSAValue:
        x = ctx.term("self")
        x = x.to("int32") if x.dtype == BOOL else x
        rank = len(x.shape)
        if not rank:
            return ctx.constant(np.zeros((), np.int64), "place")
        if ctx.given("dim"):
            return x.apply(op, axis=(ctx.axis("dim", rank),), keepdims=ctx.flag("keepdim")).to("int64").value
        flat = x.reshape(prod(x.shape)).apply(op, axis=(0,), keepdims=False).to("int64")
        return (flat.reshape(*(1,) * rank) if ctx.flag("keepdim") else flat).value

    return Converter(convert)


def truth(op: type[Operator]) -> Converter[Context]:
    """True where all, or any, are not 0."""

    def convert(ctx: Context) -> SSAValue:
        x = Term(ctx, cast_to(ctx, ctx.of("self"), BOOL))
        return _reduced(x, op, axes_of(ctx, len(x.shape)), ctx.flag("keepdim")).value

    return Converter(convert)


def _variance(ctx: Context) -> tuple[Term, Term]:
    """The variance over axes, with as much less than all elements in the divisor as `correction` says; and the mean."""
    x = ctx.term("self")
    wide = x.to(FLOAT) if x.dtype.itemsize < 4 else x
    axes, keepdims = axes_of(ctx, len(x.shape)), ctx.flag("keepdim")
    correction = ctx.float("correction", 1.0 if ctx.flag("unbiased", True) else 0.0)
    mean = _reduced(wide, reduce.MeanOp, axes, True)
    variance = wide.apply(reduce.VarianceOp, mean, axis=axes, keepdims=keepdims, unbiased=correction == 1.0)
    count = cast(Size, prod(x.shape[axis] for axis in axes))
    if isinstance(count, int) and count <= correction:
        variance = variance * np.nan  # a quotient of 0 and 0
    elif correction not in (0.0, 1.0):
        if not isinstance(count, int):
            ctx.fail("a correction of 0 or 1", str(correction))
        variance = variance * (count / (count - correction))
    plain = mean if keepdims else mean.reshape(*variance.shape)
    return variance.to(x.dtype), plain.to(x.dtype)


def _var(ctx: Context) -> SSAValue:
    return _variance(ctx)[0].value


def _std(ctx: Context) -> SSAValue:
    return sqrt(_variance(ctx)[0]).value


def _var_mean(ctx: Context) -> tuple[SSAValue, ...]:
    return tuple(item.value for item in _variance(ctx))


def _std_mean(ctx: Context) -> tuple[SSAValue, ...]:
    variance, mean = _variance(ctx)
    return sqrt(variance).value, mean.value


def _logsumexp(ctx: Context) -> SSAValue:
    x = Term(ctx, cast_to(ctx, ctx.of("self"), floating(ctx.dtype_of("self"))))
    return log_sum_exp(x, axes_of(ctx, len(x.shape)), ctx.flag("keepdim")).value


def cumulative(op: type[Operator]) -> Converter[Context]:
    """Of integers and truth values in int64."""

    def convert(ctx: Context) -> SSAValue:
        dtype = ctx.element("dtype", _widened(ctx.dtype_of("self")))
        assert dtype is not None
        data = cast_to(ctx, ctx.of("self"), dtype)
        rank = len(shape_of(data))
        return ctx.emit(op, data, axis=ctx.axis("dim", rank)) if rank else ctx.emit(ew.CopyOp, data)

    return Converter(convert)


def _diff(ctx: Context) -> SSAValue:
    """Differences of neighbours along an axis, so many times."""
    data = ctx.of("self")
    axis = ctx.axis("dim", len(shape_of(data)), -1)
    if ctx.int("n", 1) == 0:
        return ctx.emit(ew.CopyOp, data)
    if ctx.given("prepend") or ctx.given("append"):
        parts = [ctx.optional("prepend"), data, ctx.optional("append")]
        data = ctx.emit(ConcatenateOp, *[part for part in parts if part is not None], axis=axis)
    for _ in range(ctx.int("n", 1)):
        extent = shape_of(data)[axis]
        if extent.__class__ is int and not extent:
            break
        later = ctx.emit(StridedSliceOp, data, begin=(1,), end=(extent,), strides=(1,), axes=(axis,))
        earlier = ctx.emit(StridedSliceOp, data, begin=(0,), end=(extent - 1,), strides=(1,), axes=(axis,))
        a, b = Term(ctx, later), Term(ctx, earlier)
        data = (a.apply(NotEqualOp, b) if a.dtype == BOOL else a - b).value
    return data


def _aminmax(ctx: Context) -> tuple[SSAValue, ...]:
    x = ctx.term("self")
    axes, keepdims = axes_of(ctx, len(x.shape)), ctx.flag("keepdim")
    return tuple(_reduced(x, op, axes, keepdims).value for op in (reduce.MinOp, reduce.MaxOp))


TABLE: dict[str, Converter[Context]] = {
    **{f"aten.all.{overload}": truth(reduce.AllOp) for overload in ("default", "dim", "dims")},
    **{f"aten.any.{overload}": truth(reduce.AnyOp) for overload in ("default", "dim", "dims")},
    **{f"aten.mean.{overload}": Converter(_mean) for overload in ("default", "dim")},
    **{f"aten.prod.{overload}": summing(reduce.ProdOp) for overload in ("default", "dim_int")},
    **{f"aten.std.{overload}": Converter(_std) for overload in ("default", "dim", "correction")},
    **{f"aten.sum.{overload}": summing(reduce.SumOp) for overload in ("default", "dim_IntList")},
    **{f"aten.var.{overload}": Converter(_var) for overload in ("default", "dim", "correction")},
    **{f"aten.std_mean.{overload}": Converter(_std_mean) for overload in ("default", "dim", "correction")},
    **{f"aten.var_mean.{overload}": Converter(_var_mean) for overload in ("default", "dim", "correction")},
    "aten.amax.default": extreme(reduce.MaxOp),
    "aten.amin.default": extreme(reduce.MinOp),
    "aten.aminmax.default": Converter(_aminmax),
    "aten.argmax.default": place_of_extreme(reduce.ArgMaxOp),
    "aten.argmin.default": place_of_extreme(reduce.ArgMinOp),
    "aten.cumprod.default": cumulative(CumprodOp),
    "aten.cumsum.default": cumulative(CumsumOp),
    "aten.diff.default": Converter(_diff),
    "aten.logsumexp.default": Converter(_logsumexp),
    "aten.max.default": extreme(reduce.MaxOp),
    "aten.max.dim": extreme_at(reduce.MaxOp, reduce.ArgMaxOp),
    "aten.min.default": extreme(reduce.MinOp),
    "aten.min.dim": extreme_at(reduce.MinOp, reduce.ArgMinOp),
}
