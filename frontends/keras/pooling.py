"""Poolings of one to three spatial axes: over a window, and of the whole image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..importing.attributes import Flag, Ints
from ..importing.rows import row
from ..importing.terms import Term, where
from ..meanings import pools
from ..meanings.windows import Sizes
from .context import Context
from .convolution import image_of, layout_of, window_of
from .masks import Masks
from .rows import Row, declared

Rank: TypeAlias = "int | Callable[[Context], int]"
"""The number of spatial axes; that of a function of the context depends on the data."""


def windowed(ops: pools.ByRank, rank: Rank) -> Row:
    """A pooling in which elements outside of the image count for no maximum and no average."""

    def pooled(ctx: Context, x: Term, size: Sizes, strides: Sizes | None) -> Term:
        image, _ = image_of(ctx, x.value, len(size))
        window = window_of(ctx, image, size, strides or size, (1,) * len(size))
        return pools.pool(ops, x, window, layout_of(ctx, len(size)))

    size, strides = Ints(count=rank, least=1, name="pool_size"), Ints(None, count=rank, least=1)
    return declared(pooled, "inputs", size=size, strides=strides)


def adaptive(ops: pools.ByRank, rank: Rank) -> Row:
    """A pooling to a size, whose windows may overlap by an element."""

    def pooled(ctx: Context, x: Term, size: Sizes) -> Term:
        image_of(ctx, x.value, len(size))
        return pools.adaptive_pool(ops, x, size, layout_of(ctx, len(size)))

    return declared(pooled, "inputs", size=Ints(count=rank, least=1, name="output_size"))


def _whole(ctx: Context, x: Term, rank: int, largest: bool, keepdims: bool) -> Term:
    image_of(ctx, x.value, rank)
    return pools.global_pool(x, largest, layout_of(ctx, rank), keepdims)


def _global(rank: int, largest: bool) -> Row:
    def pooled(ctx: Context, x: Term, keepdims: bool) -> Term:
        return _whole(ctx, x, rank, largest, keepdims)

    return declared(pooled, "inputs", keepdims=Flag(False))


def _masked_average(ctx: Context, x: Term, keepdims: bool) -> Term:
    """The average of all steps, or of those that the mask counts."""
    mask = ctx.mask(1)
    if mask is None:
        return _whole(ctx, x, 1, False, keepdims)
    image_of(ctx, x.value, 1)
    axis = 2 if ctx.channels_first() else 1
    steps = Term(ctx, mask)
    batch, time = steps.shape
    steps = steps.reshape(*((batch, 1, time) if axis == 2 else (batch, time, 1)))
    result = where(steps, x, 0.0).sum(axis) / steps.to(x.dtype).sum(axis)
    return result if keepdims else result.reshape(*(n for at, n in enumerate(result.shape) if at != axis))


TABLE = {
    **{f"AdaptiveAveragePooling{rank}D": adaptive(pools.ADAPTIVE_AVERAGE, rank) for rank in (1, 2, 3)},
    **{f"AdaptiveMaxPooling{rank}D": adaptive(pools.ADAPTIVE_MAX, rank) for rank in (1, 2, 3)},
    **{f"AveragePooling{rank}D": windowed(pools.AVERAGE, rank) for rank in (1, 2, 3)},
    **{f"MaxPooling{rank}D": windowed(pools.MAX, rank) for rank in (1, 2, 3)},
    "GlobalAveragePooling1D": Row(
        row(_masked_average, "inputs", keepdims=Flag(False)).convert, masks=Masks({"mask": 1})
    ),
    **{f"GlobalAveragePooling{rank}D": _global(rank, False) for rank in (2, 3)},
    **{f"GlobalMaxPooling{rank}D": _global(rank, True) for rank in (1, 2, 3)},
}
