"""Parts of tensors: slices by what numpy calls indices, an axis in parts, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from types import EllipsisType
from typing import TypeAlias, cast

import numpy as np

from ...dialects.relay.creation import SizesOp
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.transform import ReshapeOp, SqueezeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import ENDLESS, Size, UndecidedSize, holds_zero, proves, same, size_min, symbols_of
from ..importing.terms import Term, axis_of, constant

Index: TypeAlias = "int | slice | EllipsisType | None"
_LARGEST = (1 << 31) - 1
"""An end that is as far as 32 bits go."""


def cut(x: Term, axis: int, start: Size, end: Size, step: int = 1) -> Term:
    """Part of an axis, of bounds inside it."""
    begin, stop = cast(int, start), cast(int, end)
    return x.apply(StridedSliceOp, begin=(begin,), end=(stop,), strides=(step,), axes=(axis,))


def element(x: Term, axis: int, at: Size) -> Term:
    """The tensor at a place of an axis, without the axis."""
    return cut(x, axis, at, at + 1).apply(SqueezeOp, axis=(axis,))


# Slices.


def slice_from(x: Term, begin: Sequence[int], size: Sequence[int]) -> Term:
    """So many elements from `begin` on along each axis; -1 is all that are left."""
    shape, ctx = x.shape, x.ctx
    if not len(begin) == len(size) == len(shape):
        ctx.fail(f"{len(shape)} begins and sizes", f"{list(begin)} and {list(size)}")
    end = [e if same(s, -1) else b + s for b, s, e in zip(begin, size, shape, strict=True)]
    for b, e, extent in zip(begin, end, shape, strict=True):
        if any(map(symbols_of, (b, e, extent))):
            for room in (b, e - b, extent - e):
                ctx.require(room)
        elif not 0 <= b <= e <= extent:
            ctx.fail(f"a slice of {list(shape)}", f"begins {list(begin)} and sizes {list(size)}")
    return x.apply(StridedSliceOp, begin=tuple(begin), end=end, strides=(1,) * len(shape))


def strided_slice(
    x: Term,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    lengths: bool = False,
) -> Term:
    """`indexed` by begins, ends and strides, of which bits of masks say what is left out, new, or one element.

    lengths: ends count from their begins.
    """
    if not len(begin) == len(end) == len(strides) or 0 in strides:
        found = f"{list(begin)}, {list(end)} and {list(strides)}"
        x.ctx.fail("as many begins, ends and strides other than 0", found)
    if lengths and (begin_mask or end_mask):
        x.ctx.fail("begins and ends of all axes beside offsets", f"masks {begin_mask} and {end_mask}")
    index: list[Index] = []
    for at, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << at
        if ellipsis_mask & bit:
            index.append(...)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(b)
        else:
            index.append(slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
    return indexed(x, index, lengths)


def indexed(x: Term, index: Sequence[Index], lengths: bool = False) -> Term:
    """numpy's indexing by numbers, slices, new axes and one ellipsis at most.

    lengths: ends of slices count from their begins.
    """
    rank, dots = len(x.shape), [at for at, item in enumerate(index) if item is ...]
    used = sum(item is not None and item is not ... for item in index)
    if len(dots) > 1 or used > rank:
        x.ctx.fail(f"indices of at most {rank} axes, and one ellipsis", f"{used}, and {len(dots)}")
    rest = dots[0] if dots else len(index)
    bounds: list[tuple[int, int, int]] = []
    axes: list[int | None] = []
    for item in (*index[:rest], *[slice(None)] * (rank - used), *index[rest + 1 :]):
        axis = len(bounds)
        if isinstance(item, slice):
            axes.append(axis)
            x, bound = _range(x, axis, item, lengths)
            bounds.append(bound)
        elif item is None:
            axes.append(None)
        else:
            x, bound = _element(x, axis, cast(int, item))
            bounds.append(bound)
    begin, end, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    part = x.apply(StridedSliceOp, begin=begin, end=end, strides=strides)
    return part.reshape(*(1 if axis is None else part.shape[axis] for axis in axes))


def _element(x: Term, axis: int, index: int) -> tuple[Term, tuple[int, int, int]]:
    """One element along an axis: the term to slice, and its bounds there."""
    extent = x.shape[axis]
    at = index if symbols_of(index) or index >= 0 else index + extent
    if symbols_of(extent) or symbols_of(index):
        x.ctx.require(at)
        x.ctx.require(extent - at - 1)
        if not symbols_of(at):
            return x, (at, at + 1, 1)
        place = Term(x.ctx, x.ctx.emit(SizesOp, values=(at,), shape=(1,), dtype="int32"))
        return x.apply(TakeOp, place, axis=axis), (0, 1, 1)
    if not 0 <= at < extent:
        x.ctx.fail(f"an index in [{-extent}, {extent})", str(index))
    return x, (at, at + 1, 1)


def _range(x: Term, axis: int, chosen: slice, lengths: bool) -> tuple[Term, tuple[int, int, int]]:
    """A slice of an axis: the term to slice, and its bounds there."""
    extent, first, last, step = x.shape[axis], chosen.start, chosen.stop, cast(int, chosen.step or 1)
    if lengths and last is not None:
        last = (first + extent if proves(first, "<", 0) else first) + last
    if not any(symbols_of(size) for size in (extent, first, last) if size is not None):
        indices = range(extent)[first:last:step]
        # Relay counts negative ends from the end: one before the first element is so far below.
        stop = indices.stop if indices.stop >= 0 else -extent - 1
        return x, ((indices.start, stop, step) if len(indices) else (0, 0, 1))
    if step < 0:
        if first not in (None, -1) or last is not None:
            raise UndecidedSize(f"a stride of {step} along an axis of {extent}")
        return x.apply(ReverseOp, axis=(axis,)), (0, ENDLESS, -step)
    if last is None or (not symbols_of(last) and last >= _LARGEST):
        last = ENDLESS
    return x, (0 if first is None else first, last, step)


# An axis in parts.


def parts(x: Term, axis: int, sizes: Sequence[Size]) -> tuple[Term, ...]:
    """The elements of an axis, so many for each part."""
    bounds = pairwise(accumulate(sizes, initial=cast(Size, 0)))
    return tuple(cut(x, axis, start, end) for start, end in bounds)


def split(x: Term, axis: int, count: int) -> tuple[Term, ...]:
    """So many equal parts of an axis."""
    axis = axis_of(x, axis)
    extent = x.shape[axis]
    if count < 1:
        x.ctx.fail("at least 1 part", str(count))
    x.ctx.require_multiple(extent, count, f"{count} equal parts")
    return parts(x, axis, [extent // count] * count)


def split_by_sizes(x: Term, sizes: Sequence[int], axis: int) -> tuple[Term, ...]:
    """Parts of an axis of sizes that make it up."""
    axis, ctx = axis_of(x, axis), x.ctx
    extent = x.shape[axis]
    for part in sizes:
        ctx.require_least(part, 0, f"whether a part is {part}")
    ctx.require_equal(sum(sizes), extent)
    if not same(sum(sizes), extent) or any(proves(part, "<", 0) for part in sizes):
        ctx.fail(f"{len(sizes)} sizes that make up {extent}", str(list(sizes)))
    return parts(x, axis, sizes)


def split_with_rest(x: Term, sizes: Sequence[int], axis: int) -> tuple[Term, ...]:
    """`split_by_sizes`, one of which may be -1: what is left."""
    rest = [at for at, size in enumerate(sizes) if same(size, -1)]
    left = x.shape[axis_of(x, axis)] - sum(sizes) - 1
    return split_by_sizes(x, [left if [at] == rest else size for at, size in enumerate(sizes)], axis)


def uneven_ends(extent: Size, count: int) -> list[Size]:
    """The ends of so many parts but for the last; the first ones have an element more where it does not divide."""
    small, larger = extent // count, extent % count
    return [small * at + size_min(larger, at) for at in range(1, count)]


def split_at(x: Term, axis: int, ends: Sequence[Size]) -> tuple[Term, ...]:
    """Parts of an axis that end, but for the last, where numpy's slices to these bounds do."""
    bounds = pairwise((0, *ends, x.shape[axis]))
    return tuple(cut(x, axis, start, end) for start, end in bounds)


