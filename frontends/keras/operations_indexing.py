"""Operations of `keras.ops` that choose elements by their places."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..importing.attributes import Flag, Int, Ints, Word
from ..importing.terms import Term, constant
from ..meanings import indices, scatters
from ..meanings.dynamic_slices import dynamic_update_slice, elements_of
from ..meanings.slices import indexed
from ..meanings.sorting import is_in
from .context import Context, Reference
from .nests import items_of, whole
from .operands import argument_term, array_of, dtype_option, operands
from .rows import Row, declared


def _get_item(ctx: Context, x: Term) -> Term:
    """Numpy's indexing by numbers, slices, new axes and one ellipsis."""
    argument = ctx.argument(1, "key")
    several = items_of(argument)
    keys: list[Any] = [argument] if several is None else several
    if any(isinstance(key, Reference) for key in keys):
        ctx.fail("indices known before the call", "a tensor")
    for key in keys:
        ends = [getattr(key, name, key) for name in ("start", "stop", "step")]
        if key is not ... and any(end is not None and whole(end) is None for end in ends):
            ctx.fail("a number, or a slice of numbers, as index", repr(ends)[:80])
        if ends[2] == 0 and isinstance(key, slice):
            ctx.fail("a step that is not 0", "0")
    return indexed(x, keys)


def _take(ctx: Context, axis: int | None) -> Term:
    """Elements at indices, among all where no axis is given."""
    x = argument_term(ctx)
    x, axis = (x.reshape(prod(x.shape)), 0) if axis is None else (x, axis)
    return indices.take(x, _whole_numbers(ctx, 1, "indices"), axis, rule="held")


def _whole_numbers(ctx: Context, index: int, name: str) -> Term:
    """An argument as integers, int32 of what are none."""
    numbers = array_of(ctx, ctx.argument(index, name))
    if numbers is not None:
        return constant(ctx, numbers.astype(np.int32), name)
    x = argument_term(ctx, index, name)
    return x if x.dtype.kind in "iu" else x.to("int32")


def _take_along_axis(x: Term, places: Term, axis: int | None) -> Term:
    if axis is not None:
        return indices.take_along(x, places, axis, rule="held", broadcasts=True)
    flat = indices.take_along(x.reshape(prod(x.shape)), places.reshape(prod(places.shape)), rule="held")
    return flat.reshape(*places.shape)


def _one_hot(ctx: Context, classes: int, axis: int, sparse: bool) -> Term:
    if sparse:
        ctx.fail("a dense result", "a sparse one")
    dtype = dtype_option(ctx) or "float32"
    on, off = (constant(ctx, np.asarray(value).astype(dtype), "scalar") for value in (1, 0))
    return indices.one_hot(_whole_numbers(ctx, 0, "x"), classes, on, off, axis)


def _scatter_update(ctx: Context, how: str | None) -> Term:
    x, updates = operands(ctx, ctx.argument(0, "inputs"), ctx.argument(2, "updates"))
    points = _whole_numbers(ctx, 1, "indices")
    return scatters.scatter_nd(x, points, updates, how or "update", rule="from_end")


def _scatter(ctx: Context, shape: tuple[int, ...]) -> Term:
    return scatters.scatter_into_zeros(_whole_numbers(ctx, 0, "indices"), argument_term(ctx, 1, "values"), shape)


def _slice_update(ctx: Context) -> Term:
    x, update = operands(ctx, ctx.argument(0, "inputs"), ctx.argument(2, "updates"))
    argument = ctx.argument(1, "start_indices")
    items = items_of(argument)
    if items is None or not any(isinstance(item, Reference) for item in items):
        starts = elements_of(_whole_numbers(ctx, 1, "start_indices"))
    else:
        starts = operands(ctx, *items)
    return dynamic_update_slice(x, update, *starts)


def _segments(function: scatters.Segments) -> Row:
    def computed(ctx: Context, count: int | None) -> Term:
        ids = _whole_numbers(ctx, 1, "segment_ids")
        if count is None:
            numbers = indices.numbers_of(ids)
            if numbers is None:
                ctx.fail("num_segments, or known segment_ids", "neither")
            count = int(numbers.max(initial=-1)) + 1
        return function(argument_term(ctx, 0, "data"), ids, count)

    return declared(computed, "", count=Int(None, name="num_segments"), unread={"sorted": "a faster way"})


def _is_in(ctx: Context, invert: bool) -> Term:
    x, others = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    return is_in(x, others, invert)


TABLE: dict[str, Row] = {
    "GetItem": declared(_get_item, "x"),
    "IsIn": declared(_is_in, "", invert=Flag(False), unread={"assume_unique": "a faster way"}),
    "OneHot": declared(_one_hot, "", classes=Int(name="num_classes", least=1), axis=Int(-1), sparse=Flag(False)),
    "Scatter": declared(_scatter, "", shape=Ints()),
    "ScatterUpdate": declared(
        _scatter_update, "", how=Word(None, name="reduction", among=("add", "max", "min", "mul"))
    ),
    "SegmentMax": _segments(partial(scatters.segment_reduced, "max", infinite=True)),
    "SegmentMin": _segments(partial(scatters.segment_reduced, "min", infinite=True)),
    "SegmentProd": _segments(partial(scatters.segment_reduced, "mul")),
    "SegmentSum": _segments(scatters.segment_sum),
    "SliceUpdate": declared(_slice_update, ""),
    "Take": declared(_take, "", axis=Int(None)),
    "TakeAlongAxis": declared(_take_along_axis, "x indices", axis=Int(None)),
}
