"""Normalisation, dropout."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay.nn import (
    BatchNormOp,
    DropoutOp,
    LayerNormOp,
    LRNOp,
)
from ...dialects.relay.transform import BroadcastToOp
from ...support.dtypes import Array
from .context import Context, shape_of
from .converter import Converter
from .products import reshaped


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
    data = reshaped(ctx, ctx.value(0), (*rows, *flat))
    gamma = _affine(ctx, ctx.value(1), row)
    beta = _affine(ctx, ctx.value(2), row) if ctx.has(2) else gamma
    result = ctx.emit(LayerNormOp, data, gamma, beta, epsilon=ctx.float("epsilon", 1e-5), center=ctx.has(2))
    return reshaped(ctx, result, shape)


def _affine(ctx: Context, value: SSAValue, row: tuple[int, ...]) -> SSAValue:
    """A scale or bias that broadcasts to the normalised axes, as a vector."""
    if shape_of(value) != row:
        value = ctx.emit(BroadcastToOp, value, shape=row)
    return reshaped(ctx, value, (prod(row),))


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
    "LRN": Converter(lrn),
    "LayerNormalization": Converter(layer_norm),
}
