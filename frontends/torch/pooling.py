"""Poolings of one to three spatial axes."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np

from ...dialects.relay.division import FloorModOp
from ...dialects.sizes import proves, same_shape
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, where
from ..meanings import pools
from ..meanings.windows import Sizes, Window, with_batch, without_batch
from .context import Context


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


def _max_pool(rank: int) -> Converter[Context]:
    def convert(ctx: Context, x: Term) -> Term:
        x, added = with_batch(x, rank)
        window, beyond = _window(ctx, rank, x.shape[2:])
        return without_batch(pools.pool(pools.MAX, x, window.longer(beyond)), added)

    return row(convert, "self")


def _max_pool_with_indices(rank: int) -> Converter[Context]:
    """The indices are places in an element's own plane."""

    def convert(ctx: Context, x: Term) -> tuple[Term, Term]:
        x, added = with_batch(x, rank)
        image = x.shape[2:]
        window, beyond = _window(ctx, rank, image)
        largest, places = pools.max_pool_with_places(x, window.longer(beyond))
        return without_batch(largest, added), without_batch(places.apply(FloorModOp, prod(image)), added)

    return row(convert, "self")


def _avg_pool(rank: int) -> Converter[Context]:
    def convert(ctx: Context, x: Term) -> Term:
        x, added = with_batch(x, rank)
        own = x.dtype
        if own.kind in "iu":  # the quotients of sums, towards 0
            x = x.to(np.dtype(np.float64))
        window, beyond = _window(ctx, rank, x.shape[2:])
        counts, divisor = ctx.flag("count_include_pad", True), ctx.number("divisor_override")
        if divisor is None:
            result = pools.avg_pool(x, window, beyond, counts)
        else:
            result = pools.sum_pool(x, window.longer(beyond), float(cast(int, divisor)))
        if own.kind in "iu":
            # A quotient that is whole may have come out a little nearer to 0.
            result = result + where(result < 0.0, result.number(-1e-6), 1e-6)
        return without_batch(result.to(own), added)

    return row(convert, "self")


def _adaptive(ops: pools.ByRank, rank: int) -> Converter[Context]:
    """Windows that cover the image; one window is a global pooling, or a reduction."""

    def convert(ctx: Context, x: Term) -> Term:
        x, added = with_batch(x, rank)
        size = ctx.ints("output_size", count=rank)
        whole = ops is pools.ADAPTIVE_AVERAGE and same_shape(size, (1,) * rank)
        return without_batch(pools.global_pool(x, False) if whole else pools.adaptive_pool(ops, x, size), added)

    return row(convert, "self")


_AVERAGE, _LARGEST = pools.ADAPTIVE_AVERAGE, pools.ADAPTIVE_MAX
TABLE: dict[str, Converter[Context]] = {
    **{f"aten.max_pool{rank}d.default": _max_pool(rank) for rank in pools.MAX},
    **{f"aten.max_pool{rank}d_with_indices.default": _max_pool_with_indices(rank) for rank in pools.MAX},
    **{f"aten.avg_pool{rank}d.default": _avg_pool(rank) for rank in pools.AVERAGE},
    **{f"aten.adaptive_avg_pool{rank}d.default": _adaptive(_AVERAGE, rank) for rank in _AVERAGE},
    **{f"aten._adaptive_avg_pool{rank}d.default": _adaptive(_AVERAGE, rank) for rank in (2, 3)},
}
