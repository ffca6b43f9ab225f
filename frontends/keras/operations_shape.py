"""Operations of `keras.ops` that move, join, repeat or choose elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.linear_algebra import TriluOp
from ...dialects.relay.rearrange import MirrorPadOp, RepeatOp, ReverseOp, SplitOp, StackOp, TileOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    PadOp,
    SqueezeOp,
    StridedSliceOp,
    TransposeOp,
)
from ...dialects.sizes import same, symbols_of
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from .context import Context
from .nests import items_of, whole, wholes
from .operands import array_of, axes_option, operands
from .reshaping import filled
from .rows import Row


def _extents(ctx: Context, option: Any, value: SSAValue) -> list[int]:
    """The numbers of a shape, and the batch of a value in the place of null."""
    batch = shape_of(value)[0] if shape_of(value) else 1
    items = items_of(option)
    if items is None or any(item is not None and whole(item) is None for item in items):
        ctx.fail("a shape", repr(option))
    return [batch if item is None else item for item in items]


def _shape_option(ctx: Context, name: str, value: SSAValue) -> tuple[int, ...]:
    """A shape in the configuration, in which null is the batch and -1 what is left."""
    option = ctx.option(name)
    extents = _extents(ctx, option if whole(option) is None else [option], value)
    if extents and extents[0] == -1 and extents.count(-1) == 1:
        rest = prod(extents[1:])
        if rest and same(prod(shape_of(value)[1:]), rest):
            return (shape_of(value)[0], *extents[1:])
    return filled(ctx, extents, prod(shape_of(value)))


def reshape(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    return reshaped(ctx, value, _shape_option(ctx, "newshape", value))


def broadcast_to(ctx: Context) -> SSAValue:
    value = ctx.data(0, "x")
    return ctx.emit(BroadcastToOp, value, shape=_extents(ctx, ctx.option("shape"), value))


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
    source, target = ([ctx.axis(axis, rank) for axis in ctx.ints(name)] for name in ("source", "destination"))
    if len(source) != len(target):
        ctx.fail("as many places as axes", f"{source} and {target}")
    order = [axis for axis in range(rank) if axis not in source]
    for position, axis in sorted(zip(target, source, strict=True)):
        order.insert(position, axis)
    return permuted(ctx, value, tuple(order))


def expand_dims(ctx: Context) -> SSAValue:
    value, option = ctx.data(0, "x"), ctx.option("axis")
    axes = [option] if whole(option) is not None else wholes(option) or []
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
    items = items_of(option) or [option]
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
    if (sections := whole(option)) is not None:
        return ctx.emit_all(SplitOp, value, indices_or_sections=(sections,), sections=True, axis=axis)
    return ctx.emit_all(SplitOp, value, indices_or_sections=ctx.ints("indices_or_sections"), axis=axis)


def unstack(ctx: Context) -> tuple[SSAValue, ...]:
    value = ctx.data(0, "x")
    axis = ctx.axis(ctx.int("axis", 0), len(shape_of(value)))
    count = shape_of(value)[axis]
    if symbols_of(count):
        ctx.fail("a known number of parts", str(count))
    if ctx.option("num") is not None and ctx.int("num") != count:
        ctx.fail(f"'num' {count}, as there are parts", str(ctx.int("num")))
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
    return ctx.emit(RepeatOp, value, repeats=ctx.int("repeats", least=1), axis=ctx.axis(option, len(shape_of(value))))


def tile(ctx: Context) -> SSAValue:
    option = ctx.option("repeats")
    return ctx.emit(TileOp, ctx.data(0, "x"), reps=(option,) if isinstance(option, int) else ctx.ints("repeats"))


def roll(ctx: Context) -> SSAValue:
    """The last elements along axes first."""
    value, option = ctx.data(0, "x"), ctx.option("axis")
    shape = shape_of(value)
    shifts = ctx.ints("shift", count=1) if isinstance(ctx.option("shift"), int) else ctx.ints("shift")
    if option is None:
        flat = reshaped(ctx, value, (prod(shape),))
        return reshaped(ctx, _rolled(ctx, flat, 0, sum(shifts)), shape)
    axes = [option] * len(shifts) if whole(option) is not None else wholes(option) or []
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(axes) != len(shifts):
        ctx.fail(f"an axis for each of {len(shifts)} shifts", repr(option))
    for axis, shift in zip(axes, shifts, strict=True):
        value = _rolled(ctx, value, ctx.axis(axis, len(shape)), shift)
    return value


def _rolled(ctx: Context, value: SSAValue, axis: int, shift: int) -> SSAValue:
    extent = shape_of(value)[axis]
    if symbols_of(extent):
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
    rows = [
        [width, width] if whole(width) is not None else wholes(width) or [] for width in items_of(option) or [option]
    ]
    flat = [width for row in (rows * rank if len(rows) == 1 else rows) for width in row]
    if len(flat) != 2 * rank or any(width < 0 for width in flat):
        ctx.fail(f"a pad_width for {rank} axes", repr(option))
    mode = ctx.choice("mode", ("constant", "reflect", "symmetric", "edge", "wrap"), "constant")
    filler = ctx.argument(1, "constant_values")
    number = 0 if filler is None else array_of(ctx, filler)
    if not isinstance(number, int) and (number is None or number.size != 1):
        ctx.fail("one number to pad with", repr(filler))
    if mode == "symmetric":
        return ctx.emit(MirrorPadOp, value, mode="SYMMETRIC", pad_width=flat)
    fill = ctx.scalar(number if isinstance(number, int) else number.item(), value)
    return ctx.emit(PadOp, value, fill, pad_width=flat, pad_mode=mode)


def triangle(upper: bool) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        return ctx.emit(
            TriluOp, ctx.data(0, "x"), ctx.constant(np.asarray(ctx.int("k", 0), np.int64), "k"), upper=upper
        )

    return convert


TABLE: dict[str, Row] = {
    "BroadcastTo": Row(broadcast_to),
    "Concatenate": Row(concatenate),
    "ExpandDims": Row(expand_dims),
    "Flip": Row(flip),
    "Hstack": Row(along(1)),
    "Moveaxis": Row(moveaxis),
    "Pad": Row(pad),
    "Ravel": Row(ravel),
    "Repeat": Row(repeat),
    "Reshape": Row(reshape),
    "Roll": Row(roll),
    "Split": Row(split),
    "Squeeze": Row(squeeze),
    "Stack": Row(stack),
    "Swapaxes": Row(swapaxes),
    "Tile": Row(tile),
    "Transpose": Row(transpose),
    "Tril": Row(triangle(False)),
    "Triu": Row(triangle(True)),
    "Unstack": Row(unstack),
    "Vstack": Row(along(0)),
}
