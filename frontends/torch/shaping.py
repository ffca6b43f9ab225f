"""Operators that move data or give it another shape, and those that put a changed part back into the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.rearrange import RepeatOp, ReverseOp, StackOp, TileOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    TransposeOp,
)
from ...dialects.sizes import ENDLESS, Size, SizeExpr, proves, same, same_shape, size_max, size_min
from ..importing.converter import Converter
from ..importing.decisions import compared
from ..importing.tensor import dtype_of, shape_of
from .context import Context
from .promotion import cast_to, promoted

_ENDLESS = (1 << 63) - 1
"""The end that stands for the last element."""


def shaped(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value in another shape, of sizes; an operator of its own even if the shape is the same."""
    return ctx.emit(ReshapeOp, value, newshape=tuple(shape), allowzero=1)


def whole_shape(ctx: Context, own: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """A wanted shape whose -1, if there is one, is what is left."""
    open_ = [at for at, extent in enumerate(cast("Sequence[Size]", wanted)) if same(extent, -1)]
    if not open_:
        return tuple(wanted)
    if len(open_) > 1:
        ctx.fail("at most one -1 in a shape", str(list(wanted)))
    rest = prod(extent for at, extent in enumerate(wanted) if at != open_[0])
    if same(rest, 0):
        ctx.fail("extents above 0 beside -1", str(list(wanted)))
    total = prod(own)
    ctx.require_multiple(total, rest, f"a shape of {total} elements") if isinstance(rest, int) else None
    left = total // rest
    return tuple(left if at == open_[0] else extent for at, extent in enumerate(wanted))


def _reshape(name: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        return shaped(ctx, ctx.of("self"), whole_shape(ctx, ctx.shape_of("self"), ctx.ints(name)))

    return Converter(convert)


def _shaped_as(ctx: Context) -> SSAValue:
    """The changed part in the shape and element type of the whole."""
    part = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
    return shaped(ctx, part, ctx.shape_of("self"))


def _flatten(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    start, end = ctx.axis("start_dim", len(shape), 0), ctx.axis("end_dim", len(shape), -1)
    if start > end:
        ctx.fail("start_dim of at most end_dim", f"{start}, {end}")
    return shaped(ctx, ctx.of("self"), (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def _unflatten(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    inner = whole_shape(ctx, shape[axis : axis + 1], ctx.ints("sizes"))
    return shaped(ctx, ctx.of("self"), (*shape[:axis], *inner, *shape[axis + 1 :]))


def _permuted(ctx: Context, order: Sequence[int], name: str = "self") -> SSAValue:
    return ctx.emit(TransposeOp, ctx.of(name), axes=tuple(order))


def _order(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    if not ctx.given("dims"):
        return list(reversed(range(rank)))
    order = [ctx.axis_in(axis, rank) for axis in ctx.ints("dims")]
    if sorted(order) != list(range(rank)):
        ctx.fail(f"an order of {rank} axes", str(order))
    return order


def _swap(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    order = list(range(rank))
    if rank:
        a, b = ctx.axis("dim0", rank), ctx.axis("dim1", rank)
        order[a], order[b] = order[b], order[a]
    return order


def _moves(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    source = [ctx.axis_in(axis, rank) for axis in ctx.ints("source")]
    target = [ctx.axis_in(axis, rank) for axis in ctx.ints("destination")]
    if len(source) != len(target) or len({*source}) != len(source) or len({*target}) != len(target):
        ctx.fail("as many axes to move as places", f"{source} to {target}")
    order = [-1] * rank
    for old, new in zip(source, target, strict=True):
        order[new] = old
    rest = iter(axis for axis in range(rank) if axis not in source)
    return [next(rest) if old < 0 else old for old in order]


def _reordered(order: Callable[[Context], list[int]]) -> Converter[Context]:
    return Converter(lambda ctx: _permuted(ctx, order(ctx)))


def _ordered_back(order: Callable[[Context], list[int]]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        axes = order(ctx)
        part = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
        return ctx.emit(TransposeOp, part, axes=tuple(axes.index(at) for at in range(len(axes))))

    return Converter(convert)


def _copied(ctx: Context) -> SSAValue:
    return ctx.emit(CopyOp, ctx.value(0))


def _copy(ctx: Context) -> SSAValue:
    """The source in the shape and element type of what it is copied to."""
    source = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
    return broadcast(ctx, source, ctx.shape_of("self"))


def broadcast(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value of a shape that it broadcasts to."""
    return value if same_shape(shape_of(value), shape) else ctx.emit(BroadcastToOp, value, shape=tuple(shape))


def _expand(ctx: Context) -> SSAValue:
    """broadcast_to; -1 keeps an extent."""
    own, wanted = ctx.shape_of("self"), ctx.ints("size")
    if len(wanted) < len(own):
        ctx.fail(f"at least {len(own)} extents", str(list(wanted)))
    before = len(wanted) - len(own)
    shape = [own[at - before] if same(extent, -1) and at >= before else extent for at, extent in enumerate(wanted)]
    return ctx.emit(BroadcastToOp, ctx.of("self"), shape=shape)


def _like(op: Callable[[Context, SSAValue, Sequence[int]], SSAValue]) -> Converter[Context]:
    """In the shape of another tensor."""
    return Converter(lambda ctx: op(ctx, ctx.of("self"), ctx.shape_of("other")))


def _broadcast_to(ctx: Context) -> SSAValue:
    return ctx.emit(BroadcastToOp, ctx.of("self"), shape=ctx.ints("size"))


def _squeeze(ctx: Context) -> SSAValue:
    """Axes of extent 1 away; one of another extent stays."""
    shape: Sequence[Size] = ctx.shape_of("self")
    axes = range(len(shape))
    if ctx.given("dim"):
        axes = sorted({ctx.axis_in(axis, len(shape)) for axis in ctx.ints("dim")}) if shape else []
    gone = [axis for axis in axes if same(shape[axis], 1)]
    return ctx.emit(SqueezeOp, ctx.of("self"), axis=gone) if gone else ctx.emit(CopyOp, ctx.of("self"))


def _unsqueeze(ctx: Context) -> SSAValue:
    return ctx.emit(ExpandDimsOp, ctx.of("self"), axis=ctx.axis("dim", len(ctx.shape_of("self")) + 1))


def _bound(ctx: Context, bound: Size, extent: Size) -> Size:
    """A bound of a slice brought inside, as Python does."""
    if same(bound, _ENDLESS):
        return extent
    if isinstance(bound, int) and isinstance(extent, int):
        return min(max(bound + extent if bound < 0 else bound, 0), extent)
    if proves(bound, "<", 0):
        bound = bound + extent
    elif not proves(bound, ">=", 0):
        bound = bound + extent * compared(bound, "<", 0)
    return size_min(size_max(bound, 0), extent)


def bounds_of(ctx: Context, extent: Size) -> tuple[Size, Size, int]:
    """Start, end and step of a slice, inside the axis."""
    step = ctx.int("step", 1)
    if not isinstance(cast(Size, step), int) or step < 1:
        ctx.fail("a step of at least 1", str(step))
    start = _bound(ctx, ctx.int("start", 0), extent)
    end = _bound(ctx, ctx.int("end", _ENDLESS), extent)
    if isinstance(start, int) and isinstance(end, int):
        end = max(start, end)
    elif not proves(start, "<=", end):
        end = size_max(start, end)
    return start, end, step


def cut(ctx: Context, value: SSAValue, axis: int, start: Size, end: Size, step: int = 1) -> SSAValue:
    """Part of a value along an axis, of bounds inside it."""
    begin, stop = cast(int, start), cast(int, end)
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(stop,), strides=(step,), axes=(axis,))


def _slice(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), 0)
    start, end, step = bounds_of(ctx, shape[axis])
    if same(end, shape[axis]) and not isinstance(end, int):
        end = ENDLESS
    return cut(ctx, ctx.of("self"), axis, start, end, step)


def _narrow(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    start = place_in(ctx, ctx.int("start"), shape[axis])
    return cut(ctx, ctx.of("self"), axis, start, start + ctx.int("length"))


def place_in(ctx: Context, index: Size, extent: Size) -> Size:
    """A place along an axis, counted from its beginning."""
    if isinstance(index, int) and isinstance(extent, int) and not -extent <= index <= extent:
        ctx.fail(f"a place in [{-extent}, {extent}]", str(index))
    if proves(index, "<", 0):
        return index + extent
    return index if proves(index, ">=", 0) else index + extent * compared(index, "<", 0)


def _select(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    place = place_in(ctx, ctx.int("index"), shape[axis])
    ctx.require_least(shape[axis], place + 1, f"whether there is an element {place}")
    part = cut(ctx, ctx.of("self"), axis, place, place + 1)
    return ctx.emit(SqueezeOp, part, axis=(axis,))


# Parts put back.


def replaced(ctx: Context, axis: int, start: Size, end: Size, step: int, part: SSAValue) -> SSAValue:
    """The whole (`self`) with a part of an axis replaced, by what is before it, the part, and what is behind it."""
    whole, shape = ctx.of("self"), ctx.shape_of("self")
    part = cast_to(ctx, part, dtype_of(whole))
    count = (end - start + step - 1) // step
    part = broadcast(ctx, part, (*shape[:axis], cast(int, count), *shape[axis + 1 :]))
    if step != 1:
        return _spread(ctx, axis, start, end, step, part)
    pieces = [] if proves(start, "==", 0) else [cut(ctx, whole, axis, 0, start)]
    pieces.append(part)
    pieces += [] if proves(end, "==", shape[axis]) else [cut(ctx, whole, axis, end, shape[axis])]
    return ctx.emit(ConcatenateOp, *pieces, axis=axis) if len(pieces) > 1 else ctx.emit(CopyOp, part)


def _spread(ctx: Context, axis: int, start: Size, end: Size, step: int, part: SSAValue) -> SSAValue:
    """Every `step`-th element replaced: of each run of `step`, the first is the part's."""
    whole, shape = ctx.of("self"), ctx.shape_of("self")
    count = (end - start + step - 1) // step
    span = count * step
    middle = cut(ctx, whole, axis, start, size_min(start + span, shape[axis]))
    missing = span - shape_of(middle)[axis]
    if not proves(missing, "==", 0):
        # The last run may be cut short by the end: any elements stand for the rest, which goes again.
        filler = cut(ctx, ctx.emit(ConcatenateOp, middle, *[middle] * (step - 1), axis=axis), axis, 0, missing)
        middle = ctx.emit(ConcatenateOp, middle, filler, axis=axis)
    runs = shaped(ctx, middle, cast("tuple[int, ...]", (*shape[:axis], count, step, *shape[axis + 1 :])))
    first = ctx.emit(ExpandDimsOp, part, axis=axis + 1)
    mixed = ctx.emit(ConcatenateOp, first, cut(ctx, runs, axis + 1, 1, step), axis=axis + 1)
    flat = shaped(ctx, mixed, cast("tuple[int, ...]", (*shape[:axis], span, *shape[axis + 1 :])))
    kept = size_min(start + span, shape[axis]) - start
    pieces = [] if proves(start, "==", 0) else [cut(ctx, whole, axis, 0, start)]
    pieces.append(flat if proves(kept, "==", span) else cut(ctx, flat, axis, 0, kept))
    if not proves(start + kept, "==", shape[axis]):
        pieces.append(cut(ctx, whole, axis, start + kept, shape[axis]))
    return ctx.emit(ConcatenateOp, *pieces, axis=axis) if len(pieces) > 1 else pieces[0]


def _slice_scatter(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), 0)
    return replaced(ctx, axis, *bounds_of(ctx, shape[axis]), ctx.of("src"))


def _select_scatter(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), 0)
    place = place_in(ctx, ctx.int("index"), shape[axis])
    part = ctx.emit(ExpandDimsOp, ctx.of("src"), axis=axis)
    return replaced(ctx, axis, place, place + 1, 1, part)


def _narrow_scatter(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    start = place_in(ctx, ctx.int("start"), shape[axis])
    return replaced(ctx, axis, start, start + ctx.int("length"), 1, ctx.of("src"))


def _part_scatter(ctx: Context) -> SSAValue:
    """A part of a split replaced; the arguments are those of the split."""
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), 0)
    parts = _PARTS[ctx.text("operator")](ctx, shape[axis], ctx.int("count"))
    start, end = parts[ctx.int("number")]
    return replaced(ctx, axis, start, end, 1, ctx.of("src"))


# Parts of equal or given lengths.

Bounds = list[tuple[Size, Size]]


def _of_lengths(lengths: Sequence[Size]) -> Bounds:
    return list(pairwise(accumulate(lengths, initial=cast(Size, 0))))


def _of_one_length(ctx: Context, length: Size, extent: Size, count: int) -> Bounds:
    """So many parts of a length, the last of which may be shorter."""
    if isinstance(length, int) and isinstance(extent, int) and length > 0:
        count = max(-(-extent // length), 1)
    return [(length * at, length * (at + 1) if at < count - 1 else extent) for at in range(count)]


def _split(ctx: Context, extent: Size, count: int) -> Bounds:
    sizes = ctx.argument("split_size")
    if isinstance(sizes, tuple):
        return _of_lengths(ctx.ints("split_size"))
    return _of_one_length(ctx, ctx.int("split_size"), extent, count)


def _split_with_sizes(ctx: Context, extent: Size, count: int) -> Bounds:
    return _of_lengths(ctx.ints("split_sizes"))


def _chunk(ctx: Context, extent: Size, count: int) -> Bounds:
    chunks = ctx.int("chunks")
    if chunks < 1:
        ctx.fail("at least 1 chunk", str(chunks))
    return _of_one_length(ctx, (extent + chunks - 1) // chunks, extent, count)


def _tensor_split(ctx: Context, extent: Size, count: int) -> Bounds:
    if ctx.given("indices"):
        marks = [_bound(ctx, index, extent) for index in ctx.ints("indices")]
        return list(pairwise([0, *marks, extent]))
    sections = ctx.int("sections")
    if sections < 1:
        ctx.fail("at least 1 section", str(sections))
    small, larger = extent // sections, extent % sections
    return list(pairwise([small * at + size_min(larger, at) for at in range(sections)] + [extent]))


_PARTS: dict[str, Callable[[Context, Size, int], Bounds]] = {
    "aten.chunk": _chunk,
    "aten.split": _split,
    "aten.split_with_sizes": _split_with_sizes,
    "aten.tensor_split": _tensor_split,
    "aten.unsafe_chunk": _chunk,
    "aten.unsafe_split": _split,
}


def _parts(ctx: Context) -> tuple[SSAValue, ...]:
    shape, data = ctx.shape_of("self"), ctx.of("self")
    axis = ctx.axis("dim", len(shape), 0)
    bounds = _PARTS[ctx.op_type.rpartition(".")[0]](ctx, shape[axis], ctx.output_count)
    return tuple(cut(ctx, data, axis, start, end) for start, end in bounds)


def _unbind(ctx: Context) -> tuple[SSAValue, ...]:
    shape, data = ctx.shape_of("self"), ctx.of("self")
    axis = ctx.axis("dim", len(shape), 0)
    extent = shape[axis]
    ctx.require_equal(extent, ctx.output_count)
    parts = (cut(ctx, data, axis, at, at + 1) for at in range(ctx.output_count))
    return tuple(ctx.emit(SqueezeOp, part, axis=(axis,)) for part in parts)


# Several tensors.


def _together(ctx: Context) -> list[SSAValue]:
    """A list of tensors in the element type where they meet."""
    found = ctx.list_of("tensors")
    if not found:
        ctx.fail("at least one tensor", "none")
    dtype = dtype_of(found[0])
    for value in found[1:]:
        dtype = promoted(dtype, dtype_of(value))
    return [cast_to(ctx, value, dtype) for value in found]


def _cat(ctx: Context) -> SSAValue:
    values = _together(ctx)
    kept = [value for value in values if shape_of(value) != (0,)] or values[:1]
    axis = ctx.axis("dim", len(shape_of(kept[0])), 0)
    if len(kept) == 1:
        return ctx.emit(CopyOp, kept[0])
    first = shape_of(kept[0])
    for other in map(shape_of, kept[1:]):
        for at in (at for at in range(len(first)) if at != axis and len(other) == len(first)):
            ctx.require_equal(first[at], other[at])
    return ctx.emit(ConcatenateOp, *kept, axis=axis)


def _stack(ctx: Context) -> SSAValue:
    values = _together(ctx)
    return ctx.emit(StackOp, *values, axis=ctx.axis("dim", len(shape_of(values[0])) + 1, 0))


# Repetition and order.


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
    apart = [extent for one in shape for extent in (1, one)]
    wide = [extent for time, one in zip(times, shape, strict=True) for extent in (time, one)]
    data = ctx.emit(BroadcastToOp, shaped(ctx, data, apart), shape=wide)
    return shaped(ctx, data, [time * one for time, one in zip(times, shape, strict=True)])


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
        extent: Size = shape_of(data)[axis]
        if same(extent, 0) or same(shift, 0):
            continue
        # From `extent - shift` on comes first; what a size decides is counted in the axis.
        place = (
            (extent - shift) % extent
            if isinstance(extent, int)
            else (extent - shift if proves(shift, ">", 0) else -shift)
        )
        if not isinstance(extent, int):
            ctx.require(extent - abs(shift))
        data = ctx.emit(ConcatenateOp, cut(ctx, data, axis, place, extent), cut(ctx, data, axis, 0, place), axis=axis)
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


def _meshgrid(ctx: Context) -> tuple[SSAValue, ...]:
    values = ctx.list_of("tensors")
    flipped = ctx.text("indexing", "ij") == "xy" and len(values) > 1
    rank = len(values)
    places = [1, 0, *range(2, rank)] if flipped else list(range(rank))
    extents = [shape_of(value)[0] if shape_of(value) else 1 for value in values]
    shape = [0] * rank
    for place, extent in zip(places, extents, strict=True):
        shape[place] = extent
    found: list[SSAValue] = []
    for value, place, extent in zip(values, places, extents, strict=True):
        row = shaped(ctx, value, [extent if at == place else 1 for at in range(rank)])
        found.append(ctx.emit(BroadcastToOp, row, shape=shape))
    return tuple(found)


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


_COPIES = (
    "alias",
    "clone",
    "contiguous",
    "detach",
    "detach_",
    "lift_fresh_copy",
    "lift_fresh",
    "ravel_copy",
    "positive",
)

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.{name}.default": Converter(_copied) for name in _COPIES},
    "aten.dropout.default": Converter(_copied),
    "aten.feature_dropout.default": Converter(_copied),
    "aten.alpha_dropout.default": Converter(_copied),
    "aten.broadcast_to.default": Converter(_broadcast_to),
    "aten.cat.default": Converter(_cat),
    "aten.concat.default": Converter(_cat),
    "aten.channel_shuffle.default": Converter(_channel_shuffle),
    "aten.chunk.default": Converter(_parts),
    "aten.copy.default": Converter(_copy),
    "aten.expand.default": Converter(_expand),
    "aten.expand_as.default": _like(broadcast),
    "aten.flatten.using_ints": Converter(_flatten),
    "aten.flip.default": Converter(_flip),
    "aten.meshgrid.default": Converter(_meshgrid),
    "aten.meshgrid.indexing": Converter(_meshgrid),
    "aten.movedim.int": _reordered(_moves),
    "aten.movedim.intlist": _reordered(_moves),
    "aten.narrow.default": Converter(_narrow),
    "aten.numpy_T.default": _reordered(_order),
    "aten.permute.default": _reordered(_order),
    "aten.pixel_shuffle.default": Converter(_pixel_shuffle),
    "aten.pixel_unshuffle.default": Converter(_pixel_unshuffle),
    "aten.repeat.default": _repeat("repeats"),
    "aten.repeat_interleave.self_int": Converter(_repeat_interleave),
    "aten.reshape.default": _reshape("shape"),
    "aten.reshape_as.default": _like(shaped),
    "aten.roll.default": Converter(_roll),
    "aten.select.int": Converter(_select),
    "aten.select_scatter.default": Converter(_select_scatter),
    "aten.slice.Tensor": Converter(_slice),
    "aten.slice_scatter.default": Converter(_slice_scatter),
    "aten.split.Tensor": Converter(_parts),
    "aten.split.sizes": Converter(_parts),
    "aten.split_with_sizes.default": Converter(_parts),
    "aten.squeeze.default": Converter(_squeeze),
    "aten.squeeze.dim": Converter(_squeeze),
    "aten.squeeze.dims": Converter(_squeeze),
    "aten.stack.default": Converter(_stack),
    "aten.t.default": _reordered(_order),
    "aten.tensor_split.indices": Converter(_parts),
    "aten.tensor_split.sections": Converter(_parts),
    "aten.tile.default": _repeat("dims"),
    "aten.transpose.int": _reordered(_swap),
    "aten.unbind.int": Converter(_unbind),
    "aten.unflatten.int": Converter(_unflatten),
    "aten.unfold.default": Converter(_unfold),
    "aten.unsafe_chunk.default": Converter(_parts),
    "aten.unsafe_split.Tensor": Converter(_parts),
    "aten.unsqueeze.default": Converter(_unsqueeze),
    "aten.view.default": _reshape("size"),
    "aten._unsafe_view.default": _reshape("size"),
    "aten.view_as.default": _like(shaped),
    "whence.moved_back": _ordered_back(_moves),
    "whence.narrow_scatter": Converter(_narrow_scatter),
    "whence.part_scatter": Converter(_part_scatter),
    "whence.permuted_back": _ordered_back(_order),
    "whence.shaped_as": Converter(_shaped_as),
    "whence.transposed_back": _ordered_back(_swap),
}
