"""Convolutions and poolings, in the layout of the file or the one that the user wants."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.convolution_transpose import Conv2DTransposeOp, Conv3DTransposeOp
from ...dialects.relay.dilation import Dilation2DOp
from ...dialects.relay.division import FloorModOp
from ...dialects.relay.nn import Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import AvgPool2DOp, AvgPool3DOp, MaxPool2DOp, MaxPool3DOp
from ...dialects.relay.transform import PadOp, ReshapeOp
from ...dialects.relay.window_indices import MaxPoolWithArgmaxOp
from ...dialects.sizes import proves, same, size_max
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, constant
from ..importing.window import Sizes, Window, same_padding
from .context import Context
from .windows import explicit, image_of, layout_of, moved, numbers, ordered, window


def _wanted(ctx: Context, layout: str) -> str:
    """The layout that images are computed in."""
    return "NCHW" if ctx.conversion.layout == "NCHW" and len(layout) == 4 else layout


def conv2d(ctx: Context) -> SSAValue:
    """Kernels HWIO; fewer input channels than the data's are groups."""
    layout, filters = layout_of(ctx), ctx.shape(1)
    image, channels = image_of(ctx, layout), ctx.shape(0)[layout.index("C")]
    if len(filters) != 4 or not all(filters) or not same(channels % filters[2], 0):
        ctx.fail(f"a kernel (height, width, part of {channels}, outputs)", f"shape {list(filters)}")
    sliding, target = window(ctx, layout, image, filters[:2]), _wanted(ctx, layout)
    turned = target == "NCHW"
    result = ctx.emit(
        Conv2DOp,
        moved(ctx, ctx.value(0), layout, target),
        ordered(ctx, 1, (3, 2, 0, 1)) if turned else ctx.value(1),
        strides=sliding.strides,
        padding=sliding.padding,
        dilation=sliding.dilation,
        groups=channels // filters[2],
        channels=filters[3],
        kernel_size=sliding.kernel,
        data_layout=target,
        kernel_layout="OIHW" if turned else "HWIO",
    )
    return moved(ctx, result, target, layout)


def depthwise_conv2d(ctx: Context) -> SSAValue:
    """Kernels (height, width, inputs, multiplier): as many groups as inputs."""
    layout, filters = layout_of(ctx), ctx.shape(1)
    image, channels = image_of(ctx, layout), ctx.shape(0)[layout.index("C")]
    if len(filters) != 4 or not all(filters) or not same(filters[2], channels):
        ctx.fail(f"a kernel (height, width, {channels}, multiplier)", f"shape {list(filters)}")
    sliding, target, outputs = window(ctx, layout, image, filters[:2]), _wanted(ctx, layout), filters[2] * filters[3]
    shape = (*filters[:2], outputs, 1)
    tensor = ctx.tensor(1)
    if filters[3] == 1:
        kernel = ctx.value(1)
    elif tensor.array is None:
        kernel = ctx.emit(ReshapeOp, ctx.value(1), newshape=shape)
    else:
        with ctx.builder.located(tensor.location):
            kernel = ctx.constant(tensor.array.reshape(shape), tensor.name)
    result = ctx.emit(
        Conv2DOp,
        moved(ctx, ctx.value(0), layout, target),
        kernel,
        strides=sliding.strides,
        padding=sliding.padding,
        dilation=sliding.dilation,
        groups=channels,
        channels=outputs,
        kernel_size=sliding.kernel,
        data_layout=target,
        kernel_layout="HWOI",
    )
    return moved(ctx, result, target, layout)


