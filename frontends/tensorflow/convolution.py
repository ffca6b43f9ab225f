"""Convolutions and poolings, in the layout of the file or the one that the user wants."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.dilation import Dilation2DOp
from ...dialects.relay.division import FloorModOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import SPATIAL, AvgPool2DOp, AvgPool3DOp, MaxPool2DOp, MaxPool3DOp
from ...dialects.relay.transform import PadOp, ReshapeOp
from ...dialects.relay.window_indices import MaxPoolWithArgmaxOp
from ...dialects.sizes import proves, same
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.moves import arranged
from ..importing.rows import row
from ..importing.tensor import Tensor, shape_of
from ..importing.terms import Term, constant, term
from ..meanings import windows
from ..meanings.windows import Sizes, moved, same_window_back, window_back
from .context import Context
from .windows import explicit, image_of, layout_of, numbers, padding_of, spatial, window


def _wanted(ctx: Context, layout: str) -> str:
    """The layout that images are computed in."""
    return "NCHW" if ctx.conversion.layout == "NCHW" and len(layout) == 4 else layout


def _conv(rank: int) -> Converter[Context]:
    """Kernels HWIO or DHWIO; fewer input channels than the data's are groups."""
    names = ("depth, " * (rank - 2)) + "height, width"

    def convert(ctx: Context, x: Term, kernel: Tensor) -> Term:
        layout, filters = layout_of(ctx, rank), ctx.shape(1)
        image, channels = image_of(ctx, layout), x.shape[layout.index("C")]
        if len(filters) != rank + 2 or not all(filters) or not same(channels % filters[-2], 0):
            ctx.fail(f"a kernel ({names}, part of {channels}, outputs)", f"shape {list(filters)}")
        sliding = window(ctx, layout, image, filters[:rank])
        target = "NCDHW" if rank == 3 else _wanted(ctx, layout)
        turned = target[1] == "C"
        result = windows.conv(
            moved(x, layout, target),
            arranged(ctx, kernel, (rank + 1, rank, *range(rank)) if turned else ()),
            sliding,
            groups=channels // filters[-2],
            channels=filters[-1],
            layout=target,
            kernel_layout="" if turned else "HWIO",
        )
        return moved(result, target, layout)

    return row(convert, "input filter:tensor")


def depthwise_conv2d(ctx: Context, x: Term, kernel: Tensor) -> Term:
    """Kernels (height, width, inputs, multiplier): as many groups as inputs."""
    layout, filters = layout_of(ctx), ctx.shape(1)
    image, channels = image_of(ctx, layout), x.shape[layout.index("C")]
    if len(filters) != 4 or not all(filters) or not same(filters[2], channels):
        ctx.fail(f"a kernel (height, width, {channels}, multiplier)", f"shape {list(filters)}")
    sliding, target, outputs = window(ctx, layout, image, filters[:2]), _wanted(ctx, layout), filters[2] * filters[3]
    result = windows.conv(
        moved(x, layout, target),
        arranged(ctx, kernel, shape=(*filters[:2], outputs, 1)),
        sliding,
        groups=channels,
        channels=outputs,
        layout=target,
        kernel_layout="HWOI",
    )
    return moved(result, target, layout)


def _transposed(rank: int) -> Converter[Context]:
    return row(partial(_convolved_back, rank=rank), "input_sizes:ints filter:tensor out_backprop")


def _convolved_back(ctx: Context, wanted: Sizes, kernel: Tensor, x: Term, rank: int) -> Term:
    """Kernels (.., outputs, inputs)."""
    layout, plain, filters = layout_of(ctx, rank), f"NC{SPATIAL[rank]}", ctx.shape(1)
    image, channels = image_of(ctx, layout, 2), x.shape[layout.index("C")]
    if len(wanted) == rank:
        # Only the spatial extents may be given.
        wanted = tuple(dict(zip(layout.translate({78: None, 67: None}), wanted, strict=True)).get(a, 1) for a in layout)
    if len(wanted) != len(layout) or len(filters) != rank + 2 or any(proves(size, "<", 0) for size in wanted):
        ctx.fail(f"a result's shape and a kernel of {rank + 2} dimensions", f"{list(wanted)} and {list(filters)}")
    if not same(filters[-1], channels):
        ctx.fail(f"a kernel for {channels} channels", f"shape {list(filters)}")
    strides, dilation = numbers(ctx, "strides", layout), numbers(ctx, "dilations", layout)
    columns = (spatial(layout, wanted), image, filters[:rank], strides, dilation)
    match padding_of(ctx):
        case "SAME":
            sliding, more = same_window_back(*columns)
        case "VALID":
            sliding, more = window_back(*columns, (0,) * rank)
        case _:
            sliding, more = window_back(*columns, explicit(ctx, layout)[0])
    if any(step != 1 for step in dilation):
        ctx.fail("dilations of 1", str(list(dilation)))
    weight = arranged(ctx, kernel, (rank + 1, rank, *range(rank)))
    return moved(windows.conv_transpose(moved(x, layout, plain), weight, sliding, more), plain, layout)


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
        result = moved(term(ctx, 0), layout, target).apply(
            op, pool_size=sliding.kernel, strides=sliding.strides, padding=sliding.padding, layout=target
        )
        return moved(result, target, layout).value

    return Converter(convert)


def max_pool_with_argmax(ctx: Context) -> tuple[SSAValue, ...]:
    """Places count the elements of an image (NHWC), or with `include_batch_in_index` of all images."""
    kernel = numbers(ctx, "ksize", "NHWC")
    sliding = window(ctx, "NHWC", image_of(ctx, "NHWC"), kernel)
    batch, height, width, channels = ctx.shape(0)
    result, at = ctx.emit_all(
        MaxPoolWithArgmaxOp,
        moved(term(ctx, 0), "NHWC", "NCHW").value,
        pool_size=sliding.kernel,
        strides=sliding.strides,
        dilation=sliding.dilation,
        padding=sliding.padding,
    )
    places = moved(Term(ctx, at), "NCHW", "NHWC")
    # The operator counts row by row in each channel of each image.
    plane = height * width
    spot = places.apply(FloorModOp, plane)
    flat = spot * channels + constant(ctx, cast(Array, np.arange(channels, dtype=np.int64)), "channels")
    if ctx.flag("include_batch_in_index"):
        images = np.arange(batch, dtype=np.int64).reshape(batch, 1, 1, 1) * (plane * channels)
        flat = flat + constant(ctx, cast(Array, images), "images")
    largest = moved(Term(ctx, result), "NCHW", "NHWC")
    return largest.value, flat.to(ctx.element("Targmax", np.dtype("int64"))).value


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
    "Conv2D": _conv(2),
    "Conv2DBackpropInput": _transposed(2),
    "Conv3D": _conv(3),
    "Conv3DBackpropInputV2": _transposed(3),
    "DepthwiseConv2dNative": row(depthwise_conv2d, "input filter:tensor"),
    "Dilation2D": Converter(dilation2d),
    "MaxPool": _pool(MaxPool2DOp, 2),
    "MaxPool3D": _pool(MaxPool3DOp, 3),
    "MaxPoolWithArgmax": Converter(max_pool_with_argmax),
}
