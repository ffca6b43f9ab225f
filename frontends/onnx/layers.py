"""Matrix products."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, MultiplyOp
from ...dialects.relay.nn import (
    BatchMatmulOp,
    BiasAddOp,
    DenseOp,
)
from ...dialects.relay.transform import BroadcastToOp, ExpandDimsOp, ReshapeOp, SqueezeOp, TransposeOp
from .context import Context, dtype_of, shape_of
from .converter import Converter


def _scaled(ctx: Context, value: SSAValue, factor: float) -> SSAValue:
    return value if factor == 1.0 else ctx.emit(MultiplyOp, value, ctx.scalar(factor, value))


def gemm(ctx: Context) -> SSAValue:
    """nn.dense, whose weight is (outputs, inputs); then the bias: nn.bias_add if it is 1-d, else add."""
    data = ctx.value(0)
    if ctx.int("transA", 0):
        data = ctx.emit(TransposeOp, data, axes=(1, 0))
    weight = ctx.value(1)
    if not ctx.int("transB", 0):
        weight = ctx.emit(TransposeOp, weight, axes=(1, 0))
    product, own = ctx.emit(DenseOp, data, weight), ctx.dtype(0)
    alpha, beta = ctx.float("alpha", 1.0), ctx.float("beta", 1.0)
    if own.kind in "iu" and not (alpha.is_integer() and beta.is_integer()):
        # A fraction of integers is taken in float64, and the sum is rounded towards zero.
        product = ctx.emit(CastOp, product, dtype="float64")
    result = _scaled(ctx, product, alpha)
    if not ctx.has(2):
        return _as(ctx, result, own)
    return _as(ctx, _with_bias(ctx, result, _scaled(ctx, _as(ctx, ctx.value(2), dtype_of(result)), beta)), own)


def _as(ctx: Context, value: SSAValue, dtype: np.dtype[np.generic]) -> SSAValue:
    return value if dtype_of(value) == dtype else ctx.emit(CastOp, value, dtype=dtype.name)


def _with_bias(ctx: Context, result: SSAValue, bias: SSAValue) -> SSAValue:
    shape = shape_of(result)
    if shape_of(bias) == shape[1:]:
        return ctx.emit(BiasAddOp, result, bias)
    total = ctx.emit(AddOp, result, bias)
    if shape_of(total) != shape:
        ctx.fail(f"a third operand that broadcasts to {list(shape)}", f"shape {list(shape_of(bias))}")
    return total


def matmul(ctx: Context) -> SSAValue:
    """numpy's matmul."""
    return product(ctx, ctx.value(0), ctx.value(1))


def product(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    """Of matrices, or of batches of them: nn.dense on the transposed weight when that is 2-d, else nn.batch_matmul."""
    ranks = len(shape_of(left)), len(shape_of(right))
    if 0 in ranks:
        ctx.fail("operands of at least 1 dimension", f"shapes {list(shape_of(left))} and {list(shape_of(right))}")
    if ranks[0] == 1:
        left = ctx.emit(ExpandDimsOp, left, axis=0)
    if ranks[1] == 1:
        right = ctx.emit(ExpandDimsOp, right, axis=1)
    result = _dense(ctx, left, right) if len(shape_of(right)) == 2 else _batch_matmul(ctx, left, right)
    gone = [axis for axis, rank in ((-2, ranks[0]), (-1, ranks[1])) if rank == 1]
    return ctx.emit(SqueezeOp, result, axis=gone) if gone else result


def _reshaped(ctx: Context, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return value if shape_of(value) == shape else ctx.emit(ReshapeOp, value, newshape=shape, allowzero=1 * (0 in shape))


def _dense(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    *batch, depth = shape_of(left)
    weight = ctx.emit(TransposeOp, right, axes=(1, 0))
    rows = _reshaped(ctx, left, (prod(batch), depth))
    return _reshaped(ctx, ctx.emit(DenseOp, rows, weight), (*batch, shape_of(right)[1]))


def _batch_matmul(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    (*left_batch, m, _), (*right_batch, _, n) = shape_of(left), shape_of(right)
    try:
        batch = np.broadcast_shapes(tuple(left_batch), tuple(right_batch))
    except ValueError:
        ctx.fail("batch dimensions that broadcast", f"{left_batch} and {right_batch}")

    def flat(value: SSAValue) -> SSAValue:
        *own, rows, columns = shape_of(value)
        if prod(own) != 1 and tuple(own) != batch:
            value, own = ctx.emit(BroadcastToOp, value, new_shape=(*batch, rows, columns)), list(batch)
        return _reshaped(ctx, value, (prod(own), rows, columns))

    result = ctx.emit(BatchMatmulOp, flat(left), flat(right), transpose_b=False)
    return _reshaped(ctx, result, (*batch, m, n))


TABLE = {
    "Gemm": Converter(gemm),
    "MatMul": Converter(matmul),
}
