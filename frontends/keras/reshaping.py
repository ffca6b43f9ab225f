"""Layers that move elements: shapes, padding, cropping and repetition."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import proves
from ..importing.attributes import Int, Ints
from ..importing.terms import Term
from ..meanings import moves, pads
from .context import Context
from .convolution import image_of
from .nests import items_of, whole, wholes
from .rows import Row, declared

Widths: TypeAlias = "tuple[tuple[int, int], ...]"
"""Before and after, for each spatial axis."""


def _flatten(ctx: Context, x: Term) -> Term:
    """All but the batch as one axis; channels come last in it."""
    batch, *rest = x.shape
    turned = moves.move(x, (1,), (-1,)) if ctx.channels_first() and rest else x
    return turned.reshape(batch, prod(rest))


def _reshape(ctx: Context, x: Term) -> Term:
    """All but the batch in another shape, in which -1 is what is left."""
    batch, *rest = x.shape
    extents = items_of(ctx.option("target_shape"))
    target = None if extents is None else wholes([-1 if extent is None else extent for extent in extents])
    if target is None:
        ctx.fail("a shape as 'target_shape'", repr(ctx.option("target_shape")))
    return x.reshape(batch, *moves.filled_in(ctx, target, prod(rest)))


def _permute(x: Term, dims: tuple[int, ...]) -> Term:
    """Axes in another order, counted from 1 after the batch."""
    return moves.transpose(x, (0, *dims))


def _repeat_vector(x: Term, n: int) -> Term:
    if len(x.shape) != 2:
        x.ctx.fail("an input of 2 dimensions", f"shape {list(x.shape)}")
    return moves.repeat(moves.expand_dims(x, 1), n, 1)


def widths_of(ctx: Context, name: str, rank: int) -> Widths:
    """An option that is a number, one number for each axis, or two for each."""
    option: Any = ctx.option(name)
    rows = items_of([option] * rank if whole(option) is not None else option) or []
    if rank == 1 and len(rows) == 2:
        rows = [rows]
    pairs = [wholes([row, row] if whole(row) is not None else row) or [] for row in rows]
    if len(pairs) != rank or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        ctx.fail(f"'{name}' before and after each of {rank} axes", repr(option))
    return tuple((before, after) for before, after in pairs)


def _zero_padding(rank: int) -> Row:
    def padded(ctx: Context, x: Term) -> Term:
        widths = widths_of(ctx, "padding", rank)
        image_of(ctx, x.value, rank)
        return pads.padded(x, ((0, 0), (0, 0), *widths) if ctx.channels_first() else ((0, 0), *widths, (0, 0)))

    return declared(padded, "inputs")


def _cropping(rank: int) -> Row:
    """Every spatial axis without what is before and after."""

    def cropped(ctx: Context, x: Term) -> Term:
        widths = widths_of(ctx, "cropping", rank)
        image, _ = image_of(ctx, x.value, rank)
        for extent, (before, after) in zip(image, widths, strict=True):
            if proves(extent, "<=", before + after):
                ctx.fail(f"a cropping that leaves something of {list(image)}", str(list(widths)))
            if not proves(extent, ">", before + after):
                ctx.require(extent - before - after - 1)
        end = [extent - after for extent, (_, after) in zip(image, widths, strict=True)]
        return part_of(ctx, x, [before for before, _ in widths], end)

    return declared(cropped, "inputs")


def part_of(ctx: Context, x: Term, begin: Sequence[int], end: Sequence[int]) -> Term:
    """A part of an image."""
    first = 2 if ctx.channels_first() else 1
    axes = list(range(first, first + len(begin)))
    return x.apply(StridedSliceOp, begin=begin, end=end, strides=[1] * len(begin), axes=axes)


TABLE = {
    "Flatten": declared(_flatten, "inputs"),
    "Permute": declared(_permute, "inputs", dims=Ints(least=1)),
    "RepeatVector": declared(_repeat_vector, "inputs", n=Int(least=1)),
    "Reshape": declared(_reshape, "inputs"),
    **{f"Cropping{rank}D": _cropping(rank) for rank in (1, 2, 3)},
    **{f"ZeroPadding{rank}D": _zero_padding(rank) for rank in (1, 2, 3)},
}
