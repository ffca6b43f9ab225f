"""Computes of the operators that put rows or elements where they belong."""

from __future__ import annotations

from math import prod

from ... import te
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.sparse import SegmentSumOp, SparseToDenseOp
from ...te import Expr, Tensor
from . import sparse_scripts as scripts
from .stages import compute, dtype_of, label, rounded, shape, wide
from .transform import flat_index


def _within(place: Expr, extent: int) -> Expr:
    return te.all(place >= 0, place < extent)


def segment_sum(op: Operator, x: Tensor, ids: Tensor) -> Tensor:
    extents, number = shape_of(op.results[0]), wide(x.dtype)
    if not prod(extents) or not prod(shape(x)):
        return compute(extents, lambda *i: te.const(0, x.dtype), label(op))
    segments, width = extents[0], prod(extents[1:])

    def added(total: Expr, given: Tensor, u: Expr, number_there: Expr) -> Expr:
        return te.select(_within(given(u).astype("int64"), segments), total + number_there.astype(number), total)

    def row(given: Tensor, u: Expr) -> Expr:
        return te.minimum(te.maximum(given(u).astype("int64"), 0), segments - 1)

    total = scripts.segment_sum(x, ids, extents, (segments, width, shape(x)[0]), te.const(0, number), row, added)
    return rounded(total, x.dtype)


def sparse_to_dense(op: Operator, indices: Tensor, values: Tensor, default: Tensor | None) -> Tensor:
    extents, dtype, rank = shape_of(op.results[0]), dtype_of(op), len(shape(indices))

    def elsewhere() -> Expr:
        return te.const(0, dtype) if default is None else default(*[0] * len(shape(default)))

    count = prod(shape(values))
    if not count or not prod(extents):
        return compute(extents, lambda *i: elsewhere(), label(op))

    def coordinates(given: Tensor, u: Expr) -> list[Expr]:
        points = [given(u, axis) for axis in range(len(extents))] if rank == 2 else [given(u) if rank else given()]
        return [point.astype("int64") for point in points]

    def place(given: Tensor, u: Expr) -> Expr | int:
        points = zip(coordinates(given, u), extents, strict=True)
        return flat_index([te.minimum(te.maximum(at, 0), extent - 1) for at, extent in points], extents)

    def chosen(old: Expr, new: Expr, given: Tensor, u: Expr) -> Expr:
        points = zip(coordinates(given, u), extents, strict=True)
        return te.select(te.all(*(_within(at, extent) for at, extent in points)), new, old)

    filled = compute(extents, lambda *i: elsewhere(), f"{label(op)}_default", keep=True)
    return scripts.sparse_to_dense(filled, indices, values, (prod(extents), count), place, chosen)


TABLE = {
    SegmentSumOp: segment_sum,
    SparseToDenseOp: sparse_to_dense,
}
