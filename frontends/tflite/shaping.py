"""Operators that move elements: reshapes, slices, pads, what joins and splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import rearrange
from ...dialects.relay.creation import ArangeOp, SizesOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    PadOp,
    SqueezeOp,
    StridedSliceOp,
    TakeOp,
)
from ...dialects.sizes import UndecidedSize, proves, size_max, symbols_of
from ...support.dtypes import Array
from ..importing.converter import Converter, Result
from ..importing.moves import reshape_to, slice_from, transpose
from ..importing.products import reshaped
from ..importing.sizes import counted, sizes_array
from ..importing.tensor import dtype_of, shape_of
from .activations import fused
from .context import Context
from .values import DTYPES

_LARGEST = (1 << 31) - 1
"""An end that is as far as 32 bits go."""
_MOST_AXES = 8
"""Extents that LiteRT reads from options."""


def reshape(ctx: Context) -> SSAValue:
    """To the shape in input 1, else in the options; one extent may be -1."""
    if ctx.has(1):
        wanted = ctx.known_ints(1, "a shape")
    else:
        wanted = ctx.ints("NewShape", ())
    if len(ctx.ints("NewShape", ())) > _MOST_AXES:
        ctx.fail(f"at most {_MOST_AXES} extents in its options", str(len(ctx.ints("NewShape", ()))))
    return reshape_to(ctx, wanted)


def expand_dims(ctx: Context) -> SSAValue:
    (axis,) = ctx.known_ints(1, "an axis") or (0,)
    return ctx.emit(ExpandDimsOp, ctx.value(0), axis=ctx.axis(axis, len(ctx.shape(0)) + 1))


def squeeze(ctx: Context) -> SSAValue:
    shape, axes = ctx.shape(0), ctx.ints("SqueezeDims", ())
    gone = [ctx.axis(axis, len(shape)) for axis in axes] or [at for at, extent in enumerate(shape) if extent == 1]
    if any(shape[axis] != 1 for axis in gone):
        ctx.fail("axes of 1 element", f"axes {list(axes)} of {list(shape)}")
    return ctx.emit(SqueezeOp, ctx.value(0), axis=gone) if gone else ctx.emit(ew.CopyOp, ctx.value(0))


def concatenation(ctx: Context) -> SSAValue:
    values = ctx.values()
    axis = ctx.axis(ctx.int("Axis", 0), len(shape_of(values[0])))
    return fused(ctx, ctx.emit(ConcatenateOp, values, axis=axis))


def pack(ctx: Context) -> SSAValue:
    values = ctx.values()
    return ctx.emit(rearrange.StackOp, values, axis=ctx.axis(ctx.int("Axis", 0), len(shape_of(values[0])) + 1))


def cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def unpack(ctx: Context) -> tuple[SSAValue, ...]:
    value, shape = ctx.value(0), ctx.shape(0)
    axis = ctx.axis(ctx.int("Axis", 0), len(shape))
    if shape[axis] != len(ctx.node.outputs):
        ctx.fail(f"{shape[axis]} outputs", str(len(ctx.node.outputs)))
    return tuple(ctx.emit(SqueezeOp, cut(ctx, value, axis, at, at + 1), axis=(axis,)) for at in range(shape[axis]))


def _pieces(ctx: Context, value: SSAValue, axis: int, sizes: Sequence[int]) -> tuple[SSAValue, ...]:
    ends = np.cumsum(sizes).tolist()
    return tuple(cut(ctx, value, axis, end - size, end) for end, size in zip(ends, sizes, strict=True))


def split(ctx: Context) -> tuple[SSAValue, ...]:
    """Equal parts; input 0 is the axis."""
    (axis,) = ctx.known_ints(0, "an axis") or (0,)
    shape, count = ctx.shape(1), ctx.int("NumSplits", len(ctx.node.outputs))
    axis = ctx.axis(axis, len(shape))
    if count < 1 or shape[axis] % count or count != len(ctx.node.outputs):
        ctx.fail(f"{len(ctx.node.outputs)} equal parts of {shape[axis]} elements", str(count))
    return _pieces(ctx, ctx.value(1), axis, [shape[axis] // count] * count)


def split_v(ctx: Context) -> tuple[SSAValue, ...]:
    """Parts of the sizes in input 1, one of which may be -1, along the axis in input 2."""
    sizes, (axis,) = list(ctx.known_ints(1, "sizes")), ctx.known_ints(2, "an axis") or (0,)
    shape = ctx.shape(0)
    axis = ctx.axis(axis, len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    if ctx.int("NumSplits", 0) != len(sizes):
        ctx.fail(f"options with {len(sizes)} splits", str(ctx.int("NumSplits", 0)))
    if min(sizes, default=-1) < 0 or sum(sizes) != shape[axis] or len(sizes) != len(ctx.node.outputs):
        ctx.fail(f"{len(ctx.node.outputs)} sizes whose sum is {shape[axis]}", str(sizes))
    return _pieces(ctx, ctx.value(0), axis, sizes)


def slice_(ctx: Context) -> SSAValue:
    """From `begin` on `size` elements along each axis; -1 is all that are left."""
    return slice_from(ctx, ctx.known_ints(1, "begins"), ctx.known_ints(2, "sizes"))


def _bit(mask: int, place: int) -> bool:
    return bool(mask >> place & 1)


def strided_slice(ctx: Context) -> SSAValue:
    """numpy's slices: masks leave out begins and ends, and say which axes are new, or go."""
    shape = ctx.shape(0)
    begin, end, strides = (list(ctx.known_ints(k, what)) for k, what in ((1, "begins"), (2, "ends"), (3, "strides")))
    if not len(begin) == len(end) == len(strides) or 0 in strides:
        ctx.fail("as many begins, ends and strides other than 0", f"{begin}, {end} and {strides}")
    names = ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask")
    no_begin, no_end, ellipsis, new, shrink = (ctx.int(name, 0) for name in names)
    if (offset := bool(ctx.flag("Offset"))) and (no_begin or no_end):
        ctx.fail("begins and ends of all axes beside offsets", f"masks {no_begin} and {no_end}")
    indexed = sum(1 for k in range(len(begin)) if not _bit(new, k) and not _bit(ellipsis, k))
    taken: list[tuple[int, int, int]] = []
    result: list[int | None] = []
    value = ctx.value(0)
    for k, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        if _bit(ellipsis, k):
            count = len(shape) - indexed
            for extent in shape[len(taken) : len(taken) + max(count, 0)]:
                result.append(len(taken))
                taken.append((0, extent, 1))
        elif _bit(new, k):
            result.append(None)
        else:
            if len(taken) >= len(shape):
                ctx.fail(f"indices of {len(shape)} axes", str(begin))
            extent = shape[len(taken)]
            if _bit(shrink, k):
                at = b + extent if b < 0 else b
                if symbols_of(extent) or symbols_of(b):
                    ctx.require(at)
                    ctx.require(extent - at - 1)
                    place = ctx.emit(SizesOp, values=(at,), shape=(1,), dtype="int32")
                    value = ctx.emit(TakeOp, value, place, axis=len(taken))
                    taken.append((0, 1, 1))
                    continue
                if not 0 <= at < extent:
                    ctx.fail(f"an index in [{-extent}, {extent})", str(b))
                taken.append((at, at + 1, 1))
                continue
            if offset:
                e = (b + extent if not symbols_of(b) and b < 0 else b) + e
            result.append(len(taken))
            if any(map(symbols_of, (extent, b, e))):
                first, last = (0 if _bit(no_begin, k) else b), (extent if _bit(no_end, k) or e >= _LARGEST else e)
                if s < 0:
                    if not (_bit(no_begin, k) and _bit(no_end, k)):
                        raise UndecidedSize(f"strided_slice: a stride of {s} along an axis of {extent}")
                    value = ctx.emit(rearrange.ReverseOp, value, axis=(len(taken),))
                taken.append((first, last, abs(s)))
                continue
            chosen = range(extent)[None if _bit(no_begin, k) else b : None if _bit(no_end, k) else e : s]
            # Relay counts negative ends from the end: one before the first element is so far below.
            stop = chosen.stop if chosen.stop >= 0 else -extent - 1
            taken.append((chosen.start, stop, s) if len(chosen) else (0, 0, 1))
    for extent in shape[len(taken) :]:
        result.append(len(taken))
        taken.append((0, extent, 1))
    begins, ends, steps = zip(*taken, strict=True) if taken else ((), (), ())
    part = ctx.emit(StridedSliceOp, value, begin=begins, end=ends, strides=steps)
    left = shape_of(part)
    return reshaped(ctx, part, tuple(1 if axis is None else left[axis] for axis in result))


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


