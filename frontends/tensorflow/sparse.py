"""Sparse tensors as points and values: what becomes dense, and segments of rows that indices pick."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import UnravelIndexOp
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.sparse import SegmentSumOp, SparseToDenseOp
from ...dialects.relay.transform import BroadcastToOp, TakeOp, TransposeOp
from ..importing import products
from ..importing.converter import Converter, Result
from ..importing.terms import Term, constant, maximum, sqrt, term
from .context import Context
from .indexing import coordinates_first


def _added(ctx: Context, indices: int, values: int, target: SSAValue) -> SSAValue:
    """Values added to a dense tensor at points (n, rank)."""
    return ctx.emit(ScatterNdOp, target, coordinates_first(ctx, ctx.value(indices)), ctx.value(values), mode="add")


def to_dense(ctx: Context) -> SSAValue:
    """Inputs: points, a shape, values or one for all points, and what is elsewhere."""
    shape = ctx.known_ints(1, "a shape")
    ctx.fits(shape, ctx.dtype(2))
    points, values = ctx.value(0), ctx.value(2)
    if ctx.shape(0) and not ctx.shape(2):
        values = ctx.emit(BroadcastToOp, values, shape=ctx.shape(0)[:1])
    return ctx.emit(SparseToDenseOp, points, values, ctx.value(3), output_shape=shape)


def dense_matmul(ctx: Context) -> SSAValue:
    """Inputs: points, values and shape of a matrix, and a dense one."""
    shape = ctx.known_ints(2, "a shape")
    if len(shape) != 2 or len(ctx.shape(3)) != 2:
        ctx.fail("two matrices", f"{list(shape)} and {list(ctx.shape(3))}")
    ctx.fits(shape, ctx.dtype(1))
    zeros = ctx.emit(BroadcastToOp, ctx.number(0, ctx.dtype(1).name), shape=shape)
    left, right = (
        products.transposed(ctx, value) if ctx.flag(name) else value
        for name, value in (("adjoint_a", _added(ctx, 0, 1, zeros)), ("adjoint_b", ctx.value(3)))
    )
    return products.product(ctx, left, right)


def dense_add(ctx: Context) -> SSAValue:
    """Inputs: points, values and shape of a tensor, and a dense one."""
    return _added(ctx, 0, 1, ctx.value(3))


def reshape(ctx: Context) -> tuple[Result, ...]:
    """The points (n, rank) of a tensor in another shape, and that shape; one extent of it may be open."""
    shape, wanted = ctx.known_ints(1, "a shape"), list(ctx.known_ints(2, "a shape"))
    rest = prod(extent for extent in wanted if extent != -1)
    if wanted.count(-1) == 1 and rest:
        wanted[wanted.index(-1)] = prod(shape) // rest
    if min(wanted, default=0) < 0 or prod(wanted) != prod(shape) or ctx.shape(0)[1:] != (len(shape),):
        ctx.fail(f"a shape of {prod(shape)} elements", str(wanted))
    strides = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1]
    flat = (term(ctx, 0) * constant(ctx, strides.reshape(1, -1), "strides")).sum(1).reshape(ctx.shape(0)[0])
    points = ctx.emit(UnravelIndexOp, flat.value, ctx.constant(np.asarray(wanted, np.int64), "shape"))
    return ctx.emit(TransposeOp, points, axes=(1, 0)), np.asarray(wanted, np.int64)


def _segments(divided: str) -> Converter[Context]:
    """Inputs: rows, which of them, the segment of each, and in some how many segments there are."""

    def convert(ctx: Context) -> SSAValue:
        if len(ctx.inputs) > 3:
            count = ctx.one(3, "a number of segments")
        else:
            ids = ctx.array(2, "numbers of segments")
            count = int(ids.max()) + 1 if ids.size else 0
        rows = Term(ctx, ctx.emit(TakeOp, ctx.value(0), ctx.value(1), axis=0))
        total = rows.apply(SegmentSumOp, term(ctx, 2), num_segments=count)
        if not divided:
            return total.value
        ones = Term(ctx, ctx.emit(BroadcastToOp, rows.number(1).value, shape=rows.shape[:1]))
        sizes = maximum(ones.apply(SegmentSumOp, term(ctx, 2), num_segments=count), 1.0)
        sizes = (sqrt(sizes) if divided == "sqrt" else sizes).reshape(count, *[1] * (len(rows.shape) - 1))
        return (total / sizes).value

    return Converter(convert)


TABLE = {
    "SparseReshape": Converter(reshape),
    "SparseSegmentMean": _segments("count"),
    "SparseSegmentMeanWithNumSegments": _segments("count"),
    "SparseSegmentSqrtN": _segments("sqrt"),
    "SparseSegmentSqrtNWithNumSegments": _segments("sqrt"),
    "SparseSegmentSum": _segments(""),
    "SparseSegmentSumWithNumSegments": _segments(""),
    "SparseTensorDenseAdd": Converter(dense_add, unread={"a_shape": "that of b"}),
    "SparseTensorDenseMatMul": Converter(dense_matmul),
    "SparseToDense": Converter(to_dense),
}
