"""Operations of `keras.ops` that choose elements by their places."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp, StridedSliceOp
from ...dialects.sizes import same, symbols_of
from ..importing.attributes import Flag, Int, Ints, Word
from ..importing.tensor import shape_of
from ..importing.terms import Term, constant
from ..meanings import indices, scatters
from ..meanings.dynamic_slices import dynamic_update_slice, elements_of
from ..meanings.sorting import is_in
from .context import Context, Reference
from .nests import items_of, whole
from .operands import argument_term, array_of, dtype_option, operands
from .rows import Row, declared


def get_item(ctx: Context) -> SSAValue:
    """Numpy's indexing by numbers, slices, new axes and one ellipsis."""
    value = ctx.data(0, "x")
    argument = ctx.argument(1, "key")
    several = items_of(argument)
    keys: list[Any] = [argument] if several is None else several
    if any(isinstance(key, Reference) for key in keys):
        ctx.fail("indices known before the call", "a tensor")
    used = sum(key is not None and key is not ... for key in keys)
    rank = len(shape_of(value))
    if keys.count(...) > 1 or used > rank:
        ctx.fail(f"at most {rank} indices", str(len(keys)))
    if ... not in keys:
        keys.append(...)
    at = keys.index(...)
    keys[at : at + 1] = [slice(None)] * (rank - used)
    bounds: list[tuple[int, int, int]] = []
    gone: list[int] = []
    new: list[int] = []
    for key in keys:
        if key is None:
            new.append(len(bounds) - len(gone) + len(new))
            continue
        if isinstance(key, int):
            gone.append(len(bounds))
        bounds.append(_bounds(ctx, key, shape_of(value)[len(bounds)]))
    rows = zip(bounds, shape_of(value), strict=True)
    if not all(same(first, 0) and same(last, extent) and step == 1 for (first, last, step), extent in rows):
        begin, end, strides = ([row[at] for row in bounds] for at in range(3))
        value = ctx.emit(StridedSliceOp, value, begin=begin, end=end, strides=strides)
    if gone:
        value = ctx.emit(SqueezeOp, value, axis=gone)
    for axis in new:
        value = ctx.emit(ExpandDimsOp, value, axis=axis)
    return value


def _bounds(ctx: Context, key: Any, extent: int) -> tuple[int, int, int]:
    """Begin, end and step of an index or slice of an axis."""
    if (number := whole(key)) is not None:
        first = extent + number if number < 0 else number
        if not symbols_of(extent) and not 0 <= first < extent:
            ctx.fail(f"an index of {extent} elements", str(number))
        return first, first + 1, 1
    ends: list[Any] = [getattr(key, name, key) for name in ("start", "stop", "step")]
    if any(end is not None and whole(end) is None for end in ends):
        ctx.fail("a number, or a slice of numbers, as index", repr(ends)[:80])
    start, stop, step = (whole(end) for end in ends)
    if not symbols_of(extent):
        if step == 0:
            ctx.fail("a step that is not 0", "0")
        first, last, stride = slice(start, stop, step).indices(extent)
        return first, (last if last >= 0 else -extent - 1), stride
    if step is not None and step < 1:
        ctx.fail("a step forwards along an axis of open size", str(step))
    first = 0 if start is None else extent + start if start < 0 else start
    last = extent if stop is None else extent + stop if stop < 0 else stop
    return first, last, step or 1


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
    "GetItem": Row(get_item),
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
