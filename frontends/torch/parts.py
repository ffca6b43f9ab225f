"""Parts of tensors along an axis: split off, and put back into the whole once they have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import cast

from ...dialects.sizes import Size, proves, size_min
from ..importing.attributes import Int, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings import moves, slices
from .context import Context
from .shaping import END, bounded, bounds_of, place_in


def replaced(whole: Term, axis: int, start: Size, end: Size, step: int, part: Term) -> Term:
    """The whole with a part of an axis replaced, by what is before it, the part, and what is behind it."""
    shape = whole.shape
    count = (end - start + step - 1) // step
    part = moves.broadcast(part.to(whole.dtype), (*shape[:axis], cast(int, count), *shape[axis + 1 :]))
    if step != 1:
        return _spread(whole, axis, start, end, step, part)
    return _between(whole, axis, start, part, end)


def _between(whole: Term, axis: int, start: Size, part: Term, end: Size) -> Term:
    """The elements before a place, a part, and those from another place on."""
    pieces = [] if proves(start, "==", 0) else [slices.cut(whole, axis, 0, start)]
    pieces.append(part)
    pieces += [] if proves(end, "==", whole.shape[axis]) else [slices.cut(whole, axis, end, whole.shape[axis])]
    return moves.concatenate(*pieces, axis=axis)


def _spread(whole: Term, axis: int, start: Size, end: Size, step: int, part: Term) -> Term:
    """Every `step`-th element replaced: of each run of `step`, the first is the part's."""
    shape = whole.shape
    count = (end - start + step - 1) // step
    span = count * step
    middle = slices.cut(whole, axis, start, size_min(start + span, shape[axis]))
    missing = span - middle.shape[axis]
    if not proves(missing, "==", 0):
        # The last run may be cut short by the end: any elements stand for the rest, which goes again.
        filler = slices.cut(moves.concatenate(*[middle] * step, axis=axis), axis, 0, missing)
        middle = moves.concatenate(middle, filler, axis=axis)
    runs = moves.shaped(middle, cast("tuple[int, ...]", (*shape[:axis], count, step, *shape[axis + 1 :])))
    first = moves.expand_dims(part, axis + 1)
    mixed = moves.concatenate(first, slices.cut(runs, axis + 1, 1, step), axis=axis + 1)
    flat = moves.shaped(mixed, cast("tuple[int, ...]", (*shape[:axis], span, *shape[axis + 1 :])))
    kept = size_min(start + span, shape[axis]) - start
    flat = flat if proves(kept, "==", span) else slices.cut(flat, axis, 0, kept)
    return _between(whole, axis, start, flat, start + kept)


def _slice_scatter(x: Term, part: Term, axis: int, start: int, end: int, step: int) -> Term:
    axis = axis_of(x, axis)
    return replaced(x, axis, *bounds_of(x.ctx, x.shape[axis], start, end, step), part)


def _select_scatter(x: Term, part: Term, axis: int, index: int) -> Term:
    axis = axis_of(x, axis)
    position = place_in(x.ctx, index, x.shape[axis])
    return replaced(x, axis, position, position + 1, 1, moves.expand_dims(part, axis))


def _narrow_scatter(x: Term, part: Term, axis: int, start: int, length: int) -> Term:
    axis = axis_of(x, axis)
    first = place_in(x.ctx, start, x.shape[axis])
    return replaced(x, axis, first, first + length, 1, part)


def _part_scatter(ctx: Context, x: Term, part: Term, operator: str, count: int, number: int) -> Term:
    """A part of a split replaced; the arguments are those of the split."""
    axis = _axis_of(ctx, operator, x)
    start, end = _PARTS[operator](ctx, x.shape[axis], count)[number]
    return replaced(x, axis, start, end, 1, part)


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
        marks = [bounded(index, extent) for index in ctx.ints("indices")]
        return list(pairwise([0, *marks, extent]))
    sections = ctx.int("sections")
    if sections < 1:
        ctx.fail("at least 1 section", str(sections))
    return list(pairwise([0, *slices.uneven_ends(extent, sections), extent]))


_AXES = {"aten.dsplit": 2, "aten.hsplit": 1, "aten.vsplit": 0}
"""Operator -> the axis that it splits, where no argument says it."""


def _axis_of(ctx: Context, operator: str, x: Term) -> int:
    if operator not in _AXES:
        return axis_of(x, ctx.int("dim", 0))
    return min(_AXES[operator], len(x.shape) - 1)


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


def _parts(ctx: Context, x: Term) -> tuple[Term, ...]:
    operator = ctx.op_type.rpartition(".")[0]
    axis = _axis_of(ctx, operator, x)
    bounds = _PARTS[operator](ctx, x.shape[axis], ctx.output_count)
    return tuple(slices.cut(x, axis, start, end) for start, end in bounds)


def _unbind(ctx: Context, x: Term, axis: int) -> tuple[Term, ...]:
    return slices.unstack(x, axis, ctx.output_count)


_SPLIT = row(_parts, "self")
_FIRST = Int(0, name="dim")

TABLE: dict[str, Converter[Context]] = {
    **{f"{operator}.{form}": _SPLIT for operator in _AXES for form in ("int", "array")},
    "aten.split_copy.Tensor": _SPLIT,
    "aten.split_with_sizes_copy.default": _SPLIT,
    "aten.unsafe_split_with_sizes.default": _SPLIT,
    "aten.chunk.default": _SPLIT,
    "aten.select_scatter.default": row(_select_scatter, "self src", axis=_FIRST, index=Int()),
    "aten.slice_scatter.default": row(_slice_scatter, "self src", axis=_FIRST, start=Int(0), end=Int(END), step=Int(1)),
    "aten.split.Tensor": _SPLIT,
    "aten.split.sizes": _SPLIT,
    "aten.split_with_sizes.default": _SPLIT,
    "aten.tensor_split.indices": _SPLIT,
    "aten.tensor_split.sections": _SPLIT,
    "aten.unbind.int": row(_unbind, "self", axis=_FIRST),
    "aten.unsafe_chunk.default": _SPLIT,
    "aten.unsafe_split.Tensor": _SPLIT,
    "whence.narrow_scatter": row(_narrow_scatter, "self src", axis=Int(name="dim"), start=Int(), length=Int()),
    "whence.part_scatter": row(_part_scatter, "self src", operator=Word(""), count=Int(), number=Int()),
}
