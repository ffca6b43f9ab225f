"""Reductions over axes, and sums and products of all that comes before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ConcatenateOp
from ..importing.attributes import Element, Flag, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings import reductions
from ..meanings.reductions import Axes
from .context import Context
from .promotion import BOOL, FLOAT, LONG, floating, kind_of

_KEEPDIMS = Flag(False, name="keepdim")


def over(function: Callable[..., Term | tuple[Term, ...]], **attributes: Any) -> Converter[Context]:
    """The row of a function over axes: over all where none are given, and of a scalar."""

    def computed(x: Term, axes: tuple[int, ...], keepdims: bool, **options: Any) -> Term | tuple[Term, ...]:
        return function(x, (axes if x.shape else ()) or None, keepdims, **options)

    return row(computed, "self", axes=Ints((), name="dim"), keepdims=_KEEPDIMS, **attributes)


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The element type of sums and products: of integers and truth values int64."""
    return LONG if kind_of(dtype) < 2 else dtype


def _summing(op: type[Operator]) -> Converter[Context]:
    def computed(x: Term, axes: Axes, keepdims: bool, dtype: np.dtype[Any] | None) -> Term:
        return reductions.reduced(op, x.to(dtype or _widened(x.dtype)), axes, keepdims)

    return over(computed, dtype=Element(None))


def _mean(x: Term, axes: Axes, keepdims: bool, dtype: np.dtype[Any] | None) -> Term:
    dtype = dtype or x.dtype
    if kind_of(dtype) < 2:
        x.ctx.fail("floats", dtype.name)
    number = x.to(FLOAT if dtype.itemsize < 4 else dtype)  # a wider operand is not rounded before
    return reductions.reduced(reduce.MeanOp, number, axes, keepdims).to(dtype)


def _ordered(x: Term) -> Term:
    """Truth values as numbers."""
    return x.to("int32") if x.dtype == BOOL else x


def _extreme(op: type[Operator], x: Term, axes: Axes, keepdims: bool) -> Term:
    return reductions.reduced(op, _ordered(x), axes, keepdims).to(x.dtype)


def _extremes(x: Term, axes: Axes, keepdims: bool) -> tuple[Term, ...]:
    return tuple(_extreme(op, x, axes, keepdims) for op in (reduce.MinOp, reduce.MaxOp))


def _place(op: type[Operator]) -> Converter[Context]:
    def computed(x: Term, axis: int | None, keepdims: bool) -> Term:
        return reductions.place(op, _ordered(x), axis, keepdims)

    return row(computed, "self", axis=Int(None, name="dim"), keepdims=_KEEPDIMS)


def _extreme_at(op: type[Operator], place: type[Operator]) -> Converter[Context]:
    """The largest or smallest along an axis, and where the first of them is."""

    def computed(x: Term, axis: int, keepdims: bool) -> tuple[Term, Term]:
        return _extreme(op, x, (axis,) if x.shape else None, keepdims), reductions.place(
            place, _ordered(x), axis, keepdims
        )

    return row(computed, "self", axis=Int(name="dim"), keepdims=_KEEPDIMS)


def _truth(op: type[Operator]) -> Converter[Context]:
    """True where all, or any, are not 0."""

    def computed(x: Term, axes: Axes, keepdims: bool) -> Term:
        return reductions.reduced(op, x.to(BOOL), axes, keepdims)

    return over(computed)


def _corrected(function: Callable[..., Term | tuple[Term, ...]]) -> Converter[Context]:
    return over(function, correction=Float(lambda ctx: 1.0 if ctx.flag("unbiased", True) else 0.0))


def _with_mean(function: Callable[..., Term]) -> Converter[Context]:
    def computed(x: Term, axes: Axes, keepdims: bool, correction: float) -> tuple[Term, Term]:
        return function(x, axes, keepdims, correction), reductions.reduced(reduce.MeanOp, x, axes, keepdims)

    return _corrected(computed)


def _log_sum_exp(x: Term, axes: Axes, keepdims: bool) -> Term:
    return reductions.log_sum_exp(x.to(floating(x.dtype)), axes, keepdims)


def _running(op: type[Operator]) -> Converter[Context]:
    def computed(x: Term, axis: int, dtype: np.dtype[Any] | None) -> Term:
        return reductions.running(op, x.to(dtype or _widened(x.dtype)), axis)

    return row(computed, "self", axis=Int(name="dim"), dtype=Element(None))


def _diff(x: Term, prepend: Term | None, append: Term | None, axis: int, n: int) -> Term:
    """Differences of neighbours along an axis, so many times."""
    axis = axis_of(x, axis)
    if n == 0:
        return x.apply(ew.CopyOp)
    parts = [part.value for part in (prepend, x, append) if part is not None]
    x = Term(x.ctx, x.ctx.emit(ConcatenateOp, *parts, axis=axis)) if len(parts) > 1 else x
    for _ in range(n):
        if x.shape[axis].__class__ is int and not x.shape[axis]:
            break
        before, after = reductions.neighbours(x, axis)
        x = after.apply(NotEqualOp, before) if x.dtype == BOOL else after - before
    return x


TABLE: dict[str, Converter[Context]] = {
    **{f"aten.all.{overload}": _truth(reduce.AllOp) for overload in ("default", "dim", "dims")},
    **{f"aten.any.{overload}": _truth(reduce.AnyOp) for overload in ("default", "dim", "dims")},
    **{f"aten.mean.{overload}": over(_mean, dtype=Element(None)) for overload in ("default", "dim")},
    **{f"aten.prod.{overload}": _summing(reduce.ProdOp) for overload in ("default", "dim_int")},
    **{f"aten.std.{overload}": _corrected(reductions.deviation) for overload in ("default", "dim", "correction")},
    **{f"aten.sum.{overload}": _summing(reduce.SumOp) for overload in ("default", "dim_IntList")},
    **{f"aten.var.{overload}": _corrected(reductions.variance) for overload in ("default", "dim", "correction")},
    **{f"aten.std_mean.{overload}": _with_mean(reductions.deviation) for overload in ("default", "dim", "correction")},
    **{f"aten.var_mean.{overload}": _with_mean(reductions.variance) for overload in ("default", "dim", "correction")},
    "aten.amax.default": over(partial(_extreme, reduce.MaxOp)),
    "aten.amin.default": over(partial(_extreme, reduce.MinOp)),
    "aten.aminmax.default": over(_extremes),
    "aten.argmax.default": _place(reduce.ArgMaxOp),
    "aten.argmin.default": _place(reduce.ArgMinOp),
    "aten.cumprod.default": _running(CumprodOp),
    "aten.cumsum.default": _running(CumsumOp),
    "aten.diff.default": row(_diff, "self prepend? append?", axis=Int(-1, name="dim"), n=Int(1)),
    "aten.logcumsumexp.default": row(reductions.running_log_sum_exp, "self", axis=Int(name="dim")),
    "aten.logsumexp.default": over(_log_sum_exp),
    "aten.max.default": over(partial(_extreme, reduce.MaxOp)),
    "aten.max.dim": _extreme_at(reduce.MaxOp, reduce.ArgMaxOp),
    "aten.min.default": over(partial(_extreme, reduce.MinOp)),
    "aten.min.dim": _extreme_at(reduce.MinOp, reduce.ArgMinOp),
}
