"""Convolutions and matrix products of quantised tensors: sums of integers, rescaled as the reference kernels do."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.nn import BatchMatmulOp, BiasAddOp, DenseOp
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.qnn_products import BatchMatmulOp as QnnBatchMatmulOp
from ...dialects.relay.qnn_products import Conv2DOp as QnnConv2DOp
from ...dialects.relay.qnn_products import DenseOp as QnnDenseOp
from ...dialects.relay.transform import BroadcastToOp
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, term
from ..meanings.moves import swap_last
from .context import Context
from .fixed_point import activation_range, centred, multiplied, multiplied_wide, out_scale, saturated, scale_of
from .products import rows_of, shaped_back
from .windows import conv2d, convolved_back, depthwise_conv2d, ordered

_PRODUCT = 255 * 255
"""The bound of products of two bytes above their zero points."""
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def parameters(ctx: Context, data: int = 0, weight: int = 1) -> list[SSAValue]:
    """Zero points and scales of data and weight, as qnn operators take them."""
    parts: list[SSAValue] = []
    for index in (data, weight):
        zero_point = ctx.quantization(index).zero_point.astype(np.int32)
        parts.append(
            ctx.constant(zero_point if zero_point.any() and len(zero_point) > 1 else zero_point[0], "zero_point")
        )
    for index in (data, weight):
        scale = ctx.quantization(index).scale
        parts.append(ctx.constant(scale if len(scale) > 1 else scale[0], "scale"))
    return parts


def per_output(ctx: Context, data: int = 0, weight: int = 1) -> AnyArray:
    """The real factors of sums, one per output channel, or one."""
    scales = ctx.quantization(weight).scale.astype(np.float64)
    return scale_of(ctx, data) * scales / out_scale(ctx)


def per_tensor(ctx: Context, data: int = 0, weight: int = 1) -> AnyArray:
    """The same of kernels for one scale, which multiply in 32 bits first."""
    scales = ctx.quantization(weight).scale
    product = np.float32(scale_of(ctx, data)) * scales.astype(np.float32)
    return product.astype(np.float64) / out_scale(ctx)


def finished(ctx: Context, total: SSAValue, bias: int, factors: AnyArray, *, narrow: bool = False) -> SSAValue:
    """Sums with their bias, in the numbers of the output.

    narrow: whether sums are of int32 before they are multiplied, and rounded once: those of plain matrix products.
    """
    dtype, quantization = ctx.out().type.lower(), ctx.out_quantization()
    wide = dtype_of(total) == np.int64
    if ctx.has(bias):
        if (own := ctx.info(bias).quantization) is not None and own.zero_point.any():
            ctx.fail("a bias whose zero point is 0", str(own.zero_point.tolist()))
        addend = ctx.value(bias)
        if dtype_of(addend) != dtype_of(total):
            addend = ctx.emit(ew.CastOp, addend, dtype=dtype_of(total).name)
        total = ctx.emit(BiasAddOp, total, addend, axis=len(shape_of(total)) - 1)
    if wide and narrow:
        total, wide = ctx.emit(ew.CastOp, total, dtype="int32"), False
    rounding = "UPWARD" if narrow else "DOUBLE"
    if wide:
        moved = multiplied_wide(ctx, total, factors)
    else:
        moved = multiplied(ctx, total, factors, rounding, _most(ctx, shape_of(total)[-1], bias))
    return saturated(ctx, moved, quantization, dtype, activation_range(ctx, quantization, dtype))


def _most(ctx: Context, outputs: int, bias: int) -> float:
    """Return what sums of products of bytes, with their bias, are not beyond; infinity where nobody knows."""
    if not _small(ctx, 0, 1):
        return inf
    terms = prod(ctx.shape(1)) / outputs
    addend = ctx.known(bias) if ctx.has(bias) else np.zeros(1)
    return inf if addend is None else terms * _PRODUCT + float(np.abs(addend.astype(np.float64)).max(initial=0))


def _small(ctx: Context, *indices: int) -> bool:
    """Return whether what is multiplied are bytes, for which there are operators."""
    return all(ctx.dtype(index) in _BYTES for index in indices)


def _factors(ctx: Context) -> AnyArray:
    single = ctx.info(0).type == "UINT8" and len(ctx.quantization(1).scale) == 1
    return per_tensor(ctx) if single else per_output(ctx)


def conv_2d(ctx: Context) -> SSAValue:
    """qnn.conv2d, the bias, and the factors; of 16 bits a convolution of int64."""
    return finished(ctx, _convolution(ctx, conv2d), 2, _factors(ctx))


def depthwise_conv_2d(ctx: Context) -> SSAValue:
    return finished(ctx, _convolution(ctx, depthwise_conv2d), 2, _factors(ctx))


def _convolution(ctx: Context, of: Callable[..., Term]) -> SSAValue:
    """The sums of a convolution: of int64, where 32 bits may not hold them."""
    if ctx.info(1).type != "UINT8" and ctx.quantization(1).zero_point.any():
        ctx.fail("weights whose zero points are 0", str(ctx.quantization(1).zero_point.tolist()))
    if _small(ctx, 0, 1):
        return of(ctx, term(ctx, 0), *(Term(ctx, number) for number in parameters(ctx)), op=QnnConv2DOp).value
    return of(ctx, centred(ctx, 0, "int64")).value


def fully_connected(ctx: Context) -> SSAValue:
    rows = rows_of(ctx)
    if _small(ctx, 0, 1):
        total = ctx.emit(QnnDenseOp, rows, ctx.value(1), *parameters(ctx))
    else:
        left = Term(ctx, rows).to("int64") - int(ctx.quantization(0).zero_point[0])
        total = ctx.emit(DenseOp, left.value, centred(ctx, 1, "int64").value)
    several = len(ctx.quantization(1).scale) > 1
    factors = per_output(ctx) if several else per_tensor(ctx)
    return shaped_back(ctx, finished(ctx, total, 2, factors, narrow=True))


def batch_matmul(ctx: Context) -> SSAValue:
    sides = zip((term(ctx, 0), term(ctx, 1)), ("AdjX", "AdjY"), strict=True)
    left, right = ((swap_last(x) if ctx.flag(name) else x).value for x, name in sides)
    (*left_batch, m, _), (*right_batch, _, n) = shape_of(left), shape_of(right)
    batch = np.broadcast_shapes(tuple(left_batch), tuple(right_batch))

    def flat(value: SSAValue, own: list[int]) -> SSAValue:
        rows = shape_of(value)[-2:]
        if tuple(own) != batch:
            value = ctx.emit(BroadcastToOp, value, shape=(*batch, *rows))
        return Term(ctx, value).reshape(int(np.prod(batch)), *rows).value

    left, right = flat(left, left_batch), flat(right, right_batch)
    if _small(ctx, 0, 1):
        total = ctx.emit(QnnBatchMatmulOp, left, right, *parameters(ctx), transpose_b=False)
    else:
        operands = [
            (Term(ctx, value).to("int64") - int(ctx.quantization(index).zero_point[0])).value
            for index, value in enumerate((left, right))
        ]
        total = ctx.emit(BatchMatmulOp, *operands, transpose_b=False)
    return finished(ctx, Term(ctx, total).reshape(*batch, m, n).value, 2, per_tensor(ctx))


def transpose_conv(ctx: Context) -> SSAValue:
    """Of int32 (of int64 where the data has 16 bits)."""
    dtype = "int32" if _small(ctx, 1, 2) else "int64"
    data = centred(ctx, 2, dtype)
    weight = ordered(ctx, 1, 3, 0, 1, 2).to(dtype)
    if zero_point := int(ctx.quantization(1).zero_point[0]):
        weight = weight - zero_point
    return finished(ctx, convolved_back(ctx, data, weight).value, 3, per_output(ctx, 2, 1))


QUANTIZED = {
    "BATCH_MATMUL": Converter(batch_matmul),
    "CONV_2D": Converter(conv_2d),
    "DEPTHWISE_CONV_2D": Converter(depthwise_conv_2d),
    "FULLY_CONNECTED": Converter(fully_connected),
    "TRANSPOSE_CONV": Converter(transpose_conv),
}
