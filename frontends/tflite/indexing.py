"""Gathers and scatters."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherNdOp, OneHotOp, ReverseSequenceOp
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.transform import BroadcastToOp, TakeOp, TransposeOp
from ..importing.converter import Converter
from ..importing.moves import check_inside, gather_along
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, sqrt, term, where
from .context import Context
from .shaping import cut


def gather(ctx: Context) -> SSAValue:
    """Along an axis; the first `BatchDims` axes go along in data and indices."""
    axis, index_rank = ctx.axis(ctx.int("Axis", 0), len(ctx.shape(0))), len(ctx.shape(1))
    batch = ctx.int("BatchDims", 0)
    return gather_along(ctx, axis, batch + index_rank if batch < 0 else batch)


def gather_nd(ctx: Context) -> SSAValue:
    """The coordinates are along the last axis of the indices."""
    indices = ctx.value(1)
    rank = len(shape_of(indices))
    if not rank or shape_of(indices)[-1] > len(ctx.shape(0)):
        ctx.fail(f"points of at most {len(ctx.shape(0))} coordinates", f"shape {list(shape_of(indices))}")
    check_inside(ctx, 1, ctx.shape(0)[: shape_of(indices)[-1]])
    return ctx.emit(GatherNdOp, ctx.value(0), ctx.emit(TransposeOp, indices, axes=(rank - 1, *range(rank - 1))))


def one_hot(ctx: Context) -> SSAValue:
    (depth,) = ctx.known_ints(1, "a depth") or (1,)
    on, off = (reshaped(ctx, ctx.value(k), ()) for k in (2, 3))
    axis, rank = ctx.int("Axis", -1), len(ctx.shape(0))
    return ctx.emit(
        OneHotOp, ctx.value(0), on, off, depth=depth, axis=ctx.axis(axis, rank + 1), dtype=dtype_of(on).name
    )


def reverse_sequence(ctx: Context) -> SSAValue:
    time, batch = ctx.int("SeqDim", 0), ctx.int("BatchDim", 0)
    return ctx.emit(ReverseSequenceOp, ctx.value(0), ctx.value(1), seq_axis=time, batch_axis=batch)


def embedding_lookup(ctx: Context) -> SSAValue:
    """Rows of input 1."""
    check_inside(ctx, 0, ctx.shape(1)[:1])
    return ctx.emit(TakeOp, ctx.value(1), ctx.value(0), axis=0)


_SUM, _MEAN, _SQRTN = range(3)


def embedding_lookup_sparse(ctx: Context) -> SSAValue:
    """Rows of input 4, each times its weight, added up where `indices` say; perhaps divided by what weights add up to.

    Inputs: which rows, where (but for the last coordinate), the shape of that, weights, the table.
    """
    count, rank = ctx.shape(0)[0] if len(ctx.shape(0)) == 1 else -1, len(ctx.shape(1))
    whole = ctx.known_ints(2, "a shape")
    if rank != 2 or ctx.shape(1) != (count, len(whole)) or ctx.shape(3) != (count,) or len(ctx.shape(4)) < 2:
        ctx.fail("ids, as many places and weights, and rows", str([list(ctx.shape(at)) for at in range(5)]))
    check_inside(ctx, 0, ctx.shape(4)[:1])
    check_inside(ctx, 1, whole)
    if not whole or min(whole) < 1:
        ctx.fail("a shape of positive extents", str(list(whole)))
    places = cut(ctx, ctx.value(1), 1, 0, len(whole) - 1)
    points = ctx.emit(TransposeOp, places, axes=(1, 0))
    inner = ctx.shape(4)[1:]
    weights = term(ctx, 3).reshape(count, *[1] * len(inner))
    rows = Term(ctx, ctx.emit(TakeOp, ctx.value(4), ctx.value(0), axis=0)) * weights

    def added(of: Term) -> Term:
        shape = (*whole[:-1], *of.shape[1:])
        ctx.fits(shape, of.dtype)
        ground = ctx.emit(BroadcastToOp, ctx.number(0, "float32"), shape=shape)
        return Term(ctx, ctx.emit(ScatterNdOp, ground, points, of.value, mode="add"))

    total, combiner = added(rows), ctx.int("Combiner", _SUM)
    if combiner == _SUM:
        return total.value
    if combiner not in (_MEAN, _SQRTN):
        ctx.fail("a combiner SUM, MEAN or SQRTN", f"number {combiner}")
    by = added(weights) if combiner == _MEAN else sqrt(added(weights * weights))
    return (total / where(by.equal(0.0), 1.0, by)).value


TABLE = {
    "EMBEDDING_LOOKUP": Converter(embedding_lookup),
    "EMBEDDING_LOOKUP_SPARSE": Converter(embedding_lookup_sparse),
    "GATHER": Converter(gather),
    "GATHER_ND": Converter(gather_nd),
    "ONE_HOT": Converter(one_hot),
    "REVERSE_SEQUENCE": Converter(reverse_sequence),
}
