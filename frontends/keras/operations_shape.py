"""Operations of `keras.ops` that move, join, repeat or choose elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from ...dialects.sizes import symbols_of
from ..importing.attributes import Int, Ints
from ..importing.terms import Term, axis_of
from ..meanings import moves, pads, slices
from .context import Context
from .nests import items_of, whole, wholes
from .operands import array_of, operands
from .rows import Row, declared


def _extents(ctx: Context, option: Any, x: Term) -> list[int]:
    """The numbers of a shape, and the batch of a term in the place of null."""
    batch = x.shape[0] if x.shape else 1
    items = items_of(option)
    if items is None or any(item is not None and whole(item) is None for item in items):
        ctx.fail("a shape", repr(option))
    return [batch if item is None else item for item in items]


def _reshape(ctx: Context, x: Term) -> Term:
    """To a shape in the configuration, in which null is the batch and -1 what is left."""
    option = ctx.option("newshape")
    extents = _extents(ctx, option if whole(option) is None else [option], x)
    return x.reshape(*moves.filled_in(ctx, extents, prod(x.shape)))


def _broadcast_to(ctx: Context, x: Term) -> Term:
    return moves.broadcast_to(x, _extents(ctx, ctx.option("shape"), x))


def _list(ctx: Context, name: str = "xs") -> list[Term]:
    """The tensors and numbers of a list, in a common dtype."""
    option = ctx.argument(0, name)
    items = items_of(option) or [option]
    if not items:
        ctx.fail("a list of tensors", "none")
    return operands(ctx, *items)


def of_list(function: Callable[..., Term], name: str = "xs", **attributes: Any) -> Row:
    """The row of a function of the tensors and numbers of a list, in a common dtype."""

    def computed(ctx: Context, **options: Any) -> Term:
        return function(*_list(ctx, name), **options)

    return declared(computed, "", **attributes)


def split(fixed: int | None = None, uneven: bool = False) -> Row:
    """The row of parts along an axis: as many as a number says, or up to each of several places.

    fixed: the axis, where no option says it; a vector has but one.
    """

    def computed(ctx: Context, x: Term, axis: int) -> tuple[Term, ...]:
        axis = axis_of(x, axis if fixed is None else min(fixed, len(x.shape) - 1))
        sections = whole(ctx.option("indices_or_sections"))
        if sections is None:
            return slices.split_at(x, axis, ctx.ints("indices_or_sections"))
        if uneven and sections > 0:
            return slices.split_at(x, axis, slices.uneven_ends(x.shape[axis], sections))
        return slices.split(x, axis, sections)

    return declared(computed, "x", axis=Int(0))


def _unstack(ctx: Context, x: Term, axis: int, num: int | None) -> tuple[Term, ...]:
    count = x.shape[axis_of(x, axis)] if num is None else num
    if symbols_of(count):
        ctx.fail("a known number of parts", str(count))
    return slices.unstack(x, axis, count)


def _roll(x: Term, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Term:
    """One shift is that of all axes, and one axis is that of all shifts."""
    count = max(len(shifts), len(axes or ()))
    all_shifts, all_axes = (numbers * count if len(numbers) == 1 else numbers for numbers in (shifts, axes or ()))
    return moves.roll(x, all_shifts, all_axes)


def _pad(ctx: Context, x: Term) -> Term:
    option = ctx.option("pad_width")
    rows = [
        [width, width] if whole(width) is not None else wholes(width) or [] for width in items_of(option) or [option]
    ]
    rows = rows * len(x.shape) if len(rows) == 1 else rows
    if any(len(row) != 2 for row in rows):
        ctx.fail(f"a pad_width for {len(x.shape)} axes", repr(option))
    filler = ctx.argument(1, "constant_values")
    number = 0 if filler is None else array_of(ctx, filler)
    if not isinstance(number, int) and (number is None or number.size != 1):
        ctx.fail("one number to pad with", repr(filler))
    mode = ctx.choice("mode", ("constant", "reflect", "symmetric", "edge", "wrap"), "constant")
    widths = [(before, after) for before, after in rows]
    return pads.bordered(x, widths, number if isinstance(number, int) else number.item(), mode)


_AXES, _AXIS = Ints(None, name="axis"), Int(0)

TABLE: dict[str, Row] = {
    "BroadcastTo": declared(_broadcast_to, "x"),
    "Concatenate": of_list(moves.concatenate, axis=_AXIS),
    "ExpandDims": declared(moves.expand_dims, "x", axes=Ints(name="axis")),
    "Flip": declared(moves.reverse, "x", axes=_AXES),
    "Hstack": of_list(moves.stacked_columns),
    "Moveaxis": declared(moves.move, "x", source=Ints(), target=Ints(name="destination")),
    "Pad": declared(_pad, "x"),
    "Ravel": declared(moves.flat, "x"),
    "Repeat": declared(moves.repeat, "x", times=Int(name="repeats", least=1), axis=Int(None)),
    "Reshape": declared(_reshape, "x"),
    "Roll": declared(_roll, "x", shifts=Ints(name="shift"), axes=_AXES),
    "Split": split(),
    "Squeeze": declared(moves.squeeze, "x", axes=_AXES),
    "Stack": of_list(moves.stack, "x", axis=_AXIS),
    "Swapaxes": declared(moves.swap, "x", first=Int(name="axis1"), second=Int(name="axis2")),
    "Tile": declared(moves.tile, "x", times=Ints(name="repeats")),
    "Transpose": declared(moves.transpose, "x", order=Ints(None, name="axes")),
    "Tril": declared(partial(moves.triangle, upper=False), "x", diagonal=Int(0, name="k")),
    "Triu": declared(partial(moves.triangle, upper=True), "x", diagonal=Int(0, name="k")),
    "Unstack": declared(_unstack, "x", axis=_AXIS, num=Int(None)),
    "Vstack": of_list(moves.stacked_rows),
}
