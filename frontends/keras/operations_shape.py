"""Operations of `keras.ops` that move, join, repeat or choose elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherOp, OneHotOp
from ...dialects.relay.linear_algebra import TriluOp
from ...dialects.relay.rearrange import RepeatOp, ReverseOp, SplitOp, StackOp, TileOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    PadOp,
    SqueezeOp,
    StridedSliceOp,
    TakeOp,
    TransposeOp,
)
from ...dialects.sizes import same
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import where
from .context import Context, Reference
from .operands import argument_term, array_of, axes_option, dtype_option, operands
from .reshaping import filled
from .rows import Row


def _shape_option(ctx: Context, name: str, value: SSAValue) -> tuple[int, ...]:
    """A shape in the configuration, in which null is the batch and -1 what is left."""
    option = ctx.option(name)
    if isinstance(option, int):
        option = [option]
    if not isinstance(option, list):
        ctx.fail(f"a shape as '{name}'", repr(option))
    batch = shape_of(value)[0] if shape_of(value) else 1
    extents = [batch if extent is None else extent for extent in cast("list[Any]", option)]
    if extents and extents[0] == -1 and extents.count(-1) == 1:
        rest = prod(extents[1:])
        if rest and same(prod(shape_of(value)[1:]), rest):
            return (batch, *extents[1:])
    return filled(ctx, extents, prod(shape_of(value)))


def reshape(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    return reshaped(ctx, value, _shape_option(ctx, "newshape", value))


def broadcast_to(ctx: Context) -> SSAValue:
    value, option = ctx.data(0, "x"), ctx.option("shape")
    if not isinstance(option, list):
        ctx.fail("a shape", repr(option))
    own = shape_of(value)
    shape = [own[0] if extent is None and own else extent for extent in cast("list[Any]", option)]
    return ctx.emit(BroadcastToOp, value, shape=shape)


def transpose(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    rank = len(shape_of(value))
    axes = tuple(reversed(range(rank))) if ctx.option("axes") is None else ctx.ints("axes")
    return permuted(ctx, value, tuple(ctx.axis(axis, rank) for axis in axes))


def permuted(ctx: Context, value: SSAValue, axes: tuple[int, ...]) -> SSAValue:
    if sorted(axes) != list(range(len(shape_of(value)))):
        ctx.fail(f"an order of {len(shape_of(value))} axes", str(list(axes)))
    return value if axes == tuple(range(len(axes))) else ctx.emit(TransposeOp, value, axes=axes)


def swapaxes(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    order = list(range(len(shape_of(value))))
    a, b = (ctx.axis(ctx.int(name), len(order)) for name in ("axis1", "axis2"))
    order[a], order[b] = order[b], order[a]
    return permuted(ctx, value, tuple(order))


def moveaxis(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    rank = len(shape_of(value))
    moved = [
        [ctx.axis(axis, rank) for axis in (ctx.ints(name, 1) if isinstance(ctx.option(name), int) else ctx.ints(name))]
        for name in ("source", "destination")
    ]
    source, target = moved
    if len(source) != len(target):
        ctx.fail("as many places as axes", f"{source} and {target}")
    order = [axis for axis in range(rank) if axis not in source]
    for position, axis in sorted(zip(target, source, strict=True)):
        order.insert(position, axis)
    return permuted(ctx, value, tuple(order))


def expand_dims(ctx: Context) -> SSAValue:
    value, option = ctx.data(0, "x"), ctx.option("axis")
    axes = cast("list[int]", option) if isinstance(option, list) else [option]
    rank = len(shape_of(value)) + len(axes)
    for axis in sorted(ctx.axis(axis, rank) for axis in axes):
        value = ctx.emit(ExpandDimsOp, value, axis=axis)
    return value


def squeeze(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    shape = shape_of(value)
    axes = axes_option(ctx, len(shape))
    if ctx.option("axis") is None:
        axes = tuple(axis for axis in axes if same(shape[axis], 1))
    return ctx.emit(SqueezeOp, value, axis=axes) if axes else value


def ravel(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    return reshaped(ctx, value, (prod(shape_of(value)),))


def _list(ctx: Context, name: str = "xs") -> list[SSAValue]:
    """The tensors and numbers of a list, in a common dtype."""
    option = ctx.argument(0, name)
    items = cast("list[Any]", option) if isinstance(option, list) else [option]
    if not items:
        ctx.fail("a list of tensors", "none")
    return [term.value for term in operands(ctx, *items)]


def concatenate(ctx: Context) -> SSAValue:
    values = _list(ctx)
    return ctx.emit(ConcatenateOp, values, axis=ctx.axis(ctx.int("axis", 0), len(shape_of(values[0]))))


def stack(ctx: Context) -> SSAValue:
    values = _list(ctx, "x")
    return ctx.emit(StackOp, values, axis=ctx.axis(ctx.int("axis", 0), len(shape_of(values[0])) + 1))


def along(axis: int) -> Callable[[Context], SSAValue]:
    """hstack and vstack: concatenation along an axis, of vectors along their own."""

    def convert(ctx: Context) -> SSAValue:
        values = _list(ctx)
        rank = len(shape_of(values[0]))
        if axis == 0 and rank == 1:
            values = [ctx.emit(ExpandDimsOp, value, axis=0) for value in values]
        return ctx.emit(ConcatenateOp, values, axis=min(axis, rank - 1))

    return convert


def split(ctx: Context) -> tuple[SSAValue, ...]:
    value, option = ctx.data(0, "x"), ctx.option("indices_or_sections")
    axis = ctx.axis(ctx.int("axis", 0), len(shape_of(value)))
    if isinstance(option, int):
        return ctx.emit_all(SplitOp, value, indices_or_sections=(option,), sections=True, axis=axis)
    return ctx.emit_all(SplitOp, value, indices_or_sections=ctx.ints("indices_or_sections"), axis=axis)


def unstack(ctx: Context) -> tuple[SSAValue, ...]:
    value = ctx.data(0, "x")
    axis = ctx.axis(ctx.int("axis", 0), len(shape_of(value)))
    count = shape_of(value)[axis]
    if not isinstance(count, int):
        ctx.fail("a known number of parts", str(count))
    parts = ctx.emit_all(SplitOp, value, indices_or_sections=(count,), sections=True, axis=axis)
    return tuple(ctx.emit(SqueezeOp, part, axis=(axis,)) for part in parts)


def flip(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    return ctx.emit(ReverseOp, value, axis=axes_option(ctx, len(shape_of(value))))


def repeat(ctx: Context) -> SSAValue:
    value, option = ctx.data(0, "x"), ctx.option("axis")
    if not isinstance(ctx.option("repeats"), int):
        ctx.fail("one number of repeats", repr(ctx.option("repeats")))
    if option is None:
        value, option = reshaped(ctx, value, (prod(shape_of(value)),)), 0
    return ctx.emit(RepeatOp, value, repeats=ctx.positive("repeats"), axis=ctx.axis(option, len(shape_of(value))))


def tile(ctx: Context) -> SSAValue:
    option = ctx.option("repeats")
    return ctx.emit(TileOp, ctx.data(0, "x"), reps=(option,) if isinstance(option, int) else ctx.ints("repeats"))


def roll(ctx: Context) -> SSAValue:
    """The last elements along axes first."""
    value, option = ctx.data(0, "x"), ctx.option("axis")
    shape = shape_of(value)
    shifts = ctx.ints("shift", 1) if isinstance(ctx.option("shift"), int) else ctx.ints("shift")
    if option is None:
        flat = reshaped(ctx, value, (prod(shape),))
        return reshaped(ctx, _rolled(ctx, flat, 0, sum(shifts)), shape)
    axes = cast("list[int]", option) if isinstance(option, list) else [option] * len(shifts)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    for axis, shift in zip(axes, shifts, strict=True):
        value = _rolled(ctx, value, ctx.axis(axis, len(shape)), shift)
    return value


def _rolled(ctx: Context, value: SSAValue, axis: int, shift: int) -> SSAValue:
    extent = shape_of(value)[axis]
    if not isinstance(extent, int):
        ctx.fail("an axis of known size", str(extent))
    if not extent or not shift % extent:
        return value
    cut = extent - shift % extent
    parts = [
        ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), axes=(axis,))
        for begin, end in ((cut, extent), (0, cut))
    ]
    return ctx.emit(ConcatenateOp, parts, axis=axis)


def pad(ctx: Context) -> SSAValue:
    value, option = ctx.data(0, "x"), ctx.option("pad_width")
    rank = len(shape_of(value))
    rows = cast("list[Any]", option) if isinstance(option, list) else [option]
    pairs = [row if isinstance(row, list) else [row, row] for row in rows]
    if len(pairs) == 1:
        pairs = pairs * rank
    flat = [width for pair in pairs for width in cast("list[Any]", pair)]
    if len(flat) != 2 * rank or any(not isinstance(width, int) or width < 0 for width in flat):
        ctx.fail(f"a pad_width for {rank} axes", repr(option))
    mode = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}.get(
        ctx.str("mode", "constant")
    )
    if mode is None:
        ctx.fail("mode constant, reflect, edge or wrap", ctx.str("mode"))
    filler = ctx.argument(1, "constant_values")
    number = 0 if filler is None else array_of(ctx, filler)
    if not isinstance(number, int) and (number is None or number.size != 1):
        ctx.fail("one number to pad with", repr(filler))
    fill = ctx.scalar(number if isinstance(number, int) else number.item(), value)
    return ctx.emit(PadOp, value, fill, pad_width=flat, pad_mode=mode)


def take(ctx: Context) -> SSAValue:
    """Elements at indices, which are brought inside; negative ones count from the end."""
    value, axis = argument_term(ctx).value, ctx.option("axis")
    if axis is None:
        value, axis = reshaped(ctx, value, (prod(shape_of(value)),)), 0
    axis = ctx.axis(axis, len(shape_of(value)))
    return ctx.emit(TakeOp, value, _indices(ctx, shape_of(value)[axis]), axis=axis, mode="clip")


def _indices(ctx: Context, extent: int) -> SSAValue:
    """The indices of argument 1 with those below 0 counted from the end."""
    option = array_of(ctx, ctx.argument(1, "indices"))
    if option is not None and isinstance(extent, int):
        return ctx.constant(np.where(option < 0, option + extent, option).astype(np.int32), "indices")
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
    if ctx.bool("sparse", False):
        ctx.fail("a dense result", "a sparse one")
    dtype = dtype_option(ctx) or "float32"
    ends = [ctx.constant(np.asarray(value).astype(dtype), "scalar") for value in (1, 0)]
    axis = ctx.axis(ctx.int("axis", -1), len(shape_of(x)) + 1)
    return ctx.emit(OneHotOp, x, *ends, depth=ctx.positive("num_classes"), axis=axis, dtype=dtype)


def triangle(upper: bool) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        return ctx.emit(
            TriluOp, ctx.data(0, "x"), ctx.constant(np.asarray(ctx.int("k", 0), np.int64), "k"), upper=upper
        )

    return convert


def get_item(ctx: Context) -> SSAValue:
    """Numpy's indexing by numbers, slices, new axes, one ellipsis and one list of numbers."""
    value = ctx.data(0, "x")
    option = ctx.argument(1, "key")
    keys = cast("list[Any]", list(option)) if isinstance(option, list | tuple) else [option]
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
    begin: list[int] = []
    end: list[int] = []
    strides: list[int] = []
    gone: list[int] = []
    new: list[int] = []
    axis = 0
    for key in keys:
        if key is None:
            new.append(axis - len(gone) + len(new))
            continue
        extent = shape_of(value)[axis]
        first, last, step = _bounds(ctx, key, extent)
        if isinstance(key, int):
            gone.append(axis)
        begin.append(first)
        end.append(last)
        strides.append(step)
        axis += 1
    whole = all(
        same(b, 0) and same(e, n) and s == 1 for b, e, s, n in zip(begin, end, strides, shape_of(value), strict=True)
    )
    if not whole:
        value = ctx.emit(StridedSliceOp, value, begin=begin, end=end, strides=strides)
    if gone:
        value = ctx.emit(SqueezeOp, value, axis=gone)
    for position in new:
        value = ctx.emit(ExpandDimsOp, value, axis=position)
    return value


