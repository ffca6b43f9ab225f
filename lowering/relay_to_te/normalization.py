"""Computes of the normalisations along an axis."""

from __future__ import annotations

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from .stages import compute, of_row, reduced_rows, shape, share_of, wide


def layer_norm(op: Operator, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """The sum of a row, the sum of the squares of what differs from the mean, and what both make of each element."""
    sig = op.signature
    extents, number = shape(data), wide(data.dtype)
    axis = sig.int("axis") % len(extents)
    share = share_of(extents[axis], number)

    def value(*i: Expr) -> Expr:
        return data(*i).astype(number)

    def centred(*i: Expr) -> Expr:
        return value(*i) - of_row(total, axis, i) * share

    def square(*i: Expr) -> Expr:
        difference = centred(*i)
        return difference * difference

    def normalized(*i: Expr) -> Expr:
        variance = of_row(squares, axis, i) * share
        result = centred(*i) * (1.0 / te.sqrt(variance + sig.get("epsilon")))
        if sig.get("scale"):
            result = result * gamma(i[axis]).astype(number)
        if sig.get("center"):
            result = result + beta(i[axis]).astype(number)
        return result.astype(data.dtype)

    total = reduced_rows(value, extents, axis, te.sum, "layer_norm_sum")
    squares = reduced_rows(square, extents, axis, te.sum, "layer_norm_variance")
    return compute(extents, normalized, "layer_norm", tag="layer_norm")


TABLE = {relay.LayerNormOp: layer_norm}
