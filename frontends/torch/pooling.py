"""Poolings of one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.division import FloorModOp
from ...dialects.relay.nn import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    GlobalAvgPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import (
    AdaptiveAvgPool1DOp,
    AdaptiveAvgPool2DOp,
    AdaptiveAvgPool3DOp,
)
from ...dialects.relay.reduce import MeanOp
from ...dialects.relay.transform import PadOp
from ...dialects.relay.window_indices import MaxPoolWithArgmaxOp
from ...dialects.sizes import Size, proves, same, same_shape
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, where
from ..importing.window import Sizes, Window
from .context import Context
from .convolution import with_batch, without_batch
from .promotion import cast_to

ByRank = Mapping[int, type[Operator]]
MAX_POOL: ByRank = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
AVG_POOL: ByRank = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}
ADAPTIVE_AVG: ByRank = {1: AdaptiveAvgPool1DOp, 2: AdaptiveAvgPool2DOp, 3: AdaptiveAvgPool3DOp}


def _window(ctx: Context, rank: int, image: Sizes) -> tuple[Window, Sizes]:
    """The window, and how far the last one reaches beyond the image and its padding."""
    kernel = ctx.ints("kernel_size", count=rank)
    strides = ctx.ints("stride", count=rank) if ctx.argument("stride") not in (None, ()) else kernel
    pads = ctx.ints("padding", 0, count=rank)
    result = Window(kernel, strides, ctx.ints("dilation", 1, count=rank), pads, pads)
    for extent, k, d, pad in zip(image, kernel, result.dilation, pads, strict=True):
        room = extent + 2 * pad - (d * (k - 1) + 1)
        if not proves(room, ">=", 0):
            ctx.require(room)
    return result, result.outgrowth(image) if ctx.flag("ceil_mode") else (0,) * rank


def _behind(result: Window, beyond: Sizes) -> Sizes:
    return tuple(a + b for a, b in zip(result.after, beyond, strict=True))


def _max_pool(rank: int, indices: bool = False) -> Converter[Context]:
    """nn.max_pool1d, 2d or 3d; with indices of each in its own plane nn.max_pool_with_argmax."""

    def convert(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
        data, added = with_batch(ctx, "self", rank)
        image = shape_of(data)[2:]
        result, beyond = _window(ctx, rank, image)
        attributes = {"strides": result.strides, "dilation": result.dilation}
        attributes |= {"pool_size": result.kernel, "padding": (*result.before, *_behind(result, beyond))}
        if not indices:
            return without_batch(ctx, ctx.emit(MAX_POOL[rank], data, **attributes), added)
        value, places = ctx.emit_all(MaxPoolWithArgmaxOp, data, **attributes)
        places = Term(ctx, places).apply(FloorModOp, prod(image))
        return without_batch(ctx, value, added), without_batch(ctx, places.value, added)

    return Converter(convert)


def _avg_pool(rank: int) -> Converter[Context]:
    """nn.avg_pool1d, 2d or 3d.

    What `ceil_mode` adds behind is never part of an average; other padding that counts is made a part of the image.
    """

    def convert(ctx: Context) -> SSAValue:
        data, added = with_batch(ctx, "self", rank)
        own = dtype_of(data)
        if own.kind in "iu":  # the quotients of sums, towards 0
            data = cast_to(ctx, data, np.dtype(np.float64))
        outcome, beyond = _window(ctx, rank, shape_of(data)[2:])
        counts = ctx.flag("count_include_pad", True)
        before, after, divisor = outcome.before, outcome.after, ctx.number("divisor_override")
        wide = any(not same(width, 0) for width in cast("tuple[Size, ...]", (*before, *after)))
        if divisor is not None or (counts and any(not same(width, 0) for width in cast("tuple[Size, ...]", beyond))):
            data = _padded(ctx, data, before, after if divisor is None else _behind(outcome, beyond))
            before = after = (0,) * rank
            beyond = beyond if divisor is None else (0,) * rank
            wide = False
        result = ctx.emit(
            AVG_POOL[rank],
            data,
            pool_size=outcome.kernel,
            strides=outcome.strides,
            padding=(*before, *(a + b for a, b in zip(after, beyond, strict=True))),
            count_include_pad=counts and wide,
        )
        if divisor is not None:
            result = (Term(ctx, result) * (prod(outcome.kernel) / float(cast(int, divisor)))).value
        if own.kind in "iu":
            # A quotient that is whole may have come out a little nearer to 0.
            exact = Term(ctx, result)
            result = (exact + where(exact < 0.0, exact.number(-1e-6), 1e-6)).value
        return without_batch(ctx, cast_to(ctx, result, own), added)

    return Converter(convert)


def _padded(ctx: Context, data: SSAValue, before: Sizes, after: Sizes) -> SSAValue:
    """Zeros around the image."""
    if all(same(width, 0) for width in cast("tuple[Size, ...]", before + after)):
        return data
    width = (0, 0, 0, 0, *(w for pair in zip(before, after, strict=True) for w in pair))
    return ctx.emit(PadOp, data, ctx.scalar(0.0, data), pad_width=width)


def _adaptive(rank: int) -> Converter[Context]:
    """Averages of windows that cover the image; one window is a global pooling, or a reduction."""

    def convert(ctx: Context) -> SSAValue:
        data, added = with_batch(ctx, "self", rank)
        wanted = ctx.ints("output_size", count=rank)
        if same_shape(wanted, (1,) * rank):
            axes = tuple(range(2, rank + 2))
            result = (
                ctx.emit(GlobalAvgPool2DOp, data) if rank == 2 else ctx.emit(MeanOp, data, axis=axes, keepdims=True)
            )
        else:
            result = ctx.emit(ADAPTIVE_AVG[rank], data, output_size=wanted)
        return without_batch(ctx, result, added)

    return Converter(convert)


TABLE: dict[str, Converter[Context]] = {
    **{f"aten.max_pool{rank}d.default": _max_pool(rank) for rank in MAX_POOL},
    **{f"aten.max_pool{rank}d_with_indices.default": _max_pool(rank, indices=True) for rank in MAX_POOL},
    **{f"aten.avg_pool{rank}d.default": _avg_pool(rank) for rank in AVG_POOL},
    **{
        f"aten.{prefix}adaptive_avg_pool{rank}d.default": _adaptive(rank)
        for rank in ADAPTIVE_AVG
        for prefix in ("", "_")
        if rank > 1 or not prefix
    },
}