def _bounds(ctx: Context, key: Any, extent: int) -> tuple[int, int, int]:
    """Begin, end and step of an index or slice of an axis."""
    match key:
        case bool():
            ctx.fail("a number or slice as index", repr(key))
        case int():
            first = extent + key if key < 0 else key
            if isinstance(extent, int) and not 0 <= first < extent:
                ctx.fail(f"an index of {extent} elements", str(key))
            return first, first + 1, 1
        case slice():
            parts: list[Any] = [key.start, key.stop, key.step]
            if any(part is not None and (isinstance(part, bool) or not isinstance(part, int)) for part in parts):
                ctx.fail("a slice of numbers", repr(key))
            if isinstance(extent, int):
                first, last, step = key.indices(extent)
                return first, (last if last >= 0 else -extent - 1), step
            start, stop, step = key.start or 0, key.stop, 1 if key.step is None else key.step
            if step < 1:
                ctx.fail("a step forwards along an axis of open size", str(step))
            return (
                extent + start if start < 0 else start,
                extent if stop is None else extent + stop if stop < 0 else stop,
                step,
            )
        case _:
            ctx.fail("a number or slice as index", repr(key)[:60])


TABLE: dict[str, Row] = {
    "BroadcastTo": Row(broadcast_to),
    "Concatenate": Row(concatenate),
    "ExpandDims": Row(expand_dims),
    "Flip": Row(flip),
    "GetItem": Row(get_item),
    "Hstack": Row(along(1)),
    "Moveaxis": Row(moveaxis),
    "OneHot": Row(one_hot),
    "Pad": Row(pad),
    "Ravel": Row(ravel),
    "Repeat": Row(repeat),
    "Reshape": Row(reshape),
    "Roll": Row(roll),
    "Split": Row(split),
    "Squeeze": Row(squeeze),
    "Stack": Row(stack),
    "Swapaxes": Row(swapaxes),
    "Take": Row(take),
    "TakeAlongAxis": Row(take_along_axis),
    "Tile": Row(tile),
    "Transpose": Row(transpose),
    "Tril": Row(triangle(False)),
    "Triu": Row(triangle(True)),
    "Unstack": Row(unstack),
    "Vstack": Row(along(0)),
}
