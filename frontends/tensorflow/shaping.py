"""Operators that move elements: reshapes, what joins and splits, pads, blocks."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import rearrange
from ...dialects.relay.transform import PadOp, StridedSliceOp
from ...dialects.sizes import proves
from ..importing.attributes import Element, Int, Ints
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.tensor import dtype_of
from ..importing.terms import Term, axis_of, term
from ..meanings import creation, moves, slices
from .context import Context


def _concat(axis: int, *values: Term) -> Term:
    return moves.concatenate(*values, axis=axis)


def _concat_v2(ctx: Context) -> SSAValue:
    """The axis comes last."""
    last = len(ctx.inputs) - 1
    axis = ctx.size(last, "axis")
    if not last:
        ctx.fail("tensors to concatenate", "none")
    return moves.concatenate(*(term(ctx, index) for index in range(last)), axis=axis).value


def _pack(*values: Term, axis: int) -> Term:
    """Each value with a new axis, then concatenated, as TVM has it."""
    at = axis_of(values[0], axis, 1)
    rows = [moves.expand_dims(x, at) for x in values]
    return moves.concatenate(*rows, axis=at) if rows[1:] else rows[0]


def cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def _squeeze(x: Term, axes: tuple[int, ...]) -> Term:
    return moves.squeeze(x, axes or None)


def _split(axis: int, x: Term, count: int) -> tuple[Term, ...]:
    return slices.split(x, axis, count)


def _pairs(ctx: Context, index: int, what: str) -> list[int]:
    """The two numbers for each axis of the data in input `index`."""
    tensor = ctx.tensor(index)
    if tensor.symbolic and tensor.array is not None:
        ctx.read.append(tensor)
        table = tensor.array
    else:
        table = ctx.array(index, what)
    numbers: list[int] = table.reshape(-1).tolist()
    if table.shape != (len(ctx.shape(0)), 2) or any(proves(number, "<", 0) for number in numbers):
        got = f"{table.dtype}{list(table.shape)}"
        ctx.fail(f"{what} of shape [{len(ctx.shape(0))}, 2], none negative", got)
    return numbers


def pad(ctx: Context) -> SSAValue:
    """With zeros, or input 2."""
    width, value = _pairs(ctx, 1, "pad widths"), ctx.value(0)
    if len(ctx.inputs) > 2:
        filler = ctx.value(2)
    else:
        filler = ctx.constant(np.zeros((), dtype_of(value)), "pad_value")
    return ctx.emit(PadOp, value, filler, pad_width=width)


def mirror_pad(ctx: Context) -> SSAValue:
    width = _pairs(ctx, 1, "pad widths")
    return ctx.emit(rearrange.MirrorPadOp, ctx.value(0), mode=ctx.word("mode", ""), pad_width=width)


def space_to_depth(ctx: Context) -> SSAValue:
    return ctx.emit(rearrange.SpaceToDepthOp, ctx.value(0), block_size=ctx.int("block_size", 0), layout=_plain(ctx))


def depth_to_space(ctx: Context) -> SSAValue:
    block = ctx.int("block_size", 0)
    return ctx.emit(rearrange.DepthToSpaceOp, ctx.value(0), block_size=block, layout=_plain(ctx), mode="DCR")


def _plain(ctx: Context) -> str:
    layout = ctx.word("data_format", "NHWC")
    if layout not in ("NHWC", "NCHW"):
        ctx.fail("a layout NHWC or NCHW", layout)
    return layout


def _blocks(ctx: Context, what: str) -> tuple[tuple[int, ...], list[int]]:
    sizes, table = ctx.known_ints(1, "block sizes"), ctx.array(2, what)
    if table.shape != (len(sizes), 2) or min(sizes, default=1) < 1:
        ctx.fail(f"block sizes, and as many pairs of {what}", f"{list(sizes)} and shape {list(table.shape)}")
    return sizes, [int(number) for number in table.reshape(-1).tolist()]


def space_to_batch(ctx: Context) -> SSAValue:
    sizes, width = _blocks(ctx, "paddings")
    return ctx.emit(rearrange.SpaceToBatchNdOp, ctx.value(0), block_shape=sizes, paddings=width)


def batch_to_space(ctx: Context) -> SSAValue:
    sizes, width = _blocks(ctx, "crops")
    return ctx.emit(rearrange.BatchToSpaceNdOp, ctx.value(0), block_shape=sizes, crops=width)


def ensure_shape(ctx: Context) -> Result:
    """The value, which must have the shape that the attribute says."""
    value = ctx.attribute("shape")
    wanted, own = None if value is None else value.shape, ctx.shape(0)
    if wanted is not None and not wanted.unknown_rank:
        extents = [int(dim.size) for dim in wanted.dim]
        if len(extents) != len(own):
            ctx.fail(f"a shape {extents}", str(list(own)))
        ctx.require_shape(0, [o if e < 0 else e for e, o in zip(extents, own, strict=True)], "an input")
    return ctx.tensor(0)


_OUT_TYPE = Element(creation.INT, name="out_type")

TABLE = {
    "BatchToSpaceND": Converter(batch_to_space),
    "BroadcastArgs": row(creation.common_extents, "s0:ints s1:ints"),
    "BroadcastTo": row(moves.broadcast_to, "input shape:ints"),
    "Concat": row(_concat, "concat_dim:size values*"),
    "ConcatV2": Converter(_concat_v2),
    "DepthToSpace": Converter(depth_to_space),
    "EnsureShape": Converter(ensure_shape),
    "ExpandDims": row(moves.expand_dims, "input axis:size"),
    "Fill": row(creation.fill, "dims:ints value"),
    "MirrorPad": Converter(mirror_pad),
    "Pack": row(_pack, "values*", axis=Int(0)),
    "Pad": Converter(pad),
    "PadV2": Converter(pad),
    "Rank": row(creation.rank, "input:shape"),
    "Reshape": row(moves.reshape, "tensor shape:ints"),
    "ReverseV2": row(moves.reverse, "tensor axis:ints"),
    "Roll": row(moves.roll, "input shift:ints axis:ints"),
    "Shape": row(creation.extents, "input:shape", dtype=_OUT_TYPE),
    "ShapeN": row(creation.each_extents, "input:shape*", dtype=_OUT_TYPE),
    "Size": row(creation.size, "input:shape", dtype=_OUT_TYPE),
    "SpaceToBatchND": Converter(space_to_batch),
    "SpaceToDepth": Converter(space_to_depth),
    "Split": row(_split, "axis:size value", count=Int(0, name="num_split")),
    "SplitV": row(slices.split_with_rest, "value sizes:ints axis:size"),
    "Squeeze": row(_squeeze, "input", axes=Ints((), name="squeeze_dims")),
    "Tile": row(moves.tile_each, "input repetitions:ints"),
    "Transpose": row(moves.transpose, "x perm:ints"),
    "Unpack": row(slices.unstack, "value", axis=Int(0), count=Int(0, name="num")),
}
