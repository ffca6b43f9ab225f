"""Layers that move elements: shapes, padding, cropping and repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ...dialects.relay.transform import PadOp, StridedSliceOp
from ...dialects.sizes import proves
from ..importing.attributes import Int, Ints
from ..importing.terms import Term
from ..meanings import moves
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


def zero_padding(rank: int) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        data, widths = ctx.data(), widths_of(ctx, "padding", rank)
        image_of(ctx, data, rank)
        places = ((0, 0), (0, 0), *widths) if ctx.channels_first() else ((0, 0), *widths, (0, 0))
        return ctx.emit(PadOp, data, ctx.scalar(0, data), pad_width=[n for width in places for n in width])

    return convert


def cropping(rank: int) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        data, widths = ctx.data(), widths_of(ctx, "cropping", rank)
        image, _ = image_of(ctx, data, rank)
        return cropped(ctx, data, image, widths)

    return convert


def cropped(ctx: Context, data: SSAValue, image: Sequence[int], widths: Widths) -> SSAValue:
    """Every spatial axis without what is before and after."""
    for extent, (before, after) in zip(image, widths, strict=True):
        if proves(extent, "<=", before + after):
            ctx.fail(f"a cropping that leaves something of {list(image)}", str(list(widths)))
        if not proves(extent, ">", before + after):
            ctx.require(extent - before - after - 1)
    first = 2 if ctx.channels_first() else 1
    begin = [before for before, _ in widths]
    end = [extent - after for extent, (_, after) in zip(image, widths, strict=True)]
    axes = list(range(first, first + len(widths)))
    return ctx.emit(StridedSliceOp, data, begin=begin, end=end, strides=[1] * len(widths), axes=axes)


TABLE = {
    "Flatten": declared(_flatten, "inputs"),
    "Permute": declared(_permute, "inputs", dims=Ints(least=1)),
    "RepeatVector": declared(_repeat_vector, "inputs", n=Int(least=1)),
    "Reshape": declared(_reshape, "inputs"),
    **{f"Cropping{rank}D": Row(cropping(rank)) for rank in (1, 2, 3)},
    **{f"ZeroPadding{rank}D": Row(zero_padding(rank)) for rank in (1, 2, 3)},
}