def tile(ctx: Context) -> SSAValue:
    times = ctx.known_ints(1, "repetitions")
    if len(times) != len(ctx.shape(0)) or any(proves(number, "<", 0) for number in times):
        ctx.fail(f"{len(ctx.shape(0))} repetitions", str(list(times)))
    return ctx.emit(rearrange.TileOp, ctx.value(0), reps=times)


def broadcast_to(ctx: Context) -> SSAValue:
    return ctx.emit(BroadcastToOp, ctx.value(0), shape=ctx.known_ints(1, "a shape"))


def broadcast_args(ctx: Context) -> Array:
    """The shape that two shapes broadcast to."""
    a, b = ctx.known_ints(0, "a shape"), ctx.known_ints(1, "a shape")
    return np.asarray(np.broadcast_shapes(a, b), ctx.dtype(0))


def shape(ctx: Context) -> Result:
    return counted(ctx, sizes_array(ctx.shape(0)), DTYPES.get(ctx.out().type, np.dtype(np.int32)))


def rank(ctx: Context) -> Array:
    return np.asarray(len(ctx.shape(0)), np.int32)


def fill(ctx: Context) -> SSAValue:
    shape = ctx.known_ints(0, "a shape")
    if any(proves(extent, "<", 0) for extent in shape):
        ctx.fail("extents of at least 0", str(list(shape)))
    ctx.fits(shape, ctx.dtype(1))
    return ctx.emit(BroadcastToOp, reshaped(ctx, ctx.value(1), ()), shape=shape)


