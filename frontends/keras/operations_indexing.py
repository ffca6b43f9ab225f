"""Operations of `keras.ops` that choose elements by their places."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherOp, OneHotOp
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp, StridedSliceOp, TakeOp
from ...dialects.sizes import same, symbols_of
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import where
from .context import Context, Reference
from .nests import items_of, whole
from .operands import argument_term, array_of, dtype_option
from .rows import Row


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


def take(ctx: Context) -> SSAValue:
    """Elements at indices, which are brought inside; negative ones count from the end."""
    value, axis = argument_term(ctx).value, ctx.option("axis")
    if axis is None:
        value, axis = reshaped(ctx, value, (prod(shape_of(value)),)), 0
    axis = ctx.axis(axis, len(shape_of(value)))
    return ctx.emit(TakeOp, value, _indices(ctx, shape_of(value)[axis]), axis=axis, mode="clip")


def _indices(ctx: Context, extent: int) -> SSAValue:
    """The indices of argument 1 with those below 0 counted from the end."""
    numbers = array_of(ctx, ctx.argument(1, "indices"))
    if numbers is not None and not symbols_of(extent):
        places = numbers.astype(np.int32)
        return ctx.constant(np.where(places < 0, places + np.int32(extent), places), "indices")
    x = argument_term(ctx, 1, "indices")
    x = x if x.dtype.kind in "iu" else x.to("int32")
    return x.value if x.dtype.kind == "u" else where(x < 0, x + x.number(extent), x).value


def take_along_axis(ctx: Context) -> SSAValue:
    value, axis = ctx.data(0, "x"), ctx.option("axis")
    indices = ctx.data(1, "indices")
    shape = shape_of(indices)
    if axis is None:
        value, indices, axis = (*(reshaped(ctx, term, (prod(shape_of(term)),)) for term in (value, indices)), 0)
    return reshaped(ctx, ctx.emit(GatherOp, value, indices, axis=ctx.axis(axis, len(shape_of(value)))), shape)


def one_hot(ctx: Context) -> SSAValue:
    x = argument_term(ctx).value
    if dtype_of(x).kind not in "iu":
        x = ctx.cast(x, "int32")
    if ctx.flag("sparse", False):
        ctx.fail("a dense result", "a sparse one")
    dtype = dtype_option(ctx) or "float32"
    ends = [ctx.constant(np.asarray(value).astype(dtype), "scalar") for value in (1, 0)]
    axis = ctx.axis(ctx.int("axis", -1), len(shape_of(x)) + 1)
    return ctx.emit(OneHotOp, x, *ends, depth=ctx.int("num_classes", least=1), axis=axis, dtype=dtype)


TABLE: dict[str, Row] = {
    "GetItem": Row(get_item),
    "OneHot": Row(one_hot),
    "Take": Row(take),
    "TakeAlongAxis": Row(take_along_axis),
}
