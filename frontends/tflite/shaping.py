"""Operators that move elements: reshapes, slices, pads, what joins and splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import rearrange
from ...dialects.relay.transform import PadOp, StridedSliceOp
from ..importing.attributes import Flag, Int, Ints
from ..importing.converter import Converter, Result
from ..importing.products import reshaped
from ..importing.rows import row
from ..importing.tensor import dtype_of
from ..importing.terms import Term
from ..meanings import creation, moves, slices
from ..meanings.creation import Number
from .activations import fused
from .context import Context
from .values import DTYPES

_MOST_AXES = 8
"""Extents that LiteRT reads from options."""


def _reshape(ctx: Context, x: Term, shape: tuple[int, ...] | None, stated: tuple[int, ...]) -> Term:
    """To the shape in input 1, else in the options; one extent may be -1."""
    if len(stated) > _MOST_AXES:
        ctx.fail(f"at most {_MOST_AXES} extents in its options", str(len(stated)))
    return moves.reshape(x, stated if shape is None else shape)


def _squeeze(x: Term, axes: tuple[int, ...]) -> Term:
    return moves.squeeze(x, axes or None)


def _concatenation(ctx: Context, *values: Term, axis: int) -> SSAValue:
    return fused(ctx, moves.concatenate(*values, axis=axis).value)


def cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def _unpack(ctx: Context, x: Term, axis: int) -> tuple[Term, ...]:
    return slices.unstack(x, axis, len(ctx.node.outputs))


def _counted(ctx: Context, count: int, stated: int) -> None:
    """Complain of parts that are not as many as outputs, and as the options say."""
    outputs = len(ctx.node.outputs)
    if not count == stated == outputs:
        ctx.fail(f"{outputs} parts, as many as outputs", f"{count}, and {stated} in the options")


def _split(ctx: Context, axis: int, x: Term, count: int) -> tuple[Term, ...]:
    _counted(ctx, count, count)
    return slices.split(x, axis, count)


def _split_v(ctx: Context, x: Term, sizes: tuple[int, ...], axis: int, count: int) -> tuple[Term, ...]:
    _counted(ctx, len(sizes), count)
    return slices.split_with_rest(x, sizes, axis)


def _pad_width(ctx: Context) -> list[int]:
    table = ctx.array(1, "pad widths")
    width = [int(number) for number in table.reshape(-1).tolist()]
    if table.shape != (len(ctx.shape(0)), 2) or min(width, default=0) < 0:
        ctx.fail(f"pad widths of shape [{len(ctx.shape(0))}, 2], none negative", f"{table.dtype}{list(table.shape)}")
    return width


def pad(ctx: Context) -> SSAValue:
    """With zeros, or what stands for 0, or input 2."""
    width, value = _pad_width(ctx), ctx.value(0)
    if ctx.has(2):
        filler = reshaped(ctx, ctx.value(2), ())
    else:
        zero = int(ctx.out_quantization().zero_point[0]) if ctx.quantized(0) else 0
        filler = ctx.constant(np.asarray(zero, dtype_of(value)), "pad_value")
    return ctx.emit(PadOp, value, filler, pad_width=width)


def mirror_pad(ctx: Context) -> SSAValue:
    mode = {0: "REFLECT", 1: "SYMMETRIC"}.get(ctx.int("Mode", 0), "")
    return ctx.emit(rearrange.MirrorPadOp, ctx.value(0), mode=mode, pad_width=_pad_width(ctx))


def _shape(ctx: Context, shape: tuple[int, ...]) -> Result:
    return creation.extents(ctx, shape, DTYPES.get(ctx.out().type, creation.INT))


def _range(ctx: Context, start: Number, limit: Number, step: Number) -> Result:
    return creation.numbers_from(ctx, start, limit, step, ctx.dtype(0), narrow=True)


def space_to_depth(ctx: Context) -> SSAValue:
    return ctx.emit(rearrange.SpaceToDepthOp, ctx.value(0), block_size=ctx.int("BlockSize", 0), layout="NHWC")


def depth_to_space(ctx: Context) -> SSAValue:
    block = ctx.int("BlockSize", 0)
    return ctx.emit(rearrange.DepthToSpaceOp, ctx.value(0), block_size=block, layout="NHWC", mode="DCR")


def _blocks(ctx: Context, what: str) -> tuple[tuple[int, ...], list[int]]:
    sizes, table = ctx.known_ints(1, "block sizes"), ctx.array(2, what)
    if table.shape != (len(sizes), 2) or min(sizes, default=1) < 1:
        ctx.fail(f"block sizes, and as many pairs of {what}", f"{list(sizes)} and shape {list(table.shape)}")
    return sizes, [int(number) for number in table.reshape(-1).tolist()]


def space_to_batch(ctx: Context) -> SSAValue:
    sizes, width = _blocks(ctx, "paddings")
    zero = float(ctx.out_quantization().zero_point[0]) if ctx.quantized(0) else 0.0
    return ctx.emit(rearrange.SpaceToBatchNdOp, ctx.value(0), block_shape=sizes, paddings=width, pad_value=zero)


def batch_to_space(ctx: Context) -> SSAValue:
    sizes, width = _blocks(ctx, "crops")
    return ctx.emit(rearrange.BatchToSpaceNdOp, ctx.value(0), block_shape=sizes, crops=width)


def same(ctx: Context) -> Result:
    """The value under another name."""
    return ctx.tensor(0)


_AXIS = Int(0, name="Axis")
_MASKS: Any = {
    f"{name}_mask": Int(0, name=f"{name.title().replace('_', '')}Mask")
    for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
}

TABLE = {
    "BATCH_TO_SPACE_ND": Converter(batch_to_space),
    "BROADCAST_ARGS": row(creation.common_extents, "s0:ints s1:ints"),
    "BROADCAST_TO": row(moves.broadcast_to, "input shape:ints"),
    "CONCATENATION": row(_concatenation, "values*", axis=_AXIS),
    "DEPTH_TO_SPACE": Converter(depth_to_space),
    "EXPAND_DIMS": row(moves.expand_dims, "input axis:size"),
    "FILL": row(creation.fill, "dims:ints value"),
    "MIRROR_PAD": Converter(mirror_pad),
    "PACK": row(moves.stack, "values*", axis=_AXIS),
    "PAD": Converter(pad),
    "PADV2": Converter(pad),
    "RANGE": row(_range, "start:exact limit:exact delta:exact"),
    "RANK": row(creation.rank, "input:shape"),
    "RESHAPE": row(_reshape, "input shape:ints?", stated=Ints((), name="NewShape")),
    "REVERSE_V2": row(moves.reverse, "input axes:ints"),
    "SHAPE": row(_shape, "input:shape"),
    "SLICE": row(slices.slice_from, "input begin:ints size:ints"),
    "SPACE_TO_BATCH_ND": Converter(space_to_batch),
    "SPACE_TO_DEPTH": Converter(space_to_depth),
    "SPLIT": row(_split, "axis:size value", count=Int(0, name="NumSplits")),
    "SPLIT_V": row(_split_v, "value sizes:ints axis:size", count=Int(0, name="NumSplits")),
    "SQUEEZE": row(_squeeze, "input", axes=Ints((), name="SqueezeDims")),
    "STRIDED_SLICE": row(
        slices.strided_slice, "input begin:ints end:ints strides:ints", lengths=Flag(False, name="Offset"), **_MASKS
    ),
    "TILE": row(moves.tile_each, "input repetitions:ints"),
    "TRANSPOSE": row(moves.transpose, "input order:ints"),
    "UNPACK": row(_unpack, "value", axis=_AXIS),
}