def range_(ctx: Context) -> Array | SSAValue:
    if any(ctx.tensor(k).symbolic for k in range(3)):
        (start,), (limit,), (step,) = (ctx.known_ints(k, "sizes") for k in range(3))
        if not (start == 0 and step == 1):
            raise UndecidedSize(f"range: from {start} to {limit} by {step}")
        return ctx.emit(ArangeOp, stop=(cast(int, size_max(limit, 0)),), dtype=DTYPES[ctx.out().type].name)
    numbers = [ctx.array(k, what).reshape(()) for k, what in enumerate(("a start", "a limit", "a step"))]
    start, limit, delta = (number.astype(np.float64).item() for number in numbers)
    if not delta:
        ctx.fail("a step other than 0", "0")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    ctx.fits((count,), numbers[0].dtype)
    return (start + np.arange(count) * delta).astype(numbers[0].dtype)


def reverse(ctx: Context) -> SSAValue:
    return ctx.emit(rearrange.ReverseOp, ctx.value(0), axis=ctx.axes(1, len(ctx.shape(0))))


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


TABLE = {
    "BATCH_TO_SPACE_ND": Converter(batch_to_space),
    "BROADCAST_ARGS": Converter(broadcast_args),
    "BROADCAST_TO": Converter(broadcast_to),
    "CONCATENATION": Converter(concatenation),
    "DEPTH_TO_SPACE": Converter(depth_to_space),
    "EXPAND_DIMS": Converter(expand_dims),
    "FILL": Converter(fill),
    "MIRROR_PAD": Converter(mirror_pad),
    "PACK": Converter(pack),
    "PAD": Converter(pad),
    "PADV2": Converter(pad),
    "RANGE": Converter(range_),
    "RANK": Converter(rank),
    "RESHAPE": Converter(reshape),
    "REVERSE_V2": Converter(reverse),
    "SHAPE": Converter(shape),
    "SLICE": Converter(slice_),
    "SPACE_TO_BATCH_ND": Converter(space_to_batch),
    "SPACE_TO_DEPTH": Converter(space_to_depth),
    "SPLIT": Converter(split),
    "SPLIT_V": Converter(split_v),
    "SQUEEZE": Converter(squeeze),
    "STRIDED_SLICE": Converter(strided_slice),
    "TILE": Converter(tile),
    "TRANSPOSE": Converter(transpose),
    "UNPACK": Converter(unpack),
}
