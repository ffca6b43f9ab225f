"""Sparse tensors as points and values: what becomes dense, and segments of rows that indices pick."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from ...dialects.relay.indexing import UnravelIndexOp
from ...dialects.relay.transform import TransposeOp
from ...support.dtypes import Array
from ..importing.attributes import Flag
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, constant, term
from ..meanings.indices import take
from ..meanings.products import matmul
from ..meanings.scatters import Segments, scatter_into_zeros, scatter_nd, segment_mean, segment_sum, sparse_to_dense
from .context import Context


def _dense_matmul(
    points: Term, values: Term, shape: tuple[int, ...], right: Term, adjoint_a: bool, adjoint_b: bool
) -> Term:
    """The product of a sparse matrix and a dense one."""
    ctx = points.ctx
    if len(shape) != 2 or len(right.shape) != 2:
        ctx.fail("two matrices", f"{list(shape)} and {list(right.shape)}")
    left = scatter_into_zeros(points, values, shape)
    return matmul(left, right, adjoint_a, adjoint_b)


def _dense_add(ctx: Context, points: Term, values: Term) -> Term:
    return scatter_nd(term(ctx, 3), points, values, "add", rule="inside")


def _reshape(points: Term, shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[Term, Array]:
    """The points (n, rank) of a tensor in another shape, and that shape; one extent of it may be open."""
    new, rest = list(wanted), prod(extent for extent in wanted if extent != -1)
    if new.count(-1) == 1 and rest:
        new[new.index(-1)] = prod(shape) // rest
    if min(new, default=0) < 0 or prod(new) != prod(shape) or points.shape[1:] != (len(shape),):
        points.ctx.fail(f"a shape of {prod(shape)} elements", str(new))
    strides = constant(points.ctx, np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1].reshape(1, -1), "strides")
    extents = np.asarray(new, np.int64)
    flat = (points * strides).sum(1).reshape(points.shape[0])
    return flat.apply(UnravelIndexOp, constant(points.ctx, extents, "shape")).apply(TransposeOp, axes=(1, 0)), extents


def _segments(function: Segments) -> Converter[Context]:
    """Rows, which of them, the segment of each, and in some how many segments there are."""

    def computed(ctx: Context, x: Term, indices: Term, ids: Term, count: int | None) -> Term:
        if count is None:
            numbers = ctx.array(2, "numbers of segments")
            count = int(numbers.max()) + 1 if numbers.size else 0
        return function(take(x, indices, rule="inside"), ids, count)

    return row(computed, "data indices segment_ids num_segments:size?")


_MEAN, _SQRT, _SUM = _segments(segment_mean), _segments(partial(segment_mean, root=True)), _segments(segment_sum)

TABLE = {
    "SparseReshape": row(_reshape, "input_indices input_shape:ints new_shape:ints"),
    "SparseSegmentMean": _MEAN,
    "SparseSegmentMeanWithNumSegments": _MEAN,
    "SparseSegmentSqrtN": _SQRT,
    "SparseSegmentSqrtNWithNumSegments": _SQRT,
    "SparseSegmentSum": _SUM,
    "SparseSegmentSumWithNumSegments": _SUM,
    "SparseTensorDenseAdd": row(_dense_add, "a_indices a_values", unread={"a_shape": "that of b"}),
    "SparseTensorDenseMatMul": row(
        _dense_matmul,
        "a_indices a_values a_shape:ints b",
        adjoint_a=Flag(False),
        adjoint_b=Flag(False),
    ),
    "SparseToDense": row(sparse_to_dense, "sparse_indices output_shape:ints sparse_values default_value"),
}
