"""Operators that repeat, crop and place blocks, and Range."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.transform import TransposeOp
from ...dialects.relay.windows import Col2ImOp
from ...dialects.sizes import Size, size_max
from ..importing.attributes import Int, Ints, Word
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import creation, moves, pads
from ..meanings.creation import Number
from .context import Context
from .shaping import axis_of


def _tile(ctx: Context, x: Term) -> Term:
    """tile; before opset 6 one axis and how often."""
    if ctx.opset < 6:
        repeats = [1] * len(x.shape)
        repeats[int(ctx.single(2, "an axis"))] = int(ctx.single(1, "a count of tiles"))
        return moves.tile(x, repeats)
    return moves.tile(x, ctx.known_ints(1, "repeats"))


def _space_to_depth(x: Term, block: int, mode: str) -> Term:
    """In mode CRD the channel counts slower than the places of a block: they change places after the operator."""
    result = pads.space_to_depth(x, block)
    if mode == "DCR":
        return result
    n, channels, height, width = result.shape
    parts = result.reshape(n, block**2, channels // block**2, height, width)
    return parts.apply(TransposeOp, axes=(0, 2, 1, 3, 4)).reshape(*result.shape)


def _range(ctx: Context, start: Number, limit: Number, delta: Number) -> Result:
    return creation.numbers_from(ctx, start, limit, delta, ctx.dtype(0))


def _center_crop_pad(ctx: Context, x: Term, wanted: Sequence[int], axes: Sequence[int] | None) -> Term:
    """The middle of a tensor, or the tensor in the middle of zeros."""
    shape = x.shape
    axes = [axis_of(ctx, axis, len(shape)) for axis in (range(len(shape)) if axes is None else axes)]
    if len(axes) != len(wanted) or len(set(axes)) != len(axes):
        ctx.fail("an extent for each of different axes", f"{list(wanted)} for {axes}")
    widths: list[tuple[Size, Size]] = [(0, 0)] * len(shape)
    for axis, extent in zip(axes, wanted, strict=True):
        more, less = size_max(extent - shape[axis], 0), size_max(shape[axis] - extent, 0)
        before = more // 2 - less // 2
        widths[axis] = before, extent - shape[axis] - before
    return pads.padded(x, widths)


def col2im(ctx: Context) -> SSAValue:
    image, block = ctx.known_ints(1, "an image's shape"), ctx.known_ints(2, "a block's shape")
    rank = len(image)
    edges = ctx.ints("pads", None) or (0,) * (2 * rank)
    strides, dilations = ctx.ints("strides", None) or (1,) * rank, ctx.ints("dilations", None) or (1,) * rank
    if len(block) != rank or len(edges) != 2 * rank or len(strides) != rank or len(dilations) != rank:
        found = f"{block}, {edges}, {strides} and {dilations}"
        ctx.fail(f"block, pads, strides and dilations of {rank} dimensions", found)
    if ctx.shape(0)[1] % prod(block):
        ctx.fail(f"channels in multiples of {prod(block)}", str(ctx.shape(0)[1]))
    windows = {"image_shape": image, "block_shape": block, "pads": edges, "strides": strides, "dilations": dilations}
    ctx.require_equal(ctx.shape(0)[2], prod(Col2ImOp.counts(*windows.values())))
    return ctx.emit(Col2ImOp, ctx.value(0), **windows)


_BLOCK, _ORDER = Int(0, name="blocksize"), Word("DCR", among=("DCR", "CRD"))
TABLE = {
    "CenterCropPad": row(_center_crop_pad, "input_data shape:ints", axes=Ints(None)),
    "Col2Im": Converter(col2im),
    "DepthToSpace": row(pads.depth_to_space, "input", block=_BLOCK, mode=_ORDER),
    "Range": row(_range, "start:exact limit:exact delta:exact"),
    "SpaceToDepth": row(_space_to_depth, "input", block=_BLOCK, mode=_ORDER),
    "Tile": row(_tile, "input"),
}
MICROSOFT = {"ExpandDims": row(moves.expand_dims, "X axis:size"), "Range": TABLE["Range"]}
