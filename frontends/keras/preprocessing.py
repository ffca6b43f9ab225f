"""Layers that prepare numbers: bins, and categories as vectors."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import OneHotOp
from ...dialects.relay.reduce import MaxOp, SumOp
from ...dialects.relay.sorting import SearchSortedOp
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from .context import Context
from .nests import items_of
from .rows import Row


def encoded(ctx: Context, indices: SSAValue, depth: int, mode: str) -> SSAValue:
    """Categories as vectors: one each (`one_hot`), those of a row at once (`multi_hot`), or how often each is there."""
    dtype = ctx.dtype_name if ctx.dtype_name.startswith(("float", "bfloat")) else "float32"
    shape = shape_of(indices)
    if mode == "one_hot" and shape and shape[-1] != 1:
        ctx.fail("categories whose last axis has 1 element for one_hot", f"shape {list(shape)}")
    rows = indices if len(shape) > 1 else reshaped(ctx, indices, (*shape, 1))
    ends = [ctx.constant(np.asarray(value).astype(dtype), "scalar") for value in (1, 0)]
    vectors = ctx.emit(OneHotOp, rows, *ends, depth=depth, axis=-1, dtype=dtype)
    return Term(ctx, vectors).apply(SumOp if mode == "count" else MaxOp, axis=(-2,), keepdims=False).value


def _indices(ctx: Context) -> SSAValue:
    """The input as integers."""
    places = ctx.references()
    value = ctx.value(places[0])
    return value if dtype_of(value).kind in "iu" else ctx.cast(value, "int32")


def category_encoding(ctx: Context) -> SSAValue:
    mode = ctx.choice("output_mode", ("one_hot", "multi_hot", "count"), "multi_hot")
    if ctx.argument(1, "count_weights") is not None:
        ctx.fail("categories without weights", "count_weights")
    return encoded(ctx, _indices(ctx), ctx.int("num_tokens", least=1), mode)


def discretization(ctx: Context) -> SSAValue:
    """The number of the bin that each element is in; an element on a boundary is in the bin above it."""
    boundaries = items_of(ctx.option("bin_boundaries"))
    if not boundaries or any(isinstance(edge, bool) or not isinstance(edge, int | float) for edge in boundaries):
        ctx.fail("numbers as 'bin_boundaries'", repr(ctx.option("bin_boundaries"))[:60])
    x = Term(ctx, ctx.data()).to("float32")
    edges = ctx.constant(np.asarray(boundaries, np.float32), "bin_boundaries")
    bins = ctx.emit(SearchSortedOp, edges, x.value, right=True, dtype="int32")
    mode = ctx.choice("output_mode", ("int", "one_hot", "multi_hot", "count"), "int")
    if mode != "int":
        return encoded(ctx, bins, len(boundaries) + 1, mode)
    wanted = ctx.dtype_name
    return ctx.cast(bins, wanted if wanted.startswith("int") else "int32")


TABLE = {
    "CategoryEncoding": Row(category_encoding),
    "Discretization": Row(discretization, unread=dict.fromkeys(("epsilon", "num_bins"), "of finding the boundaries")),
}
