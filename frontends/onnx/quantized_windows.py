"""Convolutions of integers, in 1 to 3 dimensions: one row is an image of one row, a volume the sum of its slices."""

from __future__ import annotations

from functools import reduce

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp
from ...dialects.relay.qnn_products import Conv2DOp
from ...dialects.relay.transform import ExpandDimsOp, PadOp, ReshapeOp, SqueezeOp, StridedSliceOp, TransposeOp
from ..importing.tensor import dtype_of, shape_of
from ..meanings.windows import Window
from .context import Context
from .window import window


def convolution(
    ctx: Context,
    data: int,
    weight: int,
    data_zero: SSAValue,
    weight_zero: SSAValue,
    data_scale: SSAValue,
    weight_scale: SSAValue,
) -> SSAValue:
    """The sums of int32 of a convolution of inputs `data` and `weight` above their zero points."""
    shape, kernel = ctx.shape(data), ctx.shape(weight)
    if len(shape) not in (3, 4, 5) or len(kernel) != len(shape):
        ctx.fail("an input and a weight of 3 to 5 dimensions", f"shapes {list(shape)} and {list(kernel)}")
    if (given := ctx.ints("kernel_shape", None)) is not None and given != kernel[2:]:
        ctx.fail(f"kernel_shape {list(kernel[2:])} as the weight has", str(list(given)))
    found = window(ctx, shape[2:], kernel[2:])
    zeros = (_one(ctx, data_zero), _one(ctx, weight_zero), _one(ctx, data_scale), _one(ctx, weight_scale))
    x, w = ctx.value(data), ctx.value(weight)
    match len(shape):
        case 3:
            x, w = (ctx.emit(ExpandDimsOp, value, axis=2) for value in (x, w))
            return ctx.emit(SqueezeOp, _plane(ctx, x, w, zeros, found.row()), axis=(2,))
        case 4:
            return _plane(ctx, x, w, zeros, found)
        case _:
            return _volume(ctx, x, w, zeros, found)


def _one(ctx: Context, value: SSAValue) -> SSAValue:
    return ctx.emit(ReshapeOp, value, newshape=()) if shape_of(value) == (1,) else value


def _plane(ctx: Context, x: SSAValue, w: SSAValue, zeros: tuple[SSAValue, ...], found: Window) -> SSAValue:
    return ctx.emit(
        Conv2DOp,
        x,
        w,
        *zeros,
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        groups=ctx.int("group", 1),
    )


def _volume(ctx: Context, x: SSAValue, w: SSAValue, zeros: tuple[SSAValue, ...], found: Window) -> SSAValue:
    """The slices that a tap of the kernel meets are images of a batch."""
    if found.before[0] or found.after[0]:
        width = [0, 0, 0, 0, found.before[0], found.after[0], 0, 0, 0, 0]
        x = ctx.emit(PadOp, x, ctx.emit(CastOp, zeros[0], dtype=dtype_of(x).name), pad_width=width)
    n, channels, depth, *image = shape_of(x)
    outputs, per_group, taps, *kernel = shape_of(w)
    slices = (depth - found.dilation[0] * (taps - 1) - 1) // found.strides[0] + 1
    sums: list[SSAValue] = []
    for tap in range(taps):
        start, step = tap * found.dilation[0], found.strides[0]
        end = start + (slices - 1) * step + 1
        part = ctx.emit(StridedSliceOp, x, begin=(start,), end=(end,), strides=(step,), axes=(2,))
        part = ctx.emit(TransposeOp, part, axes=(0, 2, 1, 3, 4))
        part = ctx.emit(ReshapeOp, part, newshape=(n * slices, channels, *image))
        own = ctx.emit(StridedSliceOp, w, begin=(tap,), end=(tap + 1,), strides=(1,), axes=(2,))
        own = ctx.emit(ReshapeOp, own, newshape=(outputs, per_group, *kernel))
        sums.append(_plane(ctx, part, own, zeros, found.of(slice(1, None))))
    total = reduce(lambda a, b: ctx.emit(AddOp, a, b), sums)
    total = ctx.emit(ReshapeOp, total, newshape=(n, slices, *shape_of(total)[1:]))
    return ctx.emit(TransposeOp, total, axes=(0, 2, 1, 3, 4))
