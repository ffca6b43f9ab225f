"""Gathers, and tables of rows."""

from __future__ import annotations

from functools import partial

from ...dialects.relay.indexing import ReverseSequenceOp
from ..importing.attributes import Int
from ..importing.rows import row
from ..importing.terms import Term, sqrt, where
from ..meanings.creation import fill
from ..meanings.indices import check_by, gather_nd, one_hot, take
from ..meanings.scatters import scatter_nd
from ..meanings.slices import cut

_SUM, _MEAN, _SQRTN = range(3)


def _embedding_lookup(ids: Term, table: Term) -> Term:
    return take(table, ids, rule="inside")


def _embedding_lookup_sparse(
    ids: Term, points: Term, shape: tuple[int, ...], weights: Term, table: Term, combiner: int
) -> Term:
    """Rows of a table, each times its weight, added up at points; perhaps divided by what weights add up to.

    The last coordinate of a point tells rows apart that are added up.
    """
    if len(ids.shape) != 1 or points.shape != (*ids.shape, len(shape)) or weights.shape != ids.shape:
        ids.ctx.fail("ids, as many places and weights", str([list(x.shape) for x in (ids, points, weights)]))
    if len(table.shape) < 2 or min(shape, default=0) < 1:
        ids.ctx.fail("rows, and a shape of positive extents", f"{list(table.shape)} and {list(shape)}")
    if combiner not in (_SUM, _MEAN, _SQRTN):
        ids.ctx.fail("a combiner SUM, MEAN or SQRTN", f"number {combiner}")
    check_by("inside", points, shape)
    groups = cut(points, 1, 0, len(shape) - 1)
    weights = weights.reshape(*ids.shape, *[1] * (len(table.shape) - 1))

    def added(rows: Term) -> Term:
        ground = fill(rows.ctx, (*shape[:-1], *rows.shape[1:]), rows.number(0))
        return scatter_nd(ground, groups, rows, "add", rule="inside")

    total = added(take(table, ids, rule="inside") * weights)
    if combiner == _SUM:
        return total
    divisor = added(weights) if combiner == _MEAN else sqrt(added(weights * weights))
    return total / where(divisor.equal(0.0), 1.0, divisor)


TABLE = {
    "EMBEDDING_LOOKUP": row(_embedding_lookup, "ids table"),
    "EMBEDDING_LOOKUP_SPARSE": row(
        _embedding_lookup_sparse, "ids indices dense_shape:ints weights table", combiner=Int(_SUM, name="Combiner")
    ),
    "GATHER": row(
        partial(take, rule="inside"), "params indices", axis=Int(0, name="Axis"), batch=Int(0, name="BatchDims")
    ),
    "GATHER_ND": row(partial(gather_nd, rule="inside"), "params indices"),
    "ONE_HOT": row(one_hot, "indices depth:size on off", axis=Int(-1, name="Axis")),
    "REVERSE_SEQUENCE": row(
        ReverseSequenceOp, "input seq_lengths", seq_axis=Int(0, name="SeqDim"), batch_axis=Int(0, name="BatchDim")
    ),
}
