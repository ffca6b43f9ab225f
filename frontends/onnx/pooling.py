"""Poolings of one to three spatial axes. Global ones of other ranks than 4 become reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AbsOp, MultiplyOp, PowerOp, SqrtOp
from ...dialects.relay.nn import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
    Pool,
)
from ...dialects.relay.operator import Operator
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.transform import MaxOp, MeanOp, PadOp, ReshapeOp, SumOp, TransposeOp
from ...dialects.relay.window_indices import MaxPoolWithArgmaxOp
from ...dialects.sizes import proves, same, same_shape, symbols_of
from ..importing.converter import Converter, convert_all_parts
from ..importing.tensor import Tensor
from ..meanings.windows import Sizes, Window
from .context import Context
from .known import filled_value
from .window import explicit_pads, image_of, window

ByRank = Mapping[int, type[Operator]]
MAX_POOL: ByRank = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
AVG_POOL: ByRank = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}


def _window(ctx: Context) -> tuple[Sizes, Window, Sizes]:
    """The image, the window, and how far the last one reaches beyond the image and its padding."""
    image = image_of(ctx)
    # Beside another auto_pad than NOTSET, onnxruntime's poolings do not look at pads.
    ctx.ignore("pads")
    found = window(ctx, image, ctx.ints("kernel_shape", count=len(image), least=1))
    spans = [d * (size - 1) + 1 for d, size in zip(found.dilation, found.kernel, strict=True)]
    if any(proves(pad, ">=", span) for pad, span in zip(found.before + found.after, spans + spans, strict=True)):
        # A window of padding only has no element.
        ctx.fail(f"pads smaller than the window, {spans}", str([*found.before, *found.after]))
    return image, found, found.outgrowth(image) if ctx.is_one("ceil_mode") else _shortfall(ctx, found, image)


def _shortfall(ctx: Context, window: Window, image: Sizes) -> Sizes:
    """Return how far the only window of each axis reaches beyond a padded image that is smaller.

    There is one where less than a stride is missing, as onnxruntime divides towards zero; else there is none. An
    image of symbolic size has to be as large as a window, which the program asks of every call.
    """

    def missing(axis: int) -> int:
        span = window.dilation[axis] * (window.kernel[axis] - 1) + 1
        lack = span - (image[axis] + window.before[axis] + window.after[axis])
        if proves(lack, "<=", 0):
            return 0
        if symbols_of(lack):
            ctx.require(-lack)
            return 0
        return lack if lack < window.strides[axis] else 0

    return tuple(missing(axis) for axis in range(len(image)))


def _padded(ctx: Context, data: SSAValue, before: Sizes, after: Sizes) -> SSAValue:
    """Zeros around the image."""
    if all(same(width, 0) for width in before + after):
        return data
    width = (0, 0, 0, 0, *(w for pair in zip(before, after, strict=True) for w in pair))
    return ctx.emit(PadOp, data, ctx.scalar(0.0, data), pad_width=width)


def _emit(
    ctx: Context, ops: ByRank, data: SSAValue, found: Window, before: Sizes, after: Sizes, **extra: bool
) -> SSAValue:
    return ctx.emit(
        ops[len(found.kernel)],
        data,
        pool_size=found.kernel,
        strides=found.strides,
        dilation=found.dilation,
        padding=(*before, *after),
        **extra,
    )


def max_pool(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
    """nn.max_pool1d, 2d or 3d, or nn.max_pool_with_argmax; `ceil_mode` becomes padding after the image."""
    _, found, beyond = _window(ctx)
    if any(ctx.node.output[1:]):
        return ctx.emit_all(
            MaxPoolWithArgmaxOp,
            ctx.value(0),
            pool_size=found.kernel,
            strides=found.strides,
            dilation=found.dilation,
            padding=(*found.before, *_sum(found.after, beyond)),
            storage_order=int(ctx.flag("storage_order", others=None)),
        )
    return _emit(ctx, MAX_POOL, ctx.value(0), found, found.before, _sum(found.after, beyond))


def nhwc_max_pool(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
    """`max_pool` of data whose channels come last."""
    rank = len(ctx.shape(0))
    first = ctx.emit(TransposeOp, ctx.value(0), axes=(0, rank - 1, *range(1, rank - 1)))
    found = convert_all_parts(max_pool, ctx.with_inputs([Tensor(ctx.tensor(0).name, value=first)]))
    return ctx.emit(TransposeOp, cast(SSAValue, found), axes=(0, *range(2, rank), 1))


def avg_pool(ctx: Context) -> SSAValue:
    """nn.avg_pool1d, 2d or 3d; `ceil_mode` becomes padding after the image.

    That padding is never part of an average, not even under `count_include_pad`; there the other padding is made a part
    of the image first.
    """
    _, found, beyond = _window(ctx)
    data, before, after = ctx.value(0), found.before, found.after
    counts_padding = ctx.flag("count_include_pad")
    if counts_padding and any(not same(width, 0) for width in beyond):
        data = _padded(ctx, data, before, after)
        before = after = (0,) * len(beyond)
        counts_padding = False
    extra = {"count_include_pad": True} if counts_padding else {}
    return _emit(ctx, AVG_POOL, data, found, before, _sum(after, beyond), **extra)


def _sum(left: Sizes, right: Sizes) -> Sizes:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _power(ctx: Context, data: SSAValue, p: int) -> SSAValue:
    """|data| ** p."""
    if p == 1:
        return ctx.emit(AbsOp, data)
    if p == 2:
        return ctx.emit(MultiplyOp, data, data)
    return ctx.emit(PowerOp, ctx.emit(AbsOp, data), ctx.scalar(p, data))


def _root(ctx: Context, total: SSAValue, p: int) -> SSAValue:
    """total ** (1 / p)."""
    if p == 1:
        return total
    return ctx.emit(SqrtOp, total) if p == 2 else ctx.emit(PowerOp, total, ctx.scalar(1 / p, total))


def lp_pool(ctx: Context) -> SSAValue:
    """The root of the window's sum of powers: an average of powers, times the elements of a window."""
    _, found, beyond = _window(ctx)
    p, data = ctx.int("p", 2), ctx.value(0)
    # The padding is a part of the image, so that each window counts all its elements.
    powers = _padded(ctx, _power(ctx, data, p), found.before, _sum(found.after, beyond))
    nothing = (0,) * len(beyond)
    mean = _emit(ctx, AVG_POOL, powers, found, nothing, nothing)
    return _root(ctx, ctx.emit(MultiplyOp, mean, ctx.scalar(prod(found.kernel), mean)), p)


