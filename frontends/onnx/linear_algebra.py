"""Einsum, by matrix products; determinants, triangles and identities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.linear_algebra import (
    DetOp,
    DynamicTimeWarpingOp,
    InverseOp,
    TriluOp,
)
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import Size, SizeExpr
from ...support.dtypes import Array
from ..importing.converter import Converter, Narrowed
from ..importing.einsum import contraction
from ..importing.products import dense
from ..importing.terms import Term, maximum, places, sqrt, term
from .context import Context
from .tensors import dtype_of


def einsum(ctx: Context) -> SSAValue:
    return contraction(ctx, ctx.word("equation", ""), [term(ctx, index) for index in range(len(ctx.inputs))])


def det(ctx: Context) -> SSAValue:
    return ctx.emit(DetOp, ctx.value(0))


def trilu(ctx: Context) -> SSAValue:
    k = ctx.value(1) if ctx.has(1) else ctx.constant(np.asarray(0), "k")
    return ctx.emit(TriluOp, ctx.value(0), k, upper=ctx.flag("upper", True))


def eye_like(ctx: Context) -> Array | SSAValue:
    """Ones on diagonal `k` of a matrix of the input's shape."""
    shape, code = ctx.shape(0), ctx.int("dtype", 0)
    if len(shape) != 2:
        ctx.fail("a matrix", f"shape {list(shape)}")
    dtype = dtype_of(code, f"EyeLike '{ctx.node.output[0]}'") if code else ctx.dtype(0)
    k = ctx.int("k", 0)
    if any(isinstance(extent, SizeExpr) for extent in cast("Sequence[Size]", shape)):
        row, column = (places(ctx, extent, 2, axis) for axis, extent in enumerate(shape))
        return (row + k).equal(column).to(dtype).value
    ctx.fits(shape, dtype)
    return np.eye(*shape, k).astype(dtype)


def inverse(ctx: Context) -> SSAValue:
    return ctx.emit(InverseOp, ctx.value(0))


def cdist(ctx: Context) -> SSAValue:
    """The distances of each row of a matrix from each row of another, by the products of rows."""
    a, b, metric = term(ctx, 0), term(ctx, 1), ctx.word("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        ctx.fail("metric euclidean or sqeuclidean", repr(metric))
    products = dense(ctx, a.value, b.value, True)
    squares = [(x * x).sum(1).reshape(*place) for x, place in ((a, (a.shape[0], 1)), (b, (1, b.shape[0])))]
    distance = maximum(squares[0] + squares[1] - Term(ctx, products) * 2.0, 0.0)
    return (sqrt(distance) if metric == "euclidean" else distance).value


def dynamic_time_warping(ctx: Context) -> Narrowed:
    """The cheapest path through a matrix of costs, or through the one matrix of a batch."""
    costs, shape = ctx.value(0), ctx.shape(0)
    if len(shape) == 3:
        costs = ctx.emit(ReshapeOp, costs, newshape=shape[1:])
    path, count = ctx.emit_all(DynamicTimeWarpingOp, costs)
    return Narrowed(path, count, 1)


TABLE = {
    "Det": Converter(det),
    "Einsum": Converter(einsum),
    "EyeLike": Converter(eye_like),
    "Trilu": Converter(trilu),
}
MICROSOFT = {
    "CDist": Converter(cdist),
    "DynamicTimeWarping": Converter(dynamic_time_warping),
    "Inverse": Converter(inverse),
    "Trilu": Converter(trilu),
}
