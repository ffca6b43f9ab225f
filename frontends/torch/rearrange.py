"""Repetition, order, windows, and channels that become pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.relay.transform import StridedSliceOp, TakeOp
from ...dialects.sizes import Size, SizeExpr, same
from ..importing.attributes import Int, Ints, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of, constant
from ..meanings import moves, slices
from ..meanings.pads import bordered
from ..meanings.windows import Sizes, Window, from_columns, with_batch, without_batch
from .context import Context


def _repeat(x: Term, times: tuple[int, ...]) -> Term:
    """The tensor so many times along each axis; axes in front are new ones."""
    if len(times) < len(x.shape):
        x.ctx.fail(f"at least {len(x.shape)} numbers", str(list(times)))
    return moves.tile(x, times)


def _unfold(x: Term, axis: int, size: int, step: int) -> Term:
    """Windows of an axis, each as the last axis."""
    axis, shape = axis_of(x, axis), x.shape
    count = (shape[axis] - size) // step + 1
    if not isinstance(cast(Size, count), int):
        x.ctx.require(shape[axis] - size)
    if same(step, size) or (size % step == 0 and size <= step):
        run = slices.cut(x, axis, 0, count * size)
        apart = moves.shaped(run, (*shape[:axis], count, size, *shape[axis + 1 :]))
    else:
        columns = (slices.cut(x, axis, at, at + (count - 1) * step + 1, step) for at in range(size))
        apart = moves.stack(*columns, axis=axis + 1)
    return moves.move(apart, (axis + 1,), (-1,))


def _to_columns(x: Term, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Term:
    """Windows of images (n, c, h, w) as columns (n, c * taps, windows)."""
    image, added = with_batch(x, 2)
    image = bordered(image, ((0, 0), (0, 0), *((pad, pad) for pad in padding)))
    batch, channels, *extents = image.shape
    rows, columns = ((extents[at] - dilation[at] * (kernel[at] - 1) - 1) // stride[at] + 1 for at in (0, 1))
    taps: list[Term] = []
    for begin in product(*(range(0, dilation[at] * kernel[at], dilation[at]) for at in (0, 1))):
        end = (begin[0] + (rows - 1) * stride[0] + 1, begin[1] + (columns - 1) * stride[1] + 1)
        tap = image.apply(StridedSliceOp, begin=begin, end=end, strides=stride, axes=(2, 3))
        taps.append(moves.shaped(tap, (batch, channels, 1, rows * columns)))
    whole = moves.concatenate(*taps, axis=2)
    return without_batch(moves.shaped(whole, (batch, channels * prod(kernel), rows * columns)), added)


def _from_columns(x: Term, image: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Term:
    columns, added = with_batch(x, 1)
    return without_batch(from_columns(columns, image, Window(kernel, stride, dilation, padding, padding)), added)


def _as_strided(ctx: Context, x: Term, sizes: Sequence[int], strides: Sequence[int], start: int) -> Term:
    """Elements at distances in memory, of a tensor whose elements lie there in order and from its beginning on."""
    meta, own = ctx.call.operands[ctx.at("self")], x.shape
    numbers = [*own, *sizes, *strides, start]
    if any(isinstance(cast(Size, number), SizeExpr) for number in numbers):
        ctx.fail("sizes, strides and an offset known at import", str(numbers))
    in_order = [prod(own[at + 1 :]) for at in range(len(own))]
    stated = meta.strides if meta is not None else ()
    apart = [stride for extent, stride in zip(own, stated, strict=False) if extent != 1]
    if meta is None or meta.offset != 0 or apart != [n for extent, n in zip(own, in_order, strict=True) if extent != 1]:
        ctx.fail("a contiguous tensor (call .contiguous() before as_strided)", "a view with other strides")
    places = np.full(sizes, start, np.int64)
    for axis, (extent, stride) in enumerate(zip(sizes, strides, strict=True)):
        places += (np.arange(extent) * stride).reshape(-1, *(1,) * (len(sizes) - 1 - axis))
    if places.size and not 0 <= places.min() <= places.max() < prod(own):
        ctx.fail(f"elements among the {prod(own)} of the tensor", f"{places.min()} to {places.max()}")
    return moves.flat(x).apply(TakeOp, constant(ctx, places, "places"), axis=0)


def _meshgrid(*rows: Term, indexing: str) -> tuple[Term, ...]:
    rank = len(rows)
    places = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    extents = [prod(row.shape) for row in rows]
    shape = [extents[places.index(axis)] for axis in range(rank)]
    apart = (
        moves.shaped(x, [n if at == axis else 1 for axis in range(rank)])
        for x, at, n in zip(rows, places, extents, strict=True)
    )
    return tuple(moves.broadcast_to(x, shape) for x in apart)


def _pixel_shuffle(x: Term, r: int) -> Term:
    """Channels of blocks to pixels: (.., c r r, h, w) to (.., c, h r, w r)."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    if r < 1 or not isinstance(cast(Size, channels), int) or channels % (r * r):
        x.ctx.fail(f"channels that are a multiple of {r * r}", str(channels))
    apart = moves.shaped(x, (*batch, channels // (r * r), r, r, height, width))
    turned = moves.transpose(apart, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return moves.shaped(turned, (*batch, channels // (r * r), height * r, width * r))


def _pixel_unshuffle(x: Term, r: int) -> Term:
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = moves.shaped(x, (*batch, channels, height // r, r, width // r, r))
    turned = moves.transpose(apart, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return moves.shaped(turned, (*batch, channels * r * r, height // r, width // r))


def _channel_shuffle(x: Term, groups: int) -> Term:
    batch, channels, *rest = x.shape
    apart = moves.shaped(x, (batch, groups, channels // groups, *rest))
    return moves.shaped(moves.swap(apart, 1, 2), x.shape)


_WINDOW: Any = {
    "kernel": Ints(name="kernel_size", count=2),
    **{name: Ints(count=2) for name in ("dilation", "padding", "stride")},
}
_STRIDED = row(
    _as_strided,
    "self",
    sizes=Ints(name="size"),
    strides=Ints(name="stride"),
    start=Int(0, name="storage_offset"),
)

TABLE: dict[str, Converter[Context]] = {
    "aten.as_strided.default": _STRIDED,
    "aten.as_strided_copy.default": _STRIDED,
    "aten.channel_shuffle.default": row(_channel_shuffle, "self", groups=Int()),
    "aten.col2im.default": row(_from_columns, "self", image=Ints(name="output_size", count=2), **_WINDOW),
    "aten.flip.default": row(moves.reverse, "self", axes=Ints(name="dims")),
    "aten.im2col.default": row(_to_columns, "self", **_WINDOW),
    "aten.meshgrid.default": row(_meshgrid, "tensors*", indexing=Word("ij")),
    "aten.meshgrid.indexing": row(_meshgrid, "tensors*", indexing=Word("ij")),
    "aten.pixel_shuffle.default": row(_pixel_shuffle, "self", r=Int(name="upscale_factor")),
    "aten.pixel_unshuffle.default": row(_pixel_unshuffle, "self", r=Int(name="downscale_factor")),
    "aten.repeat.default": row(_repeat, "self", times=Ints(name="repeats")),
    "aten.repeat_interleave.self_int": row(
        moves.repeat,
        "self",
        times=Int(name="repeats"),
        axis=Int(None, name="dim"),
        unread={"output_size": "the sizes say it"},
    ),
    "aten.roll.default": row(moves.roll, "self", shifts=Ints(), axes=Ints((), name="dims")),
    "aten.tile.default": row(moves.tile, "self", times=Ints(name="dims")),
    "aten.unfold.default": row(_unfold, "self", axis=Int(name="dimension"), size=Int(), step=Int()),
}
