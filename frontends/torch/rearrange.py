"""Repetition, order, windows, and channels that become pixels."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, same
from ..importing.attributes import Int, Ints, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings import moves, slices
from .context import Context
from .shaping import shaped


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


def _as_strided(ctx: Context) -> SSAValue:
    """Elements at distances in memory, of a tensor whose elements lie there in order and from its beginning on."""
    meta, sizes, strides = ctx.call.operands[ctx.at("self")], ctx.ints("size"), ctx.ints("stride")
    own = ctx.shape_of("self")
    start = ctx.int("storage_offset", 0)
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
    flat = shaped(ctx, ctx.of("self"), (prod(own),))
    return ctx.emit(TakeOp, flat, ctx.constant(places, "places"), axis=0)


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


def _pixel_shuffle(ctx: Context) -> SSAValue:
    """Channels of blocks to pixels: (.., c r r, h, w) to (.., c, h r, w r)."""
    *batch, channels, height, width = ctx.shape_of("self")
    r, n = ctx.int("upscale_factor"), len(batch)
    if r < 1 or not isinstance(cast(Size, channels), int) or channels % (r * r):
        ctx.fail(f"channels that are a multiple of {r * r}", str(channels))
    apart = shaped(ctx, ctx.of("self"), (*batch, channels // (r * r), r, r, height, width))
    moved = ctx.emit(TransposeOp, apart, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return shaped(ctx, moved, (*batch, channels // (r * r), height * r, width * r))


def _pixel_unshuffle(ctx: Context) -> SSAValue:
    *batch, channels, height, width = ctx.shape_of("self")
    r, n = ctx.int("downscale_factor"), len(batch)
    apart = shaped(ctx, ctx.of("self"), (*batch, channels, height // r, r, width // r, r))
    moved = ctx.emit(TransposeOp, apart, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return shaped(ctx, moved, (*batch, channels * r * r, height // r, width // r))


def _channel_shuffle(ctx: Context) -> SSAValue:
    batch, channels, *rest = ctx.shape_of("self")
    groups = ctx.int("groups")
    apart = shaped(ctx, ctx.of("self"), (batch, groups, channels // groups, *rest))
    moved = ctx.emit(TransposeOp, apart, axes=(0, 2, 1, *range(3, len(rest) + 3)))
    return shaped(ctx, moved, (batch, channels, *rest))


TABLE: dict[str, Converter[Context]] = {
    "aten.as_strided.default": Converter(_as_strided),
    "aten.as_strided_copy.default": Converter(_as_strided),
    "aten.channel_shuffle.default": Converter(_channel_shuffle),
    "aten.flip.default": row(moves.reverse, "self", axes=Ints(name="dims")),
    "aten.meshgrid.default": row(_meshgrid, "tensors*", indexing=Word("ij")),
    "aten.meshgrid.indexing": row(_meshgrid, "tensors*", indexing=Word("ij")),
    "aten.pixel_shuffle.default": Converter(_pixel_shuffle),
    "aten.pixel_unshuffle.default": Converter(_pixel_unshuffle),
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
