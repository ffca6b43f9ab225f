"""Convolutions and poolings: NHWC, with SAME or VALID padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.convolution_transpose import Conv2DTransposeOp, Conv3DTransposeOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.nn import BiasAddOp, Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import AvgPool2DOp, MaxPool2DOp
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, sqrt, term
from ..importing.window import Sizes, Window, same_padding
from .activations import fused
from .context import Context

SAME, VALID = 0, 1
_LONGEST = (1 << 15) - 1
"""The longest stride that the kernels take."""
HW = ("H", "W")
DHW = ("D", "H", "W")


def strides_of(ctx: Context, axes: Sequence[str]) -> Sizes:
    strides = _positive(ctx, [f"Stride{axis}" for axis in axes], "strides")
    if max(strides) > _LONGEST:
        ctx.fail(f"strides up to {_LONGEST}", str(list(strides)))
    return strides


def _positive(ctx: Context, names: Sequence[str], what: str) -> Sizes:
    found = tuple(int(ctx.int(name, 0)) for name in names)
    if min(found) < 1:
        ctx.fail(f"positive {what}", str(list(found)))
    return found


def window(ctx: Context, image: Sizes, kernel: Sizes, *, dilated: bool, axes: Sequence[str] = HW) -> Window:
    """The window of an operator; SAME padding puts an odd element after."""
    strides = strides_of(ctx, axes)
    dilation = _positive(ctx, [f"Dilation{a}Factor" for a in axes], "dilations") if dilated else (1,) * len(axes)
    match ctx.int("Padding", SAME):
        case 0:
            total = same_padding(image, strides, dilation, kernel)
        case 1:
            total = [0] * len(axes)
        case other:
            ctx.fail("padding SAME or VALID", f"number {other}")
    before = tuple(n // 2 for n in total)
    return Window(kernel, strides, dilation, before, tuple(n - b for n, b in zip(total, before, strict=True)))


def image_of(ctx: Context, index: int = 0, rank: int = 2) -> Sizes:
    """The spatial extents of input `index`, which is NHWC (or NDHWC)."""
    shape = ctx.shape(index)
    if len(shape) != rank + 2:
        spatial = "depth, height, width" if rank == 3 else "height, width"
        ctx.fail(f"a {rank + 2}-d input (batch, {spatial}, channels)", f"shape {list(shape)}")
    return shape[1:-1]


def weight(ctx: Context, index: int, arranged: Callable[[Array], Array], axes: Sizes) -> SSAValue:
    """Input `index` with its axes in another order: of a known one its numbers, which stay that tensor's."""
    tensor = ctx.tensor(index)
    if tensor.array is None:
        return ctx.emit(TransposeOp, ctx.value(index), axes=axes)
    with ctx.builder.located(tensor.location):
        return ctx.constant(np.ascontiguousarray(arranged(tensor.array)), tensor.name)


def ordered(ctx: Context, index: int, *axes: int) -> SSAValue:
    """Input `index`, its axes in another order."""
    if len(ctx.shape(index)) != len(axes):
        ctx.fail(f"a {len(axes)}-d weight", f"shape {list(ctx.shape(index))}")
    return weight(ctx, index, lambda array: array.transpose(axes), axes)


def with_bias(ctx: Context, result: SSAValue, index: int = 2) -> SSAValue:
    if not ctx.has(index):
        return result
    return ctx.emit(BiasAddOp, result, ctx.value(index), axis=len(shape_of(result)) - 1)


def conv2d(ctx: Context, op: type[Operator], data: SSAValue, *more: SSAValue) -> SSAValue:
    """A convolution on NHWC and HWIO (the file has OHWI); fewer input channels in the weight are groups."""
    image, filters = image_of(ctx), ctx.shape(1)
    if len(filters) != 4 or not all(filters) or ctx.shape(0)[3] % filters[3]:
        ctx.fail(f"a 4-d weight (outputs, height, width, part of {ctx.shape(0)[3]})", f"shape {list(filters)}")
    found = window(ctx, image, filters[1:3], dilated=True)
    return ctx.emit(
        op,
        data,
        _as_wide(ctx, ordered(ctx, 1, 1, 2, 3, 0), data),
        *more,
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        groups=ctx.shape(0)[3] // filters[3],
        channels=filters[0],
        kernel_size=found.kernel,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )


