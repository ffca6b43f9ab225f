"""Layers that prepare numbers: bins, and categories as vectors."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.indexing import OneHotOp
from ...dialects.relay.reduce import MaxOp, SumOp
from ..importing.attributes import Floats, Int
from ..importing.rows import row
from ..importing.terms import Term, constant
from ..meanings.sorting import bucketize
from .context import Context
from .rows import Row, declared


def encoded(ctx: Context, indices: Term, depth: int, mode: str) -> Term:
    """Categories as vectors: one each (`one_hot`), those of a row at once (`multi_hot`), or how often each is there."""
    dtype = ctx.dtype_name if ctx.dtype_name.startswith(("float", "bfloat")) else "float32"
    shape = indices.shape
    if mode == "one_hot" and shape and shape[-1] != 1:
        ctx.fail("categories whose last axis has 1 element for one_hot", f"shape {list(shape)}")
    rows = indices if len(shape) > 1 else indices.reshape(*shape, 1)
    ends = [constant(ctx, np.asarray(value).astype(dtype), "scalar") for value in (1, 0)]
    vectors = rows.apply(OneHotOp, *ends, depth=depth, axis=-1, dtype=dtype)
    return vectors.apply(SumOp if mode == "count" else MaxOp, axis=(-2,), keepdims=False)


def _category_encoding(ctx: Context, x: Term, depth: int) -> Term:
    mode = ctx.choice("output_mode", ("one_hot", "multi_hot", "count"), "multi_hot")
    if ctx.argument(1, "count_weights") is not None:
        ctx.fail("categories without weights", "count_weights")
    return encoded(ctx, x if x.dtype.kind in "iu" else x.to("int32"), depth, mode)


def _discretization(ctx: Context, x: Term, boundaries: tuple[float, ...]) -> Term:
    """The number of the bin that each element is in; an element on a boundary is in the bin above it."""
    if not boundaries:
        ctx.fail("numbers as 'bin_boundaries'", "none")
    bins = bucketize(x, boundaries)
    mode = ctx.choice("output_mode", ("int", "one_hot", "multi_hot", "count"), "int")
    if mode != "int":
        return encoded(ctx, bins, len(boundaries) + 1, mode)
    return bins.to(ctx.dtype_name if ctx.dtype_name.startswith("int") else "int32")


TABLE = {
    "CategoryEncoding": declared(_category_encoding, "inputs", depth=Int(least=1, name="num_tokens")),
    "Discretization": Row(
        row(_discretization, "inputs", boundaries=Floats(name="bin_boundaries")).convert,
        unread=dict.fromkeys(("epsilon", "num_bins"), "of finding the boundaries"),
    ),
}