def unstack(x: Term, axis: int, count: int) -> tuple[Term, ...]:
    """The tensors along an axis, of which there are so many."""
    axis = axis_of(x, axis)
    x.ctx.require_equal(x.shape[axis], count)
    if not same(x.shape[axis], count):
        x.ctx.fail(f"{count} elements along axis {axis}", str(x.shape[axis]))
    return tuple(element(x, axis, at) for at in range(count))


# Diagonals.


def diagonal(x: Term, offset: int = 0, first: int = 0, second: int = 1) -> Term:
    """The diagonal of two axes, so far above the main one, as the last axis."""
    rows, columns = axis_of(x, first), axis_of(x, second)
    if rows == columns:
        x.ctx.fail("two axes", f"{first} and {second}")
    others = [axis for axis in range(len(x.shape)) if axis not in (rows, columns)]
    matrices = x.apply(TransposeOp, axes=(*others, rows, columns))
    *outer, height, width = matrices.shape
    if any(map(symbols_of, (height, width))):
        x.ctx.fail("a matrix of known extents", f"{height}, {width}")
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(height - down, width - right), 0)
    shape = (*outer, height * width)
    flat = matrices.apply(ReshapeOp, newshape=shape, allowzero=int(holds_zero(shape)))
    at = np.arange(count, dtype=np.int64) * (width + 1) + down * width + right
    return flat.apply(TakeOp, constant(x.ctx, at, "diagonal"), axis=len(outer))
