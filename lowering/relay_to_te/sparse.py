"""Computes of the operators that put rows or elements where they belong."""

from __future__ import annotations

from math import prod

from ... import te
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.sparse import (
    CompressedRows,
    SegmentSumOp,
    SparseAddOp,
    SparseDenseOp,
    SparseReshapeOp,
    SparseToDenseOp,
    SparseTransposeOp,
)
from ...te import Expr, Tensor
from . import sparse_scripts as scripts
from .stages import ROWS_APART, compute, dtype_of, in_dtype, label, rounded, shape, wide
from .transform import flat_index


def _within(index: Expr, extent: int) -> Expr:
    return te.all(index >= 0, index < extent)


def segment_sum(op: Operator, x: Tensor, ids: Tensor) -> Tensor:
    extents, number = shape_of(op.results[0]), wide(x.dtype)
    if not prod(extents) or not prod(shape(x)):
        return compute(extents, lambda *i: te.const(0, x.dtype), label(op))
    segments, width = extents[0], prod(extents[1:])

    def added(total: Expr, tensor: Tensor, u: Expr, number_there: Expr) -> Expr:
        return te.select(_within(tensor(u).astype("int64"), segments), total + number_there.astype(number), total)

    def row(tensor: Tensor, u: Expr) -> Expr:
        return te.minimum(te.maximum(tensor(u).astype("int64"), 0), segments - 1)

    total = scripts.segment_sum(x, ids, extents, (segments, width, shape(x)[0]), te.const(0, number), row, added)
    return rounded(total, x.dtype)


def sparse_to_dense(op: Operator, indices: Tensor, values: Tensor, default: Tensor | None) -> Tensor:
    extents, dtype, rank = shape_of(op.results[0]), dtype_of(op), len(shape(indices))

    def elsewhere() -> Expr:
        return te.const(0, dtype) if default is None else default(*[0] * len(shape(default)))

    count = prod(shape(values))
    if not count or not prod(extents):
        return compute(extents, lambda *i: elsewhere(), label(op))

    def coordinates(tensor: Tensor, u: Expr) -> list[Expr]:
        points = [tensor(u, axis) for axis in range(len(extents))] if rank == 2 else [tensor(u) if rank else tensor()]
        return [point.astype("int64") for point in points]

    def place(tensor: Tensor, u: Expr) -> Expr | int:
        points = zip(coordinates(tensor, u), extents, strict=True)
        return flat_index([te.minimum(te.maximum(at, 0), extent - 1) for at, extent in points], extents)

    def chosen(old: Expr, new: Expr, tensor: Tensor, u: Expr) -> Expr:
        points = zip(coordinates(tensor, u), extents, strict=True)
        return te.select(te.all(*(_within(at, extent) for at, extent in points)), new, old)

    filled = compute(extents, lambda *i: elsewhere(), f"{label(op)}_default", keep=True)
    return scripts.sparse_to_dense(filled, indices, values, (prod(extents), count), place, chosen)


def sparse_dense(op: Operator, dense: Tensor, data: Tensor, columns: Tensor, ends: Tensor) -> Tensor:
    number, extents = wide(dense.dtype), shape_of(op.results[0])
    rows, height, width = CompressedRows.rows(op.signature, 1, blocks=True)
    if not prod(extents) or not prod(shape(data)) or not prod(shape(dense)):
        return te.full(extents, 0, dense.dtype)
    blocks = shape(data)[0], height, width
    with te.tag_scope(ROWS_APART):
        factors = in_dtype(dense, number, "dense"), in_dtype(data, number, "data")
        total = scripts.sparse_dense(*factors, columns, ends, (rows, *blocks), te.const(0, number))
    if op.signature.get("sparse_lhs"):
        return compute(extents, lambda *i: total(i[1], i[0]).astype(dense.dtype), label(op))
    return rounded(total, dense.dtype)


def sparse_add(op: Operator, dense: Tensor, data: Tensor, columns: Tensor, ends: Tensor) -> Tensor:
    if not prod(shape(data)) or not prod(shape(dense)):
        return compute(shape(dense), lambda *i: dense(*i), label(op))
    number = wide(dense.dtype)
    with te.tag_scope(ROWS_APART):
        total = scripts.sparse_add(in_dtype(dense, number, "dense"), in_dtype(data, number, "data"), columns, ends)
    return rounded(total, dense.dtype)


def sparse_transpose(op: Operator, data: Tensor, columns: Tensor, ends: Tensor) -> tuple[Tensor, ...]:
    rows, _, _ = CompressedRows.rows(op.signature, 0, blocks=False)
    if not rows or not prod(shape(data)):
        return tuple(te.full(shape(x), 0, x.dtype) for x in (data, columns, ends))
    return tuple(scripts.sparse_transpose(data, columns, ends))


def sparse_reshape(op: Operator, indices: Tensor, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    (rank,), (own,), dtype = shape(before), shape(after), after.dtype
    one = te.const(1, "int64")

    def known(*i: Expr) -> Expr:
        """The number that takes the place of -1."""
        elements, rest = one, one
        for k in range(rank):
            elements = elements * before(k).astype("int64")
        for k in range(own):
            extent = after(k).astype("int64")
            rest = rest * te.select(extent.equal(-1), one, extent)
        return te.floordiv(elements, te.maximum(rest, one))

    left = compute((1,), known, "left", keep=True)

    def extent(k: Expr) -> Expr:
        return te.select(after(k).equal(te.const(-1, dtype)), left(0), after(k).astype("int64"))

    new = compute((own,), extent, "extents", keep=True)

    def element(n: Expr, axis: Expr) -> Expr:
        flat = te.const(0, "int64")
        for k in range(rank):
            flat = flat * before(k).astype("int64") + indices(n, k).astype("int64")
        stride = one
        for k in range(own):
            stride = stride * te.select(axis < k, new(k), one)
        quotient = te.floordiv(flat, te.maximum(stride, one))
        return te.floormod(quotient, te.maximum(new(axis), one)).astype(indices.dtype)

    points = compute((shape(indices)[0], own), element, label(op))
    return points, compute((own,), lambda *i: new(*i).astype(dtype), "new_shape")


TABLE = {
    SparseDenseOp: sparse_dense,
    SparseAddOp: sparse_add,
    SparseTransposeOp: sparse_transpose,
    SparseReshapeOp: sparse_reshape,
    SegmentSumOp: segment_sum,
    SparseToDenseOp: sparse_to_dense,
}
