"""Order: the greatest, sorted, and places among what is sorted; statistics by order, and integrals."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.relay.reduce import ArgMaxOp, MaxOp
from ...dialects.relay.sorting import UniqueOp
from ...dialects.relay.transform import SqueezeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.attributes import Flag, Float, Int, Word
from ..importing.converter import Converter, Narrowed, Result
from ..importing.rows import row
from ..importing.terms import Term, axis_of, is_nan, where
from ..meanings import reductions, sorting, statistics
from ..meanings.indices import take_along
from ..meanings.slices import cut
from .context import Context
from .promotion import common_type, floating, kind_of, operand, promoted

_AXIS = Int(-1, name="dim")
_KEEPDIMS = Flag(False, name="keepdim")
_STABLE = {"stable": "each sort is"}


def _search(
    edges: Term, x: Term, order: Term | None = None, *, right: bool, narrow: bool, side: str | None = None
) -> Term:
    """The places of numbers in sorted ones, which an order may say of others."""
    edges = edges if order is None else take_along(edges, order, -1, rule="from_end")
    common, dtype = promoted(edges.dtype, x.dtype), "int32" if narrow else "int64"
    return sorting.search_sorted(edges.to(common), x.to(common), right or side == "right", dtype=dtype)


def _is_in(ctx: Context, invert: bool) -> Term:
    """True for each element that is one of others."""
    names = ["elements" if ctx.given("elements") else "element"]
    names.append("test_elements" if ctx.given("test_elements") else "test_element")
    dtype = common_type(ctx, names)
    x, others = (operand(ctx, name, dtype) for name in names)
    return sorting.is_in(x, others, invert)


def _quantile(ctx: Context, x: Term, axis: int | None, keepdims: bool, how: statistics.Interpolation) -> Term:
    """Places are counted in the element type of the data."""
    stated: Any = ctx.argument("q")
    parts = np.asarray(stated) if isinstance(stated, int | float) else ctx.array(ctx.at("q"), "q")
    axes = None if axis is None or not x.shape else (axis,)
    blend = statistics.from_the_nearer
    return statistics.quantile(x, parts.astype(x.dtype), axes, keepdims, how, blend=blend)


def _median(x: Term) -> Term:
    """The lower of the two in the middle of all elements."""
    return statistics.quantile(x, np.asarray(0.5), how="lower")


def _kth_value(x: Term, k: int, axis: int, keepdims: bool) -> tuple[Term, Term]:
    """The element that comes so many after the smallest along an axis, the 1st, and its place."""
    at, both = axis_of(x, axis), sorting.sort_with_places(x, axis)
    if not x.shape:
        return both
    value, place = (cut(part, at, k - 1, k) for part in both)
    return (value, place) if keepdims else (value.apply(SqueezeOp, axis=[at]), place.apply(SqueezeOp, axis=[at]))


def _median_along(x: Term, axis: int, keepdims: bool) -> tuple[Term, Term]:
    """The lower of the two in the middle along an axis, and its place; of NaN among them the first."""
    extent = x.shape[axis_of(x, axis)] if x.shape else 1
    if isinstance(cast(Size, extent), SizeExpr):
        x.ctx.fail("an axis of known extent", str(extent))
    value, at = _kth_value(x, (extent + 1) // 2, axis, keepdims)
    if not x.shape or kind_of(x.dtype) < 2:
        return value, at
    missing = is_nan(x).to("int32")
    none = reductions.reduced(MaxOp, missing, (axis,), keepdims) > 0
    first = reductions.place(ArgMaxOp, missing, axis, keepdims)
    return where(none, np.nan, value), where(none, first, at)


def _unique(x: Term, inverse: bool, counts: bool) -> tuple[Result, ...]:
    """The distinct elements, which of them each one is, and how many there are of each."""
    flat, none = x.reshape(prod(x.shape)), np.zeros(0, np.int64)
    values, _, which, often, number = x.ctx.emit_all(UniqueOp, flat.value, sorted=True)
    return (
        Narrowed(values, number),
        Term(x.ctx, which).reshape(*x.shape).value if inverse else none,
        Narrowed(often, number) if counts else none,
    )


def _trapezoid(y: Term, x: Term | None, dx: float, axis: int) -> Term:
    return statistics.trapezoid(y.to(floating(y.dtype)), x, dx, axis)


def _msort(x: Term) -> Term:
    return sorting.sort(x, 0)


_PLACES: dict[str, Any] = {"right": Flag(False), "narrow": Flag(False, name="out_int32")}
_SORT: dict[str, Any] = {"axis": _AXIS, "descending": Flag(False)}
_QUANTILE = row(
    _quantile,
    "self",
    axis=Int(None, name="dim"),
    keepdims=_KEEPDIMS,
    how=Word("linear", name="interpolation", among=statistics.INTERPOLATIONS),
)
_TRAPEZOID = row(_trapezoid, "y x?", dx=Float(1.0), axis=_AXIS)

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.quantile.{form}": _QUANTILE for form in ("default", "scalar")},
    **{f"aten.{name}.{form}": _TRAPEZOID for name in ("trapezoid", "trapz") for form in ("x", "dx")},
    "aten._unique2.default": row(
        _unique,
        "self",
        unread={"sorted": "what is sorted is right, too"},
        inverse=Flag(False, name="return_inverse"),
        counts=Flag(False, name="return_counts"),
    ),
    "aten.argsort.default": row(sorting.argsort, "self", **_SORT),
    "aten.argsort.stable": row(sorting.argsort, "self", unread=_STABLE, **_SORT),
    "aten.bucketize.Tensor": row(_search, "boundaries self", **_PLACES),
    "aten.isin.Tensor_Tensor": row(_is_in, unread={"assume_unique": "a faster way"}, invert=Flag(False)),
    "aten.kthvalue.default": row(_kth_value, "self", k=Int(), axis=_AXIS, keepdims=_KEEPDIMS),
    "aten.median.dim": row(_median_along, "self", axis=_AXIS, keepdims=_KEEPDIMS),
    "aten.median.default": row(_median, "self"),
    "aten.msort.default": row(_msort, "self"),
    "aten.searchsorted.Tensor": row(
        _search,
        "sorted_sequence self sorter?",
        **_PLACES,
        side=Word(None, among=("left", "right")),
    ),
    "aten.sort.default": row(sorting.sort_with_places, "self", **_SORT),
    "aten.sort.stable": row(sorting.sort_with_places, "self", unread=_STABLE, **_SORT),
    "aten.topk.default": row(
        partial(reductions.top_k, dtype="int64"),
        "self",
        unread={"sorted": "what is sorted is right, too"},
        k=Int(),
        axis=_AXIS,
        largest=Flag(True),
    ),
}
