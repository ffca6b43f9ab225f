"""Repetition, order, windows, and channels that become pixels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.rearrange import RepeatOp, ReverseOp, StackOp, TileOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, ExpandDimsOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, proves, same
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from .context import Context
from .shaping import cut, shaped


def _repeat(name: str) -> Converter[Context]:
    """The tensor so many times along each axis; axes in front are new ones. `tile` may name the last axes only."""

    def convert(ctx: Context) -> SSAValue:
        times, data = ctx.ints(name), ctx.of("self")
        rank = len(shape_of(data))
        if len(times) < rank and name == "repeats":
            ctx.fail(f"at least {rank} numbers", str(list(times)))
        if all(same(time, 1) for time in cast("Sequence[Size]", times)) and len(times) <= rank:
            return ctx.emit(CopyOp, data)
        if any(isinstance(time, SizeExpr) for time in cast("Sequence[Size]", times)):
            return _repeated_by_sizes(ctx, data, times)
        return ctx.emit(TileOp, data, reps=times)

    return Converter(convert)


def _repeated_by_sizes(ctx: Context, data: SSAValue, times: Sequence[int]) -> SSAValue:
    shape = (*(1,) * (len(times) - len(shape_of(data))), *shape_of(data))
    apart = [extent for item in shape for extent in (1, item)]
    wide = [extent for time, item in zip(times, shape, strict=True) for extent in (time, item)]
    data = ctx.emit(BroadcastToOp, shaped(ctx, data, apart), shape=wide)
    return shaped(ctx, data, [time * item for time, item in zip(times, shape, strict=True)])


def _repeat_interleave(ctx: Context) -> SSAValue:
    data, repeats = ctx.of("self"), ctx.int("repeats")
    if not ctx.given("dim"):
        data = shaped(ctx, data, (prod(shape_of(data)),))
    axis = ctx.axis("dim", len(shape_of(data)), 0)
    if not isinstance(cast(Size, repeats), SizeExpr):
        return ctx.emit(RepeatOp, data, repeats=repeats, axis=axis)
    shape = shape_of(data)
    wide = ctx.emit(ExpandDimsOp, data, axis=axis + 1)
    wide = ctx.emit(BroadcastToOp, wide, shape=(*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    return shaped(ctx, wide, (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))


def _flip(ctx: Context) -> SSAValue:
    rank = len(ctx.shape_of("self"))
    axes = [ctx.axis_in(axis, rank) for axis in ctx.ints("dims")]
    return ctx.emit(ReverseOp, ctx.of("self"), axis=axes) if axes else ctx.emit(CopyOp, ctx.of("self"))


def _roll(ctx: Context) -> SSAValue:
    """The end of each axis before its beginning."""
    data, shifts, axes = ctx.of("self"), ctx.ints("shifts"), ctx.ints("dims", ())
    shape = shape_of(data)
    if not axes:
        data = shaped(ctx, data, (prod(shape),))
    for shift, axis in zip(shifts, axes or (0,), strict=True):
        axis = ctx.axis_in(axis, len(shape_of(data)))
        extent, turn = cast(Size, shape_of(data)[axis]), cast(Size, shift)
        if same(extent, 0) or same(turn, 0):
            continue
        # From `extent - shift` on comes first; what a size decides is counted in the axis.
        if isinstance(extent, int) and isinstance(turn, int):
            position = (extent - turn) % extent
        else:
            back = proves(turn, "<", 0)
            position = -turn if back else extent - turn
            ctx.require(extent + turn if back else extent - turn)
        data = ctx.emit(
            ConcatenateOp, cut(ctx, data, axis, position, extent), cut(ctx, data, axis, 0, position), axis=axis
        )
    return data if axes else shaped(ctx, data, shape)


def _unfold(ctx: Context) -> SSAValue:
    """Windows of an axis, each as the last axis."""
    data, shape = ctx.of("self"), ctx.shape_of("self")
    axis, size, step = ctx.axis("dimension", len(shape)), ctx.int("size"), ctx.int("step")
    count = (shape[axis] - size) // step + 1
    if not isinstance(cast(Size, count), int):
        ctx.require(shape[axis] - size)
    if same(step, size) or (size % step == 0 and size <= step):
        run = cut(ctx, data, axis, 0, count * size)
        apart = shaped(ctx, run, (*shape[:axis], count, size, *shape[axis + 1 :]))
    else:
        columns = [cut(ctx, data, axis, at, at + (count - 1) * step + 1, step) for at in range(size)]
        apart = ctx.emit(StackOp, *columns, axis=axis + 1)
    rank = len(shape) + 1
    order = [at for at in range(rank) if at != axis + 1]
    return ctx.emit(TransposeOp, apart, axes=(*order, axis + 1))


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


def _meshgrid(ctx: Context) -> tuple[SSAValue, ...]:
    values = ctx.list_of("tensors")
    flipped = ctx.word("indexing", "ij") == "xy" and len(values) > 1
    rank = len(values)
    places = [1, 0, *range(2, rank)] if flipped else list(range(rank))
    extents = [shape_of(value)[0] if shape_of(value) else 1 for value in values]
    shape = [0] * rank
    for position, extent in zip(places, extents, strict=True):
        shape[position] = extent
    result: list[SSAValue] = []
    for value, position, extent in zip(values, places, extents, strict=True):
        row = shaped(ctx, value, [extent if at == position else 1 for at in range(rank)])
        result.append(ctx.emit(BroadcastToOp, row, shape=shape))
    return tuple(result)


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
    "aten.flip.default": Converter(_flip),
    "aten.meshgrid.default": Converter(_meshgrid),
    "aten.meshgrid.indexing": Converter(_meshgrid),
    "aten.pixel_shuffle.default": Converter(_pixel_shuffle),
    "aten.pixel_unshuffle.default": Converter(_pixel_unshuffle),
    "aten.repeat.default": _repeat("repeats"),
    "aten.repeat_interleave.self_int": Converter(_repeat_interleave, unread={"output_size": "the sizes say it"}),
    "aten.roll.default": Converter(_roll),
    "aten.tile.default": _repeat("dims"),
    "aten.unfold.default": Converter(_unfold),
}
