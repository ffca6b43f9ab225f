"""Layers that move elements: shapes, padding, cropping and repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import RepeatOp
from ...dialects.relay.transform import ExpandDimsOp, PadOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import proves, same
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from .context import Context
from .convolution import image_of
from .nests import items_of, whole, wholes
from .rows import Row

Widths: TypeAlias = "tuple[tuple[int, int], ...]"
"""Before and after, for each spatial axis."""


def flatten(ctx: Context) -> SSAValue:
    """All but the batch as one axis; channels come last in it."""
    data = ctx.data()
    batch, *rest = shape_of(data)
    if ctx.channels_first() and len(rest) > 1:
        data = ctx.emit(TransposeOp, data, axes=(0, *range(2, len(rest) + 1), 1))
    return reshaped(ctx, data, (batch, prod(rest)))


def reshape(ctx: Context) -> SSAValue:
    """All but the batch in another shape, in which -1 is what is left."""
    data = ctx.data()
    batch, *rest = shape_of(data)
    extents = items_of(ctx.option("target_shape"))
    target = None if extents is None else wholes([-1 if extent is None else extent for extent in extents])
    if target is None:
        ctx.fail("a shape as 'target_shape'", repr(ctx.option("target_shape")))
    return reshaped(ctx, data, (batch, *filled(ctx, target, prod(rest))))


def filled(ctx: Context, target: Sequence[int], total: int) -> tuple[int, ...]:
    """A shape of so many elements with -1 filled in."""
    extents = tuple(target)
    product = prod(extent for extent in extents if extent != -1)
    count = extents.count(-1)
    if count > 1 or any(extent < -1 for extent in extents):
        ctx.fail("a shape with at most one -1", str(list(extents)))
    if count == 0:
        if not same(product, total):
            ctx.fail(f"a shape of {total} elements", str(list(extents)))
        return extents
    if product == 0 or not same(total // product * product, total):
        ctx.fail(f"a shape that {total} elements fill", str(list(extents)))
    return tuple(total // product if extent == -1 else extent for extent in extents)


def permute(ctx: Context) -> SSAValue:
    """Axes in another order, counted from 1 after the batch."""
    data, dims = ctx.data(), ctx.ints("dims")
    if sorted(dims) != list(range(1, len(shape_of(data)))):
        ctx.fail(f"dims that are 1 to {len(shape_of(data)) - 1} in some order", str(list(dims)))
    return ctx.emit(TransposeOp, data, axes=(0, *dims))


def repeat_vector(ctx: Context) -> SSAValue:
    data = ctx.data()
    if len(shape_of(data)) != 2:
        ctx.fail("an input of 2 dimensions", f"shape {list(shape_of(data))}")
    return ctx.emit(RepeatOp, ctx.emit(ExpandDimsOp, data, axis=1), repeats=ctx.int("n", least=1), axis=1)


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
    "Flatten": Row(flatten),
    "Permute": Row(permute),
    "RepeatVector": Row(repeat_vector),
    "Reshape": Row(reshape),
    **{f"Cropping{rank}D": Row(cropping(rank)) for rank in (1, 2, 3)},
    **{f"ZeroPadding{rank}D": Row(zero_padding(rank)) for rank in (1, 2, 3)},
}
