"""Slices, and ranges of numbers."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import rearrange
from ...dialects.relay.creation import ArangeOp, SizesOp
from ...dialects.relay.transform import ReshapeOp, StridedSliceOp, TakeOp
from ...dialects.sizes import ENDLESS, UndecidedSize, size_max, symbols_of
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.moves import slice_from
from ..importing.products import reshaped
from ..importing.tensor import Undecided, shape_of
from ..importing.terms import Term, places
from .context import Context
from .strided import Place, places_of

_LARGEST = (1 << 31) - 1
"""An end that is as far as 32 bits go."""


def slice_(ctx: Context) -> SSAValue:
    """From `begin` on `size` elements along each axis; -1 is all that are left."""
    size = ctx.known_ints(2, "sizes")
    try:
        begin = ctx.known_ints(1, "begins")
    except Undecided:
        return _moving_slice(ctx, size)
    return slice_from(ctx, begin, size)


def _moving_slice(ctx: Context, size: tuple[int, ...]) -> SSAValue:
    """A slice that begins where values say, as elements taken along each axis."""
    shape, begins = ctx.shape(0), ctx.value(1)
    if -1 in size or len(size) != len(shape) or any(map(symbols_of, (*size, *shape))):
        ctx.known_ints(1, "begins")
    value = ctx.value(0)
    for axis, (count, extent) in enumerate(zip(size, shape, strict=True)):
        if count == extent:
            continue
        begin = ctx.emit(StridedSliceOp, begins, begin=(axis,), end=(axis + 1,), strides=(1,))
        at = Term(ctx, begin) + places(ctx, count, dtype=ctx.dtype(1).name)
        value = ctx.emit(TakeOp, value, at.value, axis=axis)
    return value


def strided_slice(ctx: Context) -> SSAValue:
    """numpy's slices: masks leave out begins and ends, and say which axes are new, or go."""
    shape = ctx.shape(0)
    try:
        begin, end, strides = (ctx.known_ints(k, what) for k, what in ((1, "begins"), (2, "ends"), (3, "strides")))
    except Undecided:
        if (single := _taken(ctx)) is not None:
            return single
        raise
    places = places_of(ctx, begin, end, strides)
    indexed = sum(spec.kind in ("index", "range") for spec in places)
    if indexed > len(shape):
        ctx.fail(f"indices of at most {len(shape)} axes", str(indexed))
    if all(spec.kind != "rest" for spec in places):
        places.append(Place("rest"))
    bounds: list[tuple[int, int, int]] = []
    result: list[int | None] = []
    value = ctx.value(0)
    for spec in places:
        axis = len(bounds)
        if spec.kind == "new":
            result.append(None)
            continue
        if spec.kind == "rest":
            for extent in shape[axis : axis + len(shape) - indexed]:
                result.append(len(bounds))
                bounds.append((0, extent, 1))
            continue
        extent = shape[axis]
        if spec.kind == "index":
            value, bound = _one(ctx, value, axis, extent, cast(int, spec.begin))
            bounds.append(bound)
            continue
        result.append(axis)
        if any(symbols_of(size) for size in (extent, spec.begin or 0, spec.end or 0)):
            value, bound = _open(ctx, value, axis, extent, spec)
            bounds.append(bound)
            continue
        chosen = range(extent)[spec.begin : spec.end : spec.stride]
        # Relay counts negative ends from the end: one before the first element is so far below.
        stop = chosen.stop if chosen.stop >= 0 else -extent - 1
        bounds.append((chosen.start, stop, spec.stride) if len(chosen) else (0, 0, 1))
    begins, ends, steps = zip(*bounds, strict=True) if bounds else ((), (), ())
    part = ctx.emit(StridedSliceOp, value, begin=begins, end=ends, strides=steps)
    left = shape_of(part)
    return reshaped(ctx, part, tuple(1 if axis is None else left[axis] for axis in result))


def _one(ctx: Context, value: SSAValue, axis: int, extent: int, index: int) -> tuple[SSAValue, tuple[int, int, int]]:
    """One element along an axis: the value to slice, and its bounds there."""
    at = index if symbols_of(index) or index >= 0 else index + extent
    if symbols_of(extent) or symbols_of(index):
        ctx.require(at)
        ctx.require(extent - at - 1)
        if not symbols_of(at):
            return value, (at, at + 1, 1)
        spec = ctx.emit(SizesOp, values=(at,), shape=(1,), dtype="int32")
        return ctx.emit(TakeOp, value, spec, axis=axis), (0, 1, 1)
    if not 0 <= at < extent:
        ctx.fail(f"an index in [{-extent}, {extent})", str(index))
    return value, (at, at + 1, 1)


def _open(ctx: Context, value: SSAValue, axis: int, extent: int, spec: Place) -> tuple[SSAValue, tuple[int, int, int]]:
    """A range along an axis where sizes of the call say how far: the value to slice, and its bounds there."""
    first = 0 if spec.begin is None else spec.begin
    last = ENDLESS if spec.end is None or (not symbols_of(spec.end) and spec.end >= _LARGEST) else spec.end
    if spec.stride < 0:
        if spec.begin not in (None, -1) or spec.end is not None:
            raise UndecidedSize(f"strided_slice: a stride of {spec.stride} along an axis of {extent}")
        return ctx.emit(rearrange.ReverseOp, value, axis=(axis,)), (0, ENDLESS, -spec.stride)
    return value, (first, last, spec.stride)


def _taken(ctx: Context) -> SSAValue | None:
    """One element along the first axis, at a place that is computed; None for other slices."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")
    if any(ctx.int(name, 0) for name in masks) or ctx.int("shrink_axis_mask", 0) != 1 or ctx.shape(1) != (1,):
        return None
    return ctx.emit(TakeOp, ctx.value(0), ctx.emit(ReshapeOp, ctx.value(1), newshape=()), axis=0)


def range_(ctx: Context) -> Array | SSAValue:
    dtype = ctx.dtype(0)
    if any(ctx.tensor(k).symbolic for k in range(3)):
        start, limit, step = (ctx.one(k, "sizes") for k in range(3))
        if not (start == 0 and step == 1):
            raise UndecidedSize(f"range: from {start} to {limit} by {step}")
        dtype = ctx.element("Tidx", np.dtype("int32"))
        return ctx.emit(ArangeOp, stop=(cast(int, size_max(limit, 0)),), dtype=dtype.name)
    numbers = [ctx.array(k, what).reshape(()) for k, what in enumerate(("a start", "a limit", "a step"))]
    start, limit, delta = (number.astype(np.float64).item() for number in numbers)
    if not delta:
        ctx.fail("a step other than 0", "0")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    ctx.fits((count,), dtype)
    return (start + np.arange(count) * delta).astype(dtype)


def lin_space(ctx: Context) -> Array:
    start, stop = (ctx.single(k, what) for k, what in enumerate(("a start", "a stop")))
    count = ctx.one(2, "a number of elements")
    if count < 1:
        ctx.fail("at least 1 element", str(count))
    return np.linspace(start, stop, count).astype(ctx.dtype(0))


TABLE = {
    "LinSpace": Converter(lin_space),
    "Range": Converter(range_),
    "Slice": Converter(slice_),
    "StridedSlice": Converter(strided_slice),
}
