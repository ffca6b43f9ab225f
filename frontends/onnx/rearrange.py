"""Operators that repeat, crop and place blocks, and Range."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import DepthToSpaceOp, SpaceToDepthOp
from ...dialects.relay.transform import PadOp, ReshapeOp, StridedSliceOp, TransposeOp
from ...dialects.relay.windows import Col2ImOp
from ...dialects.sizes import Size, decide, size_max
from ..importing.converter import Converter, Result
from ..importing.edges import with_edges
from ..importing.rows import row
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings import creation, moves
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


def space_to_depth(ctx: Context) -> SSAValue:
    """In mode CRD the channel counts slower than the places of a block: they change places after the operator."""
    block, mode = ctx.int("blocksize", 0), ctx.word("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        ctx.fail("mode DCR or CRD", repr(mode))
    data = ctx.value(0)
    for axis in (2, 3) if block > 0 and len(ctx.shape(0)) == 4 else ():
        extent = ctx.shape(0)[axis]
        if decide(extent % block, "==", 0) is None:
            # Whole blocks as far as they go: to the end, as every call is checked.
            ctx.require_multiple(extent, block, f"whole blocks of {block} x {block}")
            end = extent // block * block
            data = ctx.emit(StridedSliceOp, data, begin=(0,), end=(end,), strides=(1,), axes=(axis,))
    result = ctx.emit(SpaceToDepthOp, data, block_size=block)
    if mode == "DCR":
        return result
    shape = shape_of(result)
    n, channels, height, width = shape
    parts = ctx.emit(ReshapeOp, result, newshape=(n, block**2, channels // block**2, height, width))
    return ctx.emit(ReshapeOp, ctx.emit(TransposeOp, parts, axes=(0, 2, 1, 3, 4)), newshape=shape)


def depth_to_space(ctx: Context) -> SSAValue:
    return ctx.emit(DepthToSpaceOp, ctx.value(0), block_size=ctx.int("blocksize", 0), mode=ctx.word("mode", "DCR"))


def _range(ctx: Context, start: Number, limit: Number, delta: Number) -> Result:
    return creation.numbers_from(ctx, start, limit, delta, ctx.dtype(0))


def center_crop_pad(ctx: Context) -> SSAValue:
    """strided_slice where the middle is wanted, nn.pad where it is more than there is."""
    data, shape = ctx.value(0), ctx.shape(0)
    wanted, given = ctx.known_ints(1, "a shape"), ctx.ints("axes", None)
    axes = [axis_of(ctx, axis, len(shape)) for axis in (range(len(shape)) if given is None else given)]
    if len(axes) != len(wanted) or len(set(axes)) != len(axes):
        ctx.fail("an extent for each of different axes", f"{list(wanted)} for {axes}")
    if any(decide(extent, "<=", shape[axis]) is None for axis, extent in zip(axes, wanted, strict=True)):
        return _open_center(ctx, data, dict(zip(axes, wanted, strict=True)))
    begin, end, width = [0] * len(shape), list(shape), [0] * (2 * len(shape))
    for axis, extent in zip(axes, wanted, strict=True):
        difference = abs(extent - shape[axis])
        if extent < shape[axis]:
            begin[axis] = difference // 2
            end[axis] = begin[axis] + extent
        else:
            width[2 * axis], width[2 * axis + 1] = difference // 2, difference - difference // 2
    if any(begin) or tuple(end) != shape:
        data = ctx.emit(StridedSliceOp, data, begin=begin, end=end, strides=[1] * len(shape))
    return ctx.emit(PadOp, data, ctx.scalar(0, data), pad_width=width) if any(width) else data


def _open_center(ctx: Context, data: SSAValue, wanted: dict[int, int]) -> SSAValue:
    """Crop and pad `data` where only the call decides how much is cut off and how much is added."""
    widths: list[tuple[Size, Size]] = []
    for axis, extent in enumerate(shape_of(data)):
        more, less = (size_max(n, 0) for n in (wanted.get(axis, extent) - extent, extent - wanted.get(axis, extent)))
        before = more // 2 - less // 2
        widths.append((before, wanted.get(axis, extent) - extent - before))
    return with_edges(ctx, data, widths, ctx.scalar(0, data))


def col2im(ctx: Context) -> SSAValue:
    image, block = ctx.known_ints(1, "an image's shape"), ctx.known_ints(2, "a block's shape")
    rank = len(image)
    pads = ctx.ints("pads", None) or (0,) * (2 * rank)
    strides, dilations = ctx.ints("strides", None) or (1,) * rank, ctx.ints("dilations", None) or (1,) * rank
    if len(block) != rank or len(pads) != 2 * rank or len(strides) != rank or len(dilations) != rank:
        found = f"{block}, {pads}, {strides} and {dilations}"
        ctx.fail(f"block, pads, strides and dilations of {rank} dimensions", found)
    if ctx.shape(0)[1] % prod(block):
        ctx.fail(f"channels in multiples of {prod(block)}", str(ctx.shape(0)[1]))
    windows = {"image_shape": image, "block_shape": block, "pads": pads, "strides": strides, "dilations": dilations}
    ctx.require_equal(ctx.shape(0)[2], prod(Col2ImOp.counts(*windows.values())))
    return ctx.emit(Col2ImOp, ctx.value(0), **windows)


TABLE = {
    "CenterCropPad": Converter(center_crop_pad),
    "Col2Im": Converter(col2im),
    "DepthToSpace": Converter(depth_to_space),
    "Range": row(_range, "start:exact limit:exact delta:exact"),
    "SpaceToDepth": Converter(space_to_depth),
    "Tile": row(_tile, "input"),
}
MICROSOFT = {"ExpandDims": row(moves.expand_dims, "X axis:size"), "Range": TABLE["Range"]}
