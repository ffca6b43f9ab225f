"""Convolutions and poolings, in the layout of the file or the one that the user wants."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay.dilation import Dilation2DOp
from ...dialects.relay.division import FloorModOp
from ...dialects.relay.pooling import SPATIAL
from ...dialects.sizes import proves, same
from ..importing.attributes import Element, Flag, Word
from ..importing.converter import Converter
from ..importing.moves import arranged
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term, places
from ..meanings import pads, pools, windows
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


def _dilation2d(ctx: Context, x: Term, kernel: Term) -> Term:
    """Padding does not count: it is lower than all numbers."""
    sliding = window(ctx, "NHWC", image_of(ctx, "NHWC"), kernel.shape[:2], dilations="rates")
    if any(not same(n, 0) for n in sliding.padding):
        x = pads.padded(x, [(0, 0), *zip(sliding.before, sliding.after, strict=True), (0, 0)], -np.inf)
    strides, dilations = sliding.strides, sliding.dilation
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWI"}
    return x.apply(Dilation2DOp, kernel, strides=strides, padding=(0, 0, 0, 0), dilations=dilations, **layouts)


def _pool(ops: pools.ByRank, rank: int) -> Converter[Context]:
    """Largest or average elements of windows; what is outside the image does not count."""

    def convert(ctx: Context, x: Term) -> Term:
        layout = layout_of(ctx, rank)
        kernel = numbers(ctx, "ksize", layout)
        sliding, target = window(ctx, layout, image_of(ctx, layout), kernel), _wanted(ctx, layout)
        return moved(pools.pool(ops, moved(x, layout, target), sliding, target), target, layout)

    return row(convert, "value")


def _max_pool_with_places(ctx: Context, x: Term, of_all: bool, dtype: np.dtype[Any]) -> tuple[Term, Term]:
    """Places count the elements of an image (NHWC), or of all images."""
    sliding = window(ctx, "NHWC", image_of(ctx, "NHWC"), numbers(ctx, "ksize", "NHWC"))
    batch, height, width, channels = x.shape
    largest, at = (
        moved(part, "NCHW", "NHWC") for part in pools.max_pool_with_places(moved(x, "NHWC", "NCHW"), sliding)
    )
    # The operator counts row by row in each channel of each image.
    plane = height * width
    flat = at.apply(FloorModOp, plane) * channels + places(ctx, channels)
    if of_all:
        flat = flat + places(ctx, batch, 4) * (plane * channels)
    return largest, flat.to(dtype)


def _bias_add(x: Term, bias: Term, layout: str) -> Term:
    """The bias is along the channels."""
    rank = len(x.shape)
    return x + (bias.reshape(*bias.shape, *[1] * (rank - 2)) if layout.startswith("NC") and rank > 2 else bias)


_BIAS_ADD = row(_bias_add, "value bias", layout=Word("NHWC", name="data_format"))
TABLE = {
    "AvgPool": _pool(pools.AVERAGE, 2),
    "AvgPool3D": _pool(pools.AVERAGE, 3),
    "BiasAdd": _BIAS_ADD,
    "BiasAddV1": _BIAS_ADD,
    "Conv2D": _conv(2),
    "Conv2DBackpropInput": _transposed(2),
    "Conv3D": _conv(3),
    "Conv3DBackpropInputV2": _transposed(3),
    "DepthwiseConv2dNative": row(depthwise_conv2d, "input filter:tensor"),
    "Dilation2D": row(_dilation2d, "input filter"),
    "MaxPool": _pool(pools.MAX, 2),
    "MaxPool3D": _pool(pools.MAX, 3),
    "MaxPoolWithArgmax": row(
        _max_pool_with_places,
        "input",
        of_all=Flag(False, name="include_batch_in_index"),
        dtype=Element(np.dtype("int64"), name="Targmax"),
    ),
}
