"""Matrix products."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.transform import ReshapeOp
from ..importing.converter import Converter
from ..importing.products import dense, product, reshaped, transposed
from ..importing.tensor import shape_of
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
    return reshaped(ctx, result, (*ctx.shape(0)[:-1], shape_of(result)[1]))


def fully_connected(ctx: Context) -> SSAValue:
    """A reshape to rows, nn.dense, nn.bias_add."""
    result = dense(ctx, rows_of(ctx), ctx.value(1), True)
    if ctx.has(2):
        result = ctx.emit(BiasAddOp, result, ctx.value(2))
    return shaped_back(ctx, fused(ctx, result))


def batch_matmul(ctx: Context) -> SSAValue:
    left, right = ctx.value(0), ctx.value(1)
    if ctx.flag("AdjX"):
        left = transposed(ctx, left)
    if ctx.flag("AdjY"):
        right = transposed(ctx, right)
    return product(ctx, left, right)


TABLE = {
    "BATCH_MATMUL": Converter(batch_matmul),
    "FULLY_CONNECTED": Converter(fully_connected),
}
