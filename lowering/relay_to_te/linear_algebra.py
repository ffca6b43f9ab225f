"""Computes of sums of products by index letters, of determinants, and of triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import te
from ...dialects.relay import linear_algebra as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import same
from ...te import Expr, Tensor
from . import linear_algebra_scripts as scripts
from .stages import ROWS_APART, compute, dtype_of, label, rounded, shape, wide
from .transform import flat_index, unflatten


def einsum(op: Operator, data: Sequence[Tensor]) -> Tensor:
    """The sum, over the letters that the result lacks, of the product of the operands."""
    equation, dtype = relay.EinsumOp.parsed(op.signature), dtype_of(op)
    number = wide(dtype)
    k = {
        name: te.reduce_axis((0, equation.extents[name]), name=f"k{position}")
        for position, name in enumerate(equation.summed)
    }

    def element(*i: Expr) -> Expr:
        at = {**dict(zip(equation.result, i, strict=True)), **k}
        product: Expr | None = None
        for tensor, names in zip(data, equation.operands, strict=True):
            point = [0 if same(extent, 1) else at[name] for name, extent in zip(names, shape(tensor), strict=True)]
            factor = tensor(*point).astype(number)
            product = factor if product is None else product * factor
        assert product is not None
        return te.sum(product, axis=list(k.values())) if k else product

    return rounded(compute(equation.shape, element, label(op), tag="comm_reduce" if k else ""), dtype)


def det(op: Operator, data: Tensor) -> Tensor:
    number, extents = wide(data.dtype), shape(data)
    if number != data.dtype:
        data = compute(extents, lambda *i: data(*i).astype(number), "wide")
    batch = extents[:-2]
    with te.tag_scope(ROWS_APART):
        determinants = scripts.determinants(data, prod(batch), extents[-1], number, te.const(1, number))
    if shape(determinants) == batch and number == dtype_of(op):
        return determinants

    def element(*i: Expr) -> Expr:
        return determinants(*unflatten(flat_index(i, batch), shape(determinants))).astype(dtype_of(op))

    return compute(batch, element, label(op))


def inverse(op: Operator, data: Tensor) -> Tensor:
    number, extents = wide(data.dtype), shape(data)
    wider = compute(extents, lambda *i: data(*i).astype(number), "wide")
    with te.tag_scope(ROWS_APART):
        inverses = scripts.inverses(wider, prod(extents[:-2]), extents[-1], number, te.const(1, number))

    def element(*i: Expr) -> Expr:
        *batch, row, column = i
        return inverses(flat_index(batch, extents[:-2]) if batch else 0, row, column).astype(dtype_of(op))

    return compute(extents, element, label(op))


def dynamic_time_warping(op: Operator, data: Tensor) -> tuple[Tensor, Tensor]:
    number = wide(data.dtype)

    def widened(x: Expr) -> Expr:
        return x.astype(number)

    path, count = scripts.warped(data, *shape(data), number, widened, te.const(float("inf"), number))
    return path, compute((), lambda: count(0), label(op))


def trilu(op: Operator, data: Tensor, k: Tensor) -> Tensor:
    upper = op.signature.get("upper")

    def element(*i: Expr) -> Expr:
        above = (i[-1] - i[-2]).astype("int64") - k(*[0] * len(shape(k))).astype("int64")
        return te.select(above >= 0 if upper else above <= 0, data(*i), te.const(0, data.dtype))

    return compute(shape_of(op.results[0]), element, label(op))


TABLE = {
    relay.DetOp: det,
    relay.DynamicTimeWarpingOp: dynamic_time_warping,
    relay.EinsumOp: einsum,
    relay.InverseOp: inverse,
    relay.TriluOp: trilu,
}
