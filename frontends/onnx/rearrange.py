"""Operators that repeat, crop and place blocks, and Range."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import Size, size_max
from ..importing.attributes import Int, Ints, Word
from ..importing.converter import Result
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import creation, moves, pads
from ..meanings.creation import Number
from ..meanings.windows import Sizes, Window, from_columns
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


def _col2im(
    x: Term, image: Sizes, block: Sizes, pads: Sizes | None, strides: Sizes | None, dilations: Sizes | None
) -> Term:
    rank = len(image)
    edges, steps, spread = pads or (0,) * (2 * rank), strides or (1,) * rank, dilations or (1,) * rank
    if len(block) != rank or len(edges) != 2 * rank or len(steps) != rank or len(spread) != rank:
        found = f"{block}, {edges}, {steps} and {spread}"
        x.ctx.fail(f"block, pads, strides and dilations of {rank} dimensions", found)
    return from_columns(x, image, Window(block, steps, spread, edges[:rank], edges[rank:]))


_BLOCK, _ORDER = Int(0, name="blocksize"), Word("DCR", among=("DCR", "CRD"))
TABLE = {
    "CenterCropPad": row(_center_crop_pad, "input_data shape:ints", axes=Ints(None)),
    "Col2Im": row(
        _col2im,
        "input image_shape:ints block_shape:ints",
        pads=Ints(None),
        strides=Ints(None),
        dilations=Ints(None),
    ),
    "DepthToSpace": row(pads.depth_to_space, "input", block=_BLOCK, mode=_ORDER),
    "Range": row(_range, "start:exact limit:exact delta:exact"),
    "SpaceToDepth": row(_space_to_depth, "input", block=_BLOCK, mode=_ORDER),
    "Tile": row(_tile, "input"),
}
MICROSOFT = {"ExpandDims": row(moves.expand_dims, "X axis:size"), "Range": TABLE["Range"]}
