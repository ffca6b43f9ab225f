"""Poolings, means and softmax of quantised tensors."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.division import TruncDivideOp
from ...dialects.relay.nn import Conv2DOp
from ...dialects.relay.transform import TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, term, where
from ..meanings import pools
from ..meanings.reductions import reduced
from .context import Context
from .fixed_point import activation_range, centred, factor, out_scale, saturated, scale_of, shifted_product
from .quantized_quotients import softmax_of_16_bits
from .windows import image_of, pool, pooling_window


def _activated(ctx: Context, value: SSAValue) -> SSAValue:
    dtype = ctx.out().type.lower()
    low, high = activation_range(ctx, ctx.out_quantization(), dtype)
    if (low, high) == limits(dtype) and dtype_of(value).name == dtype:
        return value
    return ctx.emit(ew.ClipOp, value, a_min=float(low), a_max=float(high))


def _max_pool_2d(ctx: Context, x: Term) -> SSAValue:
    return _activated(ctx, pool(ctx, pools.MAX, x).value)


def divided(total: Term, count: Term) -> Term:
    """Quotients of int32, halves away from 0."""
    half = count.apply(TruncDivideOp, 2.0)
    up = where(total > 0, total + half, total - half)
    return up.apply(TruncDivideOp, count)


def average_pool_2d(ctx: Context) -> SSAValue:
    """Sums over each window, divided by how many of its elements are in the image."""
    found, image, channels = pooling_window(ctx), image_of(ctx), ctx.shape(0)[3]
    if found.kernel == tuple(image) and not any(found.padding):
        mean = divided(
            term(ctx, 0).to("int32").sum(1, 2), Term(ctx, ctx.constant(np.array(np.prod(image), np.int32), "count"))
        )
        return ctx.emit(ew.CastOp, _activated(ctx, mean.value), dtype=ctx.out().type.lower())
    taps = ctx.constant(np.ones((*found.kernel, channels, 1), np.int32), "taps")
    total = ctx.emit(
        Conv2DOp,
        term(ctx, 0).to("int32").value,
        taps,
        strides=found.strides,
        padding=found.padding,
        groups=channels,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )
    counts: list[np.ndarray] = []
    for axis, extent in enumerate(image):
        places = np.arange(shape_of(total)[1 + axis]) * found.strides[axis] - found.before[axis]
        counts.append(np.minimum(places + found.kernel[axis], extent) - np.maximum(places, 0))
    count = np.maximum(np.outer(*counts), 1).astype(np.int32)
    count = count.reshape(-1)[0] if (count == count.flat[0]).all() else count[None, :, :, None]
    mean = divided(Term(ctx, total), Term(ctx, ctx.constant(np.asarray(count), "count")))
    return ctx.emit(ew.CastOp, _activated(ctx, mean.value), dtype=ctx.out().type.lower())


def _total(ctx: Context) -> Term:
    """The sum above the zero point, over the axes in input 1."""
    return reduced(reduce.SumOp, centred(ctx, 0), ctx.known_ints(1, "axes"), ctx.flag("KeepDims"))


def _count(ctx: Context) -> int:
    shape = ctx.shape(0)
    return int(np.prod([shape[axis] for axis in ctx.axes(1, len(shape))]))


def mean(ctx: Context) -> SSAValue:
    """Sums above the zero point, times a factor that has their number in it."""
    total = _total(ctx)
    multiplier, shift = factor(scale_of(ctx, 0) / out_scale(ctx))
    return _rescaled(ctx, total, *divided_factor(multiplier, shift, _count(ctx)))


def divided_factor(multiplier: int, shift: int, count: int) -> tuple[int, int]:
    """A factor divided by a number, in integers."""
    room = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << room) // count, shift - room


def _rescaled(ctx: Context, total: Term, multiplier: int, shift: int, rounding: str = "DOUBLE") -> SSAValue:
    whole, places = (np.asarray(number, np.int32) for number in (multiplier, shift))
    moved = shifted_product(ctx, total.value, whole, places, rounding)
    return saturated(ctx, moved, ctx.out_quantization(), ctx.out().type.lower())


def sum_(ctx: Context) -> SSAValue:
    total = _total(ctx)
    return _rescaled(ctx, total, *factor(scale_of(ctx, 0) / out_scale(ctx)), rounding="UPWARD")


def softmax(ctx: Context) -> SSAValue:
    """By a table of exponentials of how far a number is below the largest of its row."""
    if ctx.info(0).type == "INT16":
        return softmax_of_16_bits(ctx)
    x = term(ctx, 0).to("int32")
    largest = x.apply(reduce.MaxOp, axis=[-1], keepdims=True)
    below = np.arange(256, dtype=np.float32)
    step = -np.float32(scale_of(ctx, 0)) * np.float32(ctx.float("Beta", 0.0))
    table = ctx.constant(np.exp((step * below).astype(np.float32)).astype(np.float32), "exponentials")
    powers = Term(ctx, ctx.emit(TakeOp, table, (largest - x).value, axis=0))
    inverse = 1.0 / (powers.sum(-1) * out_scale(ctx))
    zero = int(ctx.out_quantization().zero_point[0])
    steps = (powers * inverse + 0.5).apply(ew.FloorOp).to("int32") + zero
    dtype = ctx.out().type.lower()
    return steps.clip(*map(float, limits(dtype))).to(dtype).value


QUANTIZED = {
    "AVERAGE_POOL_2D": Converter(average_pool_2d),
    "MAX_POOL_2D": row(_max_pool_2d, "input"),
    "MEAN": Converter(mean),
    "SOFTMAX": Converter(softmax),
    "SUM": Converter(sum_),
}
