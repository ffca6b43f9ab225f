"""Einsum, determinants, triangles and identities, distances of rows, and the cheapest path through costs."""

from __future__ import annotations

from ...dialects.relay.linear_algebra import DetOp, DynamicTimeWarpingOp, InverseOp
from ...support.dtypes import Array
from ..importing.attributes import Flag, Int, Word
from ..importing.converter import Narrowed
from ..importing.rows import row
from ..importing.terms import Term, maximum, sqrt
from ..meanings.einsum import einsum
from ..meanings.linear_algebra import eye
from ..meanings.moves import triangle
from ..meanings.products import dense
from .context import Context
from .tensors import dtype_of


def _trilu(x: Term, k: Term | None, upper: bool) -> Term:
    return triangle(x, upper, 0 if k is None else k)


def _eye_like(ctx: Context, code: int, k: int) -> Array | Term:
    """Ones on diagonal `k` of a matrix of the input's shape."""
    shape = ctx.shape(0)
    if len(shape) != 2:
        ctx.fail("a matrix", f"shape {list(shape)}")
    dtype = dtype_of(code, f"EyeLike '{ctx.node.output[0]}'") if code else ctx.dtype(0)
    return eye(ctx, *shape, dtype=dtype, k=k)


def _cdist(a: Term, b: Term, metric: str) -> Term:
    """The distances of each row of a matrix from each row of another, by the products of rows."""
    products = dense(a, b, outputs_first=True)
    squares = [(x * x).sum(1).reshape(*place) for x, place in ((a, (a.shape[0], 1)), (b, (1, b.shape[0])))]
    distance = maximum(squares[0] + squares[1] - products * 2.0, 0.0)
    return sqrt(distance) if metric == "euclidean" else distance


def _dynamic_time_warping(costs: Term) -> Narrowed:
    """The cheapest path through a matrix of costs, or through the one matrix of a batch."""
    costs = costs.reshape(*costs.shape[1:]) if len(costs.shape) == 3 else costs
    path, count = costs.ctx.emit_all(DynamicTimeWarpingOp, costs.value)
    return Narrowed(path, count, 1)


_trilu_row = row(_trilu, "input k?", upper=Flag(True))
TABLE = {
    "Det": row(DetOp, "X"),
    "Einsum": row(einsum, "Inputs*", equation=Word("")),
    "EyeLike": row(_eye_like, "", code=Int(0, name="dtype"), k=Int(0)),
    "Trilu": _trilu_row,
}
MICROSOFT = {
    "CDist": row(_cdist, "A B", metric=Word("sqeuclidean", among=("euclidean", "sqeuclidean"))),
    "DynamicTimeWarping": row(_dynamic_time_warping, "input"),
    "Inverse": row(InverseOp, "X"),
    "Trilu": _trilu_row,
}
