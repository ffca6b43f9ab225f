"""GatherBlockQuantized: rows of a table whose numbers of a few bits have a scale, and a zero point, for each block."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, LessOp
from ...dialects.relay.logic import GreaterEqualOp, LogicalAndOp, WhereOp
from ...dialects.relay.qnn import DequantizeOp
from ...dialects.relay.transform import BroadcastToOp, ExpandDimsOp, ReshapeOp, StridedSliceOp, TakeOp
from ...dialects.sizes import ceil_div, same
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from .context import Context
from .matmul_nbits import unpacked
from .shaping import axis_of


def _whole(ctx: Context, index: int, bits: int, count: int) -> SSAValue:
    """Input `index`, its numbers of less than 8 bits apart: the last axis has `count`."""
    if ctx.dtype(index) != np.uint8 or bits == 8:
        return ctx.value(index)
    numbers = unpacked(ctx.array(index, "the table"), bits, count)
    return ctx.constant(numbers, f"{ctx.tensor(index).name}.unpacked")


def _spread(ctx: Context, value: SSAValue, axis: int, block: int, extent: int) -> SSAValue:
    """Each number along an axis for a block of elements, of which there are `extent`."""
    own = list(shape_of(value))
    if own[axis] == 1 and block >= extent:
        return value
    wide = ctx.emit(ExpandDimsOp, value, axis=axis + 1)
    shape = [*own[: axis + 1], block, *own[axis + 1 :]]
    own[axis] *= block
    every = Term(ctx, ctx.emit(BroadcastToOp, wide, shape=shape)).reshape(*own).value
    return ctx.emit(StridedSliceOp, every, begin=(0,), end=(extent,), strides=(1,), axes=(axis,))


def gather_block_quantized(ctx: Context) -> SSAValue:
    """The rows, dequantised after they are taken unless blocks lie along the same axis; zeros for a row outside."""
    bits, packed = ctx.int("bits", 4), ctx.dtype(0) == np.uint8
    if bits not in (2, 4, 8):
        ctx.fail("bits 2, 4 or 8", str(bits))
    *outer, last = ctx.shape(0)
    shape = [*outer, last * 8 // bits if packed else last]
    rank = len(shape)
    gathered, along = axis_of(ctx, ctx.int("gather_axis", 0), rank), axis_of(ctx, ctx.int("quantize_axis", 1), rank)
    block = ctx.int("block_size", 128) or shape[along]
    scales = ctx.shape(2)
    if len(scales) != rank or not same(scales[along], ceil_div(shape[along], block)):
        ctx.fail(f"a scale for each block of {block} along axis {along} of {shape}", f"shape {list(scales)}")
    parts = [_whole(ctx, 0, bits, shape[-1]), ctx.value(2)]
    if ctx.has(3):
        parts.append(_whole(ctx, 3, bits, scales[-1]))
    extent, dtype = shape[gathered], ctx.dtype(2)
    if along == gathered:
        real = _dequantized(ctx, parts, along, block, bits if packed else 0)
        return _within(ctx, ctx.emit(TakeOp, real, _places(ctx, extent), axis=gathered, mode="clip"), gathered, extent)
    at = _places(ctx, extent)
    taken = [
        part if same(shape_of(part)[gathered], 1) and k else ctx.emit(TakeOp, part, at, axis=gathered, mode="clip")
        for k, part in enumerate(parts)
    ]
    more = len(ctx.shape(1)) - 1
    moved = along + more if along > gathered else along
    for k, part in enumerate(taken):
        if len(shape_of(part)) != rank + more:
            # One scale for all rows.
            own = shape_of(part)
            taken[k] = Term(ctx, part).reshape(*own[:gathered], *(1,) * (more + 1), *own[gathered + 1 :]).value
    real = _dequantized(ctx, taken, moved, block, bits if packed else 0)
    result = _within(ctx, real, gathered, extent)
    return result if dtype_of(result) == dtype else ctx.emit(CastOp, result, dtype=dtype.name)


def _places(ctx: Context, extent: int) -> SSAValue:
    """The indices, those below 0 counted from the end."""
    own = ctx.value(1)
    below = ctx.emit(LessOp, own, ctx.scalar(0, own))
    return ctx.emit(WhereOp, below, ctx.emit(AddOp, own, ctx.scalar(extent, own)), own)


def _within(ctx: Context, rows: SSAValue, axis: int, extent: int) -> SSAValue:
    """Zeros where an index lies outside."""
    at, own = _places(ctx, extent), ctx.shape(1)
    inside = ctx.emit(GreaterEqualOp, at, ctx.scalar(0, at))
    inside = ctx.emit(LogicalAndOp, inside, ctx.emit(LessOp, at, ctx.scalar(extent, at)))
    trailing = len(shape_of(rows)) - axis - len(own)
    inside = ctx.emit(ReshapeOp, inside, newshape=(*own, *(1,) * trailing))
    return ctx.emit(WhereOp, inside, rows, ctx.scalar(0.0, rows))


def _dequantized(ctx: Context, parts: list[SSAValue], axis: int, block: int, bits: int) -> SSAValue:
    """(number - zero point) * scale, of numbers, scales and perhaps zero points; of bytes 2^(bits - 1) is zero."""
    numbers, scale, *zeros = parts
    extent = shape_of(numbers)[axis]
    scale = _spread(ctx, scale, axis, block, extent)
    wide = scale if dtype_of(scale) == np.float32 else ctx.emit(CastOp, scale, dtype="float32")
    if zeros:
        zero = _spread(ctx, ctx.emit(CastOp, zeros[0], dtype="int32"), axis, block, extent)
    else:
        zero = ctx.constant(np.asarray(1 << (bits - 1) if bits else 0, np.int32), "zero_point")
    return ctx.emit(DequantizeOp, numbers, wide, zero, out_dtype=dtype_of(scale).name)


MICROSOFT = {"GatherBlockQuantized": Converter(gather_block_quantized)}
