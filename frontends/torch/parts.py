"""Parts of tensors along an axis: split off, and put back into the whole once they have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, SqueezeOp
from ...dialects.sizes import Size, proves, size_min
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from .context import Context
from .promotion import cast_to
from .shaping import bounded, bounds_of, broadcast, cut, place_in, shaped


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
    position = place_in(ctx, ctx.int("index"), shape[axis])
    part = ctx.emit(ExpandDimsOp, ctx.of("src"), axis=axis)
    return replaced(ctx, axis, position, position + 1, 1, part)


def _narrow_scatter(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    start = place_in(ctx, ctx.int("start"), shape[axis])
    return replaced(ctx, axis, start, start + ctx.int("length"), 1, ctx.of("src"))


def _part_scatter(ctx: Context) -> SSAValue:
    """A part of a split replaced; the arguments are those of the split."""
    shape = ctx.shape_of("self")
    axis = _axis_of(ctx, ctx.word("operator", ""), len(shape))
    parts = _PARTS[ctx.word("operator", "")](ctx, shape[axis], ctx.int("count"))
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
        marks = [bounded(ctx, index, extent) for index in ctx.ints("indices")]
        return list(pairwise([0, *marks, extent]))
    sections = ctx.int("sections")
    if sections < 1:
        ctx.fail("at least 1 section", str(sections))
    small, larger = extent // sections, extent % sections
    return list(pairwise([small * at + size_min(larger, at) for at in range(sections)] + [extent]))


_AXES = {"aten.dsplit": 2, "aten.hsplit": 1, "aten.vsplit": 0}
"""Operator -> the axis that it splits, where no argument says it."""


def _axis_of(ctx: Context, operator: str, rank: int) -> int:
    if operator not in _AXES:
        return ctx.axis("dim", rank, 0)
    return min(_AXES[operator], rank - 1)


_PARTS: dict[str, Callable[[Context, Size, int], Bounds]] = {
    "aten.chunk": _chunk,
    "aten.dsplit": _tensor_split,
    "aten.hsplit": _tensor_split,
    "aten.split": _split,
    "aten.split_copy": _split,
    "aten.split_with_sizes_copy": _split_with_sizes,
    "aten.split_with_sizes": _split_with_sizes,
    "aten.tensor_split": _tensor_split,
    "aten.unsafe_chunk": _chunk,
    "aten.unsafe_split": _split,
    "aten.unsafe_split_with_sizes": _split_with_sizes,
    "aten.vsplit": _tensor_split,
}


def _parts(ctx: Context) -> tuple[SSAValue, ...]:
    shape, data = ctx.shape_of("self"), ctx.of("self")
    operator = ctx.op_type.rpartition(".")[0]
    axis = _axis_of(ctx, operator, len(shape))
    bounds = _PARTS[operator](ctx, shape[axis], ctx.output_count)
    return tuple(cut(ctx, data, axis, start, end) for start, end in bounds)


def _unbind(ctx: Context) -> tuple[SSAValue, ...]:
    shape, data = ctx.shape_of("self"), ctx.of("self")
    axis = ctx.axis("dim", len(shape), 0)
    extent = shape[axis]
    ctx.require_equal(extent, ctx.output_count)
    parts = (cut(ctx, data, axis, at, at + 1) for at in range(ctx.output_count))
    return tuple(ctx.emit(SqueezeOp, part, axis=(axis,)) for part in parts)


TABLE: dict[str, Converter[Context]] = {
    **{f"{operator}.{form}": Converter(_parts) for operator in _AXES for form in ("int", "array")},
    "aten.split_copy.Tensor": Converter(_parts),
    "aten.split_with_sizes_copy.default": Converter(_parts),
    "aten.unsafe_split_with_sizes.default": Converter(_parts),
    "aten.chunk.default": Converter(_parts),
    "aten.select_scatter.default": Converter(_select_scatter),
    "aten.slice_scatter.default": Converter(_slice_scatter),
    "aten.split.Tensor": Converter(_parts),
    "aten.split.sizes": Converter(_parts),
    "aten.split_with_sizes.default": Converter(_parts),
    "aten.tensor_split.indices": Converter(_parts),
    "aten.tensor_split.sections": Converter(_parts),
    "aten.unbind.int": Converter(_unbind),
    "aten.unsafe_chunk.default": Converter(_parts),
    "aten.unsafe_split.Tensor": Converter(_parts),
    "whence.narrow_scatter": Converter(_narrow_scatter),
    "whence.part_scatter": Converter(_part_scatter),
}