def global_lp_pool(ctx: Context) -> SSAValue:
    """The root of the image's sum of powers."""
    p, axes = ctx.int("p", 2), _image_axes(ctx)
    return _root(ctx, ctx.emit(SumOp, _power(ctx, ctx.value(0), p), axis=axes, keepdims=True), p)


def _image_axes(ctx: Context) -> Sizes:
    rank = len(ctx.shape(0))
    if rank < 3:
        ctx.fail("an input of at least 3 dimensions", f"shape {list(ctx.shape(0))}")
    return tuple(range(2, rank))


def global_pool(op: type[Pool], reduction: type[Operator]) -> Callable[[Context], SSAValue]:
    """The converter of a pooling over the whole image."""

    def convert(ctx: Context) -> SSAValue:
        axes = _image_axes(ctx)
        if len(axes) == 2:
            return ctx.emit(op, ctx.value(0))
        return ctx.emit(reduction, ctx.value(0), axis=axes, keepdims=True)

    return convert


def max_unpool(ctx: Context) -> SSAValue:
    """Zeros with each element at its place in the pooled image; a larger `output_shape` has it at its beginning."""
    shape = ctx.shape(0)
    image = image_of(ctx)
    rank = len(image)
    kernel, strides = ctx.ints("kernel_shape", count=rank, least=1), ctx.ints("strides", 1, count=rank, least=1)
    before, after = explicit_pads(ctx, rank)
    columns = zip(image, kernel, strides, before, after, strict=True)
    whole = (*shape[:2], *((extent - 1) * s + k - a - b for extent, k, s, a, b in columns))
    zeros = filled_value(ctx, np.zeros((), ctx.dtype(0)), (prod(whole),), "zeros")
    flat = [ctx.emit(ReshapeOp, ctx.value(index), newshape=(prod(shape),)) for index in (0, 1)]
    filled = ctx.emit(ScatterElementsOp, zeros, flat[1], flat[0])
    result = ctx.emit(ReshapeOp, filled, newshape=whole)
    if not ctx.has(2) or same_shape(wanted := ctx.known_ints(2, "an output shape"), whole):
        return result
    for a, b in zip(wanted, whole, strict=False):
        ctx.require_least(a, b, f"whether {a} are {b}")
    if len(wanted) != len(whole) or any(proves(a, "<", b) for a, b in zip(wanted, whole, strict=True)):
        ctx.fail(f"an output shape of at least {list(whole)}", str(list(wanted)))
    width = [w for a, b in zip(wanted, whole, strict=True) for w in (0, a - b)]
    return ctx.emit(PadOp, result, ctx.scalar(0, result), pad_width=width)


TABLE = {
    "AveragePool": Converter(avg_pool),
    "GlobalAveragePool": Converter(global_pool(GlobalAvgPool2DOp, MeanOp)),
    "GlobalLpPool": Converter(global_lp_pool),
    "GlobalMaxPool": Converter(global_pool(GlobalMaxPool2DOp, MaxOp)),
    "LpPool": Converter(lp_pool),
    "MaxPool": Converter(max_pool, unread={"storage_order": "of the indices alone, which read it"}),
    "MaxUnpool": Converter(max_unpool),
}
MICROSOFT = {"NhwcMaxPool": Converter(nhwc_max_pool)}