def conv3d(ctx: Context) -> SSAValue:
    """Kernels DHWIO."""
    layout, filters = layout_of(ctx, 3), ctx.shape(1)
    image, channels = image_of(ctx, layout), ctx.shape(0)[layout.index("C")]
    if len(filters) != 5 or not all(filters) or not same(channels % filters[3], 0):
        ctx.fail(f"a kernel (depth, height, width, part of {channels}, outputs)", f"shape {list(filters)}")
    sliding = window(ctx, layout, image, filters[:3])
    result = ctx.emit(
        Conv3DOp,
        moved(ctx, ctx.value(0), layout, "NCDHW"),
        ordered(ctx, 1, (4, 3, 0, 1, 2)),
        strides=sliding.strides,
        padding=sliding.padding,
        dilation=sliding.dilation,
        groups=channels // filters[3],
    )
    return moved(ctx, result, "NCDHW", layout)


def _backward(ctx: Context, layout: str, image: Sizes, kernel: Sizes, wanted: Sizes) -> tuple[Window, Sizes]:
    """The window of a transposed convolution to `wanted` extents, and how much the result grows at its end."""
    strides, dilation = numbers(ctx, "strides", layout), numbers(ctx, "dilations", layout)
    padding = ctx.word("padding", "")
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        ctx.fail("padding SAME, VALID or EXPLICIT", repr(padding))
    # Padding is that of the convolution whose gradient this is.
    total = same_padding(wanted, strides, dilation, kernel) if padding == "SAME" else [0] * len(kernel)
    before = explicit(ctx, layout)[0] if padding == "EXPLICIT" else tuple(n // 2 for n in total)
    whole = [(i - 1) * s + d * (k - 1) + 1 for i, s, d, k in zip(image, strides, dilation, kernel, strict=True)]
    surplus = [w - b - out for w, b, out in zip(whole, before, wanted, strict=True)]
    after = tuple(cast(int, size_max(n, 0)) for n in surplus)
    more = tuple(cast(int, size_max(-n, 0)) for n in surplus)
    return Window(kernel, strides, dilation, before, after), more


def _transposed(op: type[Operator], rank: int) -> Converter[Context]:
    return Converter(lambda ctx: _convolved_back(ctx, op, rank))


def _convolved_back(ctx: Context, op: type[Operator], rank: int) -> SSAValue:
    """Inputs: the result's shape, a kernel (.., outputs, inputs), the data."""
    layout, plain = layout_of(ctx, rank), "NCHW" if rank == 2 else "NCDHW"
    wanted, filters = ctx.known_ints(0, "the result's shape"), ctx.shape(1)
    image = image_of(ctx, layout, 2)
    if len(wanted) == rank:
        # Only the spatial extents may be given.
        wanted = tuple(dict(zip(layout.translate({78: None, 67: None}), wanted, strict=True)).get(a, 1) for a in layout)
    if len(wanted) != len(layout) or len(filters) != rank + 2 or any(proves(size, "<", 0) for size in wanted):
        ctx.fail(f"a result's shape and a kernel of {rank + 2} dimensions", f"{list(wanted)} and {list(filters)}")
    if not same(filters[-1], ctx.shape(2)[layout.index("C")]):
        ctx.fail(f"a kernel for {ctx.shape(2)[layout.index('C')]} channels", f"shape {list(filters)}")
    kept = tuple(size for letter, size in zip(layout, wanted, strict=True) if letter not in "NC")
    sliding, more = _backward(ctx, layout, image, filters[:rank], kept)
    if any(step != 1 for step in sliding.dilation):
        ctx.fail("dilations of 1", str(list(sliding.dilation)))
    result = ctx.emit(
        op,
        moved(ctx, ctx.value(2), layout, plain),
        ordered(ctx, 1, (rank + 1, rank, *range(rank))),
        strides=sliding.strides,
        padding=sliding.padding,
        output_padding=more,
    )
    return moved(ctx, result, plain, layout)


def dilation2d(ctx: Context) -> SSAValue:
    """Padding does not count: it is lower than all numbers."""
    sliding = window(ctx, "NHWC", image_of(ctx, "NHWC"), ctx.shape(1)[:2], dilations="rates")
    data = ctx.value(0)
    if any(not same(n, 0) for n in sliding.padding):
        (top, left), (bottom, right) = sliding.before, sliding.after
        lowest = ctx.number(-np.inf, ctx.dtype(0).name)
        data = ctx.emit(PadOp, data, lowest, pad_width=(0, 0, top, bottom, left, right, 0, 0))
    return ctx.emit(
        Dilation2DOp,
        data,
        ctx.value(1),
        strides=sliding.strides,
        padding=(0, 0, 0, 0),
        dilations=sliding.dilation,
        data_layout="NHWC",
        kernel_layout="HWI",
    )


def _pool(op: type[Operator], rank: int) -> Converter[Context]:
    """Largest or average elements of windows; what is outside the image does not count."""

    def convert(ctx: Context) -> SSAValue:
        layout = layout_of(ctx, rank)
        kernel = numbers(ctx, "ksize", layout)
        sliding, target = window(ctx, layout, image_of(ctx, layout), kernel), _wanted(ctx, layout)
        result = ctx.emit(
            op,
            moved(ctx, ctx.value(0), layout, target),
            pool_size=sliding.kernel,
            strides=sliding.strides,
            padding=sliding.padding,
            layout=target,
        )
        return moved(ctx, result, target, layout)

    return Converter(convert)


def max_pool_with_argmax(ctx: Context) -> tuple[SSAValue, ...]:
    """Places count the elements of an image (NHWC), or with `include_batch_in_index` of all images."""
    kernel = numbers(ctx, "ksize", "NHWC")
    sliding = window(ctx, "NHWC", image_of(ctx, "NHWC"), kernel)
    batch, height, width, channels = ctx.shape(0)
    data = moved(ctx, ctx.value(0), "NHWC", "NCHW")
    result, at = ctx.emit_all(
        MaxPoolWithArgmaxOp,
        data,
        pool_size=sliding.kernel,
        strides=sliding.strides,
        dilation=sliding.dilation,
        padding=sliding.padding,
    )
    places = Term(ctx, moved(ctx, at, "NCHW", "NHWC"))
    # The operator counts row by row in each channel of each image.
    plane = height * width
    spot = places.apply(FloorModOp, plane)
    flat = spot * channels + constant(ctx, cast(Array, np.arange(channels, dtype=np.int64)), "channels")
    if ctx.flag("include_batch_in_index"):
        images = np.arange(batch, dtype=np.int64).reshape(batch, 1, 1, 1) * (plane * channels)
        flat = flat + constant(ctx, cast(Array, images), "images")
    return moved(ctx, result, "NCHW", "NHWC"), flat.to(ctx.element("Targmax", np.dtype("int64"))).value


def bias_add(ctx: Context) -> SSAValue:
    """The bias is along the channels."""
    bias, rank = ctx.value(1), len(ctx.shape(0))
    if ctx.word("data_format", "NHWC").startswith("NC") and rank > 2:
        bias = ctx.emit(ReshapeOp, bias, newshape=(*shape_of(bias), *[1] * (rank - 2)))
    return ctx.emit(ew.AddOp, ctx.value(0), bias)


TABLE = {
    "AvgPool": _pool(AvgPool2DOp, 2),
    "AvgPool3D": _pool(AvgPool3DOp, 3),
    "BiasAdd": Converter(bias_add),
    "BiasAddV1": Converter(bias_add),
    "Conv2D": Converter(conv2d),
    "Conv2DBackpropInput": _transposed(Conv2DTransposeOp, 2),
    "Conv3D": Converter(conv3d),
    "Conv3DBackpropInputV2": _transposed(Conv3DTransposeOp, 3),
    "DepthwiseConv2dNative": Converter(depthwise_conv2d),
    "Dilation2D": Converter(dilation2d),
    "MaxPool": _pool(MaxPool2DOp, 2),
    "MaxPool3D": _pool(MaxPool3DOp, 3),
    "MaxPoolWithArgmax": Converter(max_pool_with_argmax),
}
