"""Order: the greatest, sorted, and places among what is sorted."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp, LogicalNotOp
from ...dialects.relay.reduce import AnyOp
from ...dialects.relay.sorting import ArgsortOp, SearchSortedOp, TopKOp
from ...dialects.sizes import Size
from ..importing.attributes import Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings import reductions
from .context import Context
from .promotion import BOOL, common_type, operand
from .shaping import shaped

_STABLE = {"stable": "each sort is"}


def _sort(ctx: Context) -> tuple[SSAValue, ...]:
    """topk of all elements."""
    x = ctx.term("self")
    if not x.shape:
        return x.apply(CopyOp).value, ctx.constant(np.zeros((), np.int64), "places")
    axis = ctx.axis("dim", len(x.shape), -1)
    truths = x.dtype == BOOL
    data = x.to("int32") if truths else x
    value, places = ctx.emit_all(
        TopKOp, data.value, k=0, axis=axis, is_ascend=not ctx.flag("descending"), dtype="int64"
    )
    return (Term(ctx, value).to("bool").value if truths else value), places


def _argsort(ctx: Context) -> SSAValue:
    data = ctx.of("self")
    axis = ctx.axis("dim", len(shape_of(data)), -1)
    return ctx.emit(ArgsortOp, data, axis=axis, is_ascend=not ctx.flag("descending"), dtype="int64")


def _placed(ctx: Context, row: SSAValue, values: SSAValue) -> SSAValue:
    """searchsorted of values in a row, or in as many rows."""
    right = ctx.flag("right") or ctx.word("side", "") == "right"
    dtype = "int32" if ctx.flag("out_int32") else "int64"
    shape = shape_of(values)
    if len(shape_of(row)) == 1 and len(shape) != 1:
        count = (
            int(np.prod(shape)) if all(isinstance(extent, int) for extent in cast("tuple[Size, ...]", shape)) else None
        )
        if count is None:
            ctx.fail("values of a known shape", str(list(shape)))
        result = ctx.emit(SearchSortedOp, row, shaped(ctx, values, (count,)), right=right, dtype=dtype)
        return shaped(ctx, result, shape)
    return ctx.emit(SearchSortedOp, row, values, right=right, dtype=dtype)


def _searchsorted(ctx: Context) -> SSAValue:
    if ctx.given("sorter"):
        ctx.fail("a sorted sequence", "one with an order beside it")
    return _placed(ctx, ctx.of("sorted_sequence"), ctx.of("self"))


def _bucketize(ctx: Context) -> SSAValue:
    return _placed(ctx, ctx.of("boundaries"), ctx.of("self"))


def _isin(ctx: Context) -> SSAValue:
    """True for each element that is one of others."""
    names = ["elements" if ctx.given("elements") else "element"]
    names.append("test_elements" if ctx.given("test_elements") else "test_element")
    dtype = common_type(ctx, names)
    x, others = (operand(ctx, name, dtype) for name in names)
    equal = x.reshape(*x.shape, 1).equal(others.reshape(prod(others.shape)))
    result = equal.apply(AnyOp, axis=(len(x.shape),), keepdims=False)
    return (result.apply(LogicalNotOp) if ctx.flag("invert") else result).value


TABLE: dict[str, Converter[Context]] = {
    "aten.argsort.default": Converter(_argsort),
    "aten.argsort.stable": Converter(_argsort, unread=_STABLE),
    "aten.bucketize.Tensor": Converter(_bucketize),
    "aten.isin.Tensor_Tensor": Converter(_isin, unread={"assume_unique": "a faster way"}),
    "aten.searchsorted.Tensor": Converter(_searchsorted),
    "aten.sort.default": Converter(_sort),
    "aten.sort.stable": Converter(_sort, unread=_STABLE),
    "aten.topk.default": row(
        partial(reductions.top_k, dtype="int64"),
        "self",
        unread={"sorted": "what is sorted is right, too"},
        k=Int(),
        axis=Int(-1, name="dim"),
        largest=Flag(True),
    ),
}
