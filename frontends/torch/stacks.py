"""Tensors of at least so many dimensions, stacks, all pairs, and sums and extremes of all that comes before."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np

from ...dialects.relay.elementwise import CopyOp, IsNanOp, LogicalNotOp
from ...dialects.relay.logic import LogicalAndOp, LogicalOrOp
from ...dialects.relay.reduce import SumOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.attributes import Float, Int, Stated
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of, constant, places, where
from ..meanings import moves
from ..meanings.products import matmul, with_addend
from ..meanings.reductions import norm
from ..meanings.slices import cut
from .context import Context
from .promotion import floating, kind_of, meeting


def _at_least(rank: int) -> Converter[Context]:
    def all_at_least(*xs: Term) -> tuple[Term, ...]:
        return tuple(moves.at_least(x, rank) for x in xs)

    return row(all_at_least, "tensors*")


def _all_pairs(*rows: Term) -> Term:
    """Each choice of one element of each of several rows."""
    if len(rows) == 1:
        return rows[0].apply(CopyOp)
    extents = [row.shape[0] for row in rows]
    apart = (moves.shaped(x, [n if axis == at else 1 for axis, n in enumerate(extents)]) for at, x in enumerate(rows))
    return moves.stack(*(moves.flat(moves.broadcast_to(x, extents)) for x in apart), axis=1)


def _sum_of_products(addend: Term, a: Term, b: Term, alpha: float, beta: float) -> Term:
    """beta * self + alpha * the sum of the products of a batch."""
    return with_addend(matmul(a, b).apply(SumOp, axis=(0,), keepdims=False), addend, alpha, beta)


def _distance(a: Term, b: Term, p: float) -> Term:
    return norm(a - b, p)


def _running(x: Term, axis: int, smallest: bool) -> tuple[Term, Term]:
    """The extreme of all up to each element along an axis, and the place of the last that is it.

    In steps that look twice as far back each time.
    """
    ctx, axis, rank = x.ctx, axis_of(x, axis), len(x.shape)
    if not rank:
        return x.apply(CopyOp), constant(ctx, np.zeros((), np.int64), "places")
    extent = x.shape[axis]
    if isinstance(cast(Size, extent), SizeExpr):
        ctx.fail("an axis of known extent", str(extent))
    value = x.to("int32") if x.dtype.kind == "b" else x.apply(CopyOp)
    order = moves.broadcast_to(places(ctx, extent, rank, axis), x.shape)
    back = 1
    while back < extent:
        before, here = _apart(value, axis, back)
        stays = before < here if smallest else before > here
        if kind_of(value.dtype) == 2:
            lost, missing = before.apply(IsNanOp), here.apply(IsNanOp)
            stays = stays.apply(LogicalOrOp, lost).apply(LogicalAndOp, missing.apply(LogicalNotOp))
        value, order = (_chosen(stays, part, axis, back) for part in (value, order))
        back *= 2
    return value.to(x.dtype), order


def _apart(x: Term, axis: int, back: int) -> tuple[Term, Term]:
    """The elements so far before others, and those others."""
    return cut(x, axis, 0, x.shape[axis] - back), cut(x, axis, back, x.shape[axis])


def _chosen(stays: Term, x: Term, axis: int, back: int) -> Term:
    """Elements, or where `stays` holds those so far before them."""
    return moves.concatenate(cut(x, axis, 0, back), where(stays, *_apart(x, axis, back)), axis=axis)


TABLE: dict[str, Converter[Context]] = {
    **{f"aten.atleast_{rank}d.default": row(partial(moves.at_least, rank=rank), "self") for rank in (1, 2, 3)},
    **{f"aten.atleast_{rank}d.Sequence": _at_least(rank) for rank in (1, 2, 3)},
    "aten.addbmm.default": row(_sum_of_products, "self batch1 batch2", alpha=Stated(1), beta=Stated(1)),
    "aten.cartesian_prod.default": row(_all_pairs, "tensors*"),
    "aten.cummax.default": row(partial(_running, smallest=False), "self", axis=Int(name="dim")),
    "aten.cummin.default": row(partial(_running, smallest=True), "self", axis=Int(name="dim")),
    "aten.dist.default": meeting(_distance, dtype=floating, p=Float(2.0)),
}
