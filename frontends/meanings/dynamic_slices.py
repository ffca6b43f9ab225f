"""Slices at starts that are data: a start is moved so that all of the slice is inside."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.relay import elementwise as ew
from ...dialects.relay.logic import GreaterEqualOp
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.transform import StridedSliceOp, TakeOp
from ..importing.terms import Term, constant, places, where
from .indices import numbers_of
from .slices import element


def elements_of(x: Term) -> list[Term]:
    """The elements of a vector as scalars; of a known one their numbers."""
    numbers = numbers_of(x)
    if numbers is not None:
        return [constant(x.ctx, number.reshape(()), "start") for number in numbers]
    return [element(x, 0, at) for at in range(x.shape[0])]


def _moved_inside(x: Term, starts: Sequence[Term], sizes: Sequence[int]) -> list[int | Term]:
    """The starts along each axis at which a slice of `sizes` is inside; numbers where they are known."""
    if not len(starts) == len(sizes) == len(x.shape):
        x.ctx.fail(f"{len(x.shape)} starts and sizes", f"{len(starts)} and {len(sizes)}")
    if any(not 0 <= size <= extent for size, extent in zip(sizes, x.shape, strict=True)):
        x.ctx.fail(f"sizes inside {list(x.shape)}", str(list(sizes)))
    moved: list[int | Term] = []
    for start, size, extent in zip(starts, sizes, x.shape, strict=True):
        numbers = numbers_of(start)
        if size == extent:
            moved.append(0)
        elif numbers is not None and numbers.size == 1:
            moved.append(min(max(int(numbers.item()), 0), extent - size))
        else:
            wide = start.to("int64").reshape()
            moved.append(wide.apply(ew.MaximumOp, 0).apply(ew.MinimumOp, extent - size))
    return moved


def dynamic_slice(x: Term, *starts: Term, sizes: Sequence[int]) -> Term:
    """A slice of known sizes: static along axes whose starts are known, taken row by row along others."""
    moved = _moved_inside(x, starts, sizes)
    begin = [start if isinstance(start, int) else 0 for start in moved]
    end = [begin[at] + size if isinstance(moved[at], int) else x.shape[at] for at, size in enumerate(sizes)]
    result = x
    if begin != [0] * len(x.shape) or end != list(x.shape):
        result = x.apply(StridedSliceOp, begin=begin, end=end, strides=[1] * len(x.shape))
    for axis, start in enumerate(moved):
        if isinstance(start, Term):
            result = result.apply(TakeOp, places(x.ctx, sizes[axis]) + start, axis=axis, mode="clip")
    return x.apply(ew.CopyOp) if result is x else result


def dynamic_update_slice(x: Term, update: Term, *starts: Term) -> Term:
    """Data with a slice written: chosen element by element along axes whose starts a call decides."""
    sizes, shape = update.shape, x.shape
    moved = _moved_inside(x, starts, sizes)
    begin = [start for start in moved if isinstance(start, int)]
    if len(begin) == len(moved):
        end = [first + size for first, size in zip(begin, sizes, strict=True)]
        return x.apply(StridedSetOp, update, begin=begin, end=end, strides=[1] * len(shape))
    inside: Term | None = None
    for axis, start in enumerate(moved):
        if sizes[axis] == shape[axis]:
            continue
        offset = places(x.ctx, shape[axis]) - start
        here = offset.apply(GreaterEqualOp, 0) & (offset < sizes[axis])
        here = here.reshape(*(extent if at == axis else 1 for at, extent in enumerate(shape)))
        inside = here if inside is None else inside & here
        if sizes[axis] != 1:
            update = update.apply(TakeOp, offset, axis=axis, mode="clip")
    assert inside is not None
    return where(inside, update, x)