def depthwise_conv2d(ctx: Context, op: type[Operator], data: SSAValue, *more: SSAValue) -> SSAValue:
    """As many groups as input channels, on NHWC and HWOI (the file has 1, height, width, outputs)."""
    image, filters, channels = image_of(ctx), ctx.shape(1), ctx.shape(0)[3]
    if len(filters) != 4 or filters[0] != 1 or not channels or not all(filters) or filters[3] % channels:
        ctx.fail(f"a 4-d weight (1, height, width, a multiple of {channels})", f"shape {list(filters)}")
    found = window(ctx, image, filters[1:3], dilated=True)
    shape = (*filters[1:], 1)
    if ctx.tensor(1).array is None:
        kernel = ctx.emit(ReshapeOp, ctx.value(1), newshape=shape)
    else:
        kernel = weight(ctx, 1, lambda array: array.reshape(shape), ())
    return ctx.emit(
        op,
        data,
        _as_wide(ctx, kernel, data),
        *more,
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        groups=channels,
        channels=filters[3],
        kernel_size=found.kernel,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


def _as_wide(ctx: Context, kernel: SSAValue, data: SSAValue) -> SSAValue:
    """A kernel of bytes as sums of wider integers take it."""
    dtype = dtype_of(data)
    return ctx.emit(CastOp, kernel, dtype=dtype.name) if dtype.name in ("int32", "int64") else kernel


def conv_2d(ctx: Context) -> SSAValue:
    return fused(ctx, with_bias(ctx, conv2d(ctx, Conv2DOp, ctx.value(0))))


def depthwise_conv_2d(ctx: Context) -> SSAValue:
    return fused(ctx, with_bias(ctx, depthwise_conv2d(ctx, Conv2DOp, ctx.value(0))))


def conv_3d(ctx: Context) -> SSAValue:
    """On NDHWC and DHWIO, as the file has them."""
    image, filters = image_of(ctx, rank=3), ctx.shape(1)
    if len(filters) != 5 or not filters[3] or ctx.shape(0)[4] % filters[3]:
        ctx.fail(f"a 5-d weight (depth, height, width, part of {ctx.shape(0)[4]}, outputs)", f"shape {list(filters)}")
    found = window(ctx, image, filters[:3], dilated=True, axes=DHW)
    data = ctx.emit(TransposeOp, ctx.value(0), axes=(0, 4, 1, 2, 3))
    kernel = ordered(ctx, 1, 4, 3, 0, 1, 2)
    result = ctx.emit(
        Conv3DOp,
        data,
        kernel,
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        groups=ctx.shape(0)[4] // filters[3],
    )
    return fused(ctx, with_bias(ctx, ctx.emit(TransposeOp, result, axes=(0, 2, 3, 4, 1))))


def transposed_window(
    ctx: Context, image: Sizes, kernel: Sizes, wanted: Sizes, axes: Sequence[str]
) -> tuple[Window, Sizes]:
    """The window of a transposed convolution to `wanted` extents, and how much the result grows at its end."""
    strides, same = strides_of(ctx, axes), ctx.int("Padding", SAME) == SAME
    before: list[int] = []
    after: list[int] = []
    more: list[int] = []
    for extent, k, s, out in zip(image, kernel, strides, wanted, strict=True):
        # Padding is that of the convolution whose gradient this is.
        total = max((-(-out // s) - 1) * s + k - out, 0) if same else 0
        before.append(total // 2)
        surplus = (extent - 1) * s + k - total // 2 - out
        after.append(max(surplus, 0))
        more.append(max(-surplus, 0))
    return Window(kernel, strides, (1,) * len(axes), tuple(before), tuple(after)), tuple(more)


def transpose_conv(ctx: Context) -> SSAValue:
    """Inputs: the output's shape, a weight (outputs, height, width, inputs), the data, and perhaps a bias."""
    result = convolved_back(ctx, ctx.value(2), ordered(ctx, 1, 3, 0, 1, 2))
    return fused(ctx, with_bias(ctx, result, 3))


def convolved_back(ctx: Context, data: SSAValue, kernel: SSAValue) -> SSAValue:
    wanted = ctx.known_ints(0, "the output's shape")
    image, filters = image_of(ctx, 2), ctx.shape(1)
    if len(wanted) != 4 or min(wanted) < 1 or wanted[3] != filters[0]:
        ctx.fail(f"an output's shape of 4 dimensions, {filters[0]} channels", str(list(wanted)))
    found, more = transposed_window(ctx, image, filters[1:3], wanted[1:3], HW)
    result = ctx.emit(
        Conv2DTransposeOp,
        ctx.emit(TransposeOp, data, axes=(0, 3, 1, 2)),
        kernel,
        strides=found.strides,
        padding=found.padding,
        output_padding=more,
    )
    return ctx.emit(TransposeOp, result, axes=(0, 2, 3, 1))


def conv_3d_transpose(ctx: Context) -> SSAValue:
    wanted = ctx.known_ints(0, "the output's shape")
    image, filters = image_of(ctx, 2, 3), ctx.shape(1)
    if len(wanted) != 5 or len(filters) != 5 or min(wanted) < 1:
        ctx.fail("an output's shape and a weight of 5 dimensions", f"{list(wanted)} and {list(filters)}")
    found, more = transposed_window(ctx, image, filters[:3], wanted[1:4], DHW)
    result = ctx.emit(
        Conv3DTransposeOp,
        ctx.emit(TransposeOp, ctx.value(2), axes=(0, 4, 1, 2, 3)),
        ordered(ctx, 1, 4, 3, 0, 1, 2),
        strides=found.strides,
        padding=found.padding,
        output_padding=more,
    )
    return fused(ctx, with_bias(ctx, ctx.emit(TransposeOp, result, axes=(0, 2, 3, 4, 1)), 3))


def pooling_window(ctx: Context) -> Window:
    kernel = _positive(ctx, ("FilterHeight", "FilterWidth"), "windows")
    return window(ctx, image_of(ctx), kernel, dilated=False)


def pool(ctx: Context, op: type[Operator], value: SSAValue) -> SSAValue:
    found = pooling_window(ctx)
    return ctx.emit(op, value, pool_size=found.kernel, strides=found.strides, padding=found.padding, layout="NHWC")


def average_pool_2d(ctx: Context) -> SSAValue:
    """Average each window; what is outside the image does not count."""
    return fused(ctx, pool(ctx, AvgPool2DOp, ctx.value(0)))


def max_pool_2d(ctx: Context) -> SSAValue:
    return fused(ctx, pool(ctx, MaxPool2DOp, ctx.value(0)))


def l2_pool_2d(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    return fused(ctx, sqrt(Term(ctx, pool(ctx, AvgPool2DOp, (x * x).value))).value)


TABLE = {
    "AVERAGE_POOL_2D": Converter(average_pool_2d),
    "CONV_2D": Converter(conv_2d),
    "CONV_3D": Converter(conv_3d),
    "CONV_3D_TRANSPOSE": Converter(conv_3d_transpose),
    "DEPTHWISE_CONV_2D": Converter(depthwise_conv_2d),
    "L2_POOL_2D": Converter(l2_pool_2d),
    "MAX_POOL_2D": Converter(max_pool_2d),
    "TRANSPOSE_CONV": Converter(transpose_conv),
}
