"""Normalisation, matrix products, softmax, dropout."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, MultiplyOp
from ...dialects.relay.nn import (
    BatchMatmulOp,
    BatchNormOp,
    BiasAddOp,
    DenseOp,
    DropoutOp,
    LayerNormOp,
    LRNOp,
)
from ...dialects.relay.transform import BroadcastToOp, ExpandDimsOp, ReshapeOp, SqueezeOp, TransposeOp
from ...support.dtypes import Array
from .context import Context, dtype_of, shape_of
from .converter import Converter


def batch_norm(ctx: Context) -> SSAValue:
    """nn.batch_norm, of which the normalised data is taken. Training is refused."""
    if ctx.int("training_mode", 0) or any(ctx.node.output[1:]):
        ctx.fail("inference mode with one output", f"training mode, outputs {list(ctx.node.output)}")
    if not ctx.int("spatial", 1):
        ctx.fail("spatial=1 (one mean and variance per channel)", "spatial=0")
    return ctx.emit(BatchNormOp, *ctx.values(), epsilon=ctx.float("epsilon", 1e-5))


def layer_norm(ctx: Context) -> SSAValue:
    """nn.layer_norm along the last axis; several normalised axes become one and come back. Y is the one output."""
    if any(ctx.node.output[1:]):
        ctx.fail("one output", f"outputs {list(ctx.node.output)}")
    if (stash := ctx.int("stash_type", 1)) != TensorProto.FLOAT:
        ctx.fail("stash_type 1 (statistics in float32)", str(stash))
    shape, axis = ctx.shape(0), ctx.int("axis", -1)
    if not -len(shape) <= axis < len(shape):
        ctx.fail(f"axis in [{-len(shape)}, {len(shape)})", str(axis))
    rows, row = shape[: axis % len(shape)], shape[axis % len(shape) :]
    flat = (prod(row),)
    data = _reshaped(ctx, ctx.value(0), (*rows, *flat))
    gamma = _affine(ctx, ctx.value(1), row)
    beta = _affine(ctx, ctx.value(2), row) if ctx.has(2) else gamma
    result = ctx.emit(LayerNormOp, data, gamma, beta, epsilon=ctx.float("epsilon", 1e-5), center=ctx.has(2))
    return _reshaped(ctx, result, shape)


def _affine(ctx: Context, value: SSAValue, row: tuple[int, ...]) -> SSAValue:
    """A scale or bias that broadcasts to the normalised axes, as a vector."""
    if shape_of(value) != row:
        value = ctx.emit(BroadcastToOp, value, shape=row)
    return _reshaped(ctx, value, (prod(row),))


def lrn(ctx: Context) -> SSAValue:
    """nn.lrn; the defaults are ONNX's, not TVM's."""
    if (size := ctx.int("size", 0)) < 1:
        ctx.fail("a size of at least 1", str(size))
    return ctx.emit(
        LRNOp,
        ctx.value(0),
        size=size,
        bias=ctx.float("bias", 1.0),
        alpha=ctx.float("alpha", 1e-4),
        beta=ctx.float("beta", 0.75),
    )


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
    """numpy's matmul: nn.dense on the transposed weight when that is 2-d, else nn.batch_matmul."""
    left, right = ctx.value(0), ctx.value(1)
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


def dropout(ctx: Context) -> tuple[SSAValue, Array] | SSAValue:
    """nn.dropout, which lets the data through; the mask, if wanted, is all true (all one before opset 10)."""
    if ctx.opset < 12:
        rate = ctx.float("ratio", 0.5)
    else:
        rate = float(ctx.array(1, "ratio")) if ctx.has(1) else 0.5
        if ctx.has(2) and bool(ctx.array(2, "training_mode")) and rate:
            ctx.fail("inference mode", f"training mode with ratio {rate}")
    result = ctx.emit(DropoutOp, ctx.value(0), rate=rate)
    if not any(ctx.node.output[1:]):
        return result
    one = np.ones((), np.bool_ if ctx.opset >= 10 else ctx.dtype(0))
    return result, np.broadcast_to(one, ctx.shape(0))


TABLE = {
    "BatchNormalization": Converter(batch_norm),
    "Dropout": Converter(dropout),
    "Gemm": Converter(gemm),
    "LRN": Converter(lrn),
    "LayerNormalization": Converter(layer_norm),
    "MatMul": Converter(matmul),
}
