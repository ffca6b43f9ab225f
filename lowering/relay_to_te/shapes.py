"""Computes of the operators on shapes."""

from __future__ import annotations

from math import prod

from ... import te
from ...dialects.relay import shapes as relay
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, shape
from .transform import reshape


def shape_of(op: Operator, x: Tensor) -> Tensor:
    extents, dtype = shape(x), dtype_of(op)

    def element(axis: Expr) -> Expr:
        value = te.const(extents[-1] if extents else 0, dtype)
        for at, extent in enumerate(extents[:-1]):
            value = te.select(axis.equal(at), te.const(extent, dtype), value)
        return value

    return compute((len(extents),), element, label(op))


def ndarray_size(op: Operator, x: Tensor) -> Tensor:
    return compute((), lambda: te.const(prod(shape(x)), dtype_of(op)), label(op))


TABLE = {
    relay.ContribReverseReshapeOp: reshape,
    relay.NdarraySizeOp: ndarray_size,
    relay.ShapeOfOp: shape_of,
}
