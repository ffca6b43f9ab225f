"""Matrix products."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.transform import ReshapeOp
from ..importing.attributes import Flag
from ..importing.rows import row
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings.products import dense, matmul
from .activations import fused
from .context import Context

_PLAIN_WEIGHTS = 0


def rows_of(ctx: Context) -> SSAValue:
    """Input 0 as rows of as many columns as the weight (units, columns) has."""
    filters, shape = ctx.shape(1), ctx.shape(0)
    if ctx.int("WeightsFormat", _PLAIN_WEIGHTS) != _PLAIN_WEIGHTS:
        ctx.fail("weights in rows", "weights in shuffled blocks")
    if len(filters) != 2 or not filters[1] or prod(shape) % filters[1]:
        ctx.fail("a weight (units, columns) that divides the data", f"shapes {list(filters)} and {list(shape)}")
    return ctx.emit(ReshapeOp, ctx.value(0), newshape=(prod(shape) // filters[1], filters[1]))


def shaped_back(ctx: Context, result: SSAValue) -> SSAValue:
    """Rows as the options want them: with the dimensions of the data, or as they are."""
    if not ctx.flag("KeepNumDims"):
        return result
    return Term(ctx, result).reshape(*ctx.shape(0)[:-1], shape_of(result)[1]).value


def _fully_connected(ctx: Context, x: Term, weight: Term, bias: Term | None) -> SSAValue:
    """`dense` of rows."""
    rows = dense(Term(ctx, rows_of(ctx)), weight, bias, outputs_first=True)
    return shaped_back(ctx, fused(ctx, rows.value))


TABLE = {
    "BATCH_MATMUL": row(
        matmul, "x y", transpose_left=Flag(False, name="AdjX"), transpose_right=Flag(False, name="AdjY")
    ),
    "FULLY_CONNECTED": row(_fully_connected, "input weights bias?"),
}
