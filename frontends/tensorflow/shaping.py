"""Operators that move elements: reshapes, what joins and splits, pads, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import rearrange
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    PadOp,
    SqueezeOp,
    StridedSliceOp,
)
from ...dialects.sizes import proves, same, symbols_of
from ...support.dtypes import Array
from ..importing.converter import Converter, Result
from ..importing.moves import reshape_to, transpose
from ..importing.sizes import counted, sizes_array
from ..importing.tensor import dtype_of, shape_of
from .context import Context


def reshape(ctx: Context) -> SSAValue:
    """To the shape in input 1, of which one extent may be -1."""
    return reshape_to(ctx, ctx.known_ints(1, "a shape"))


def expand_dims(ctx: Context) -> SSAValue:
    axis = ctx.axis(ctx.one(1, "an axis"), len(ctx.shape(0)) + 1)
    return ctx.emit(ExpandDimsOp, ctx.value(0), axis=axis)


def squeeze(ctx: Context) -> SSAValue:
    shape, axes = ctx.shape(0), ctx.ints("squeeze_dims", ())
    gone = [ctx.axis(axis, len(shape)) for axis in axes] or [at for at, extent in enumerate(shape) if same(extent, 1)]
    if any(proves(shape[axis], "!=", 1) for axis in gone):
        ctx.fail("axes of 1 element", f"axes {list(axes)} of {list(shape)}")
    return ctx.emit(SqueezeOp, ctx.value(0), axis=gone) if gone else ctx.emit(ew.CopyOp, ctx.value(0))


def _joined(ctx: Context, values: Sequence[SSAValue], axis: int) -> SSAValue:
    if len(values) == 1:
        return ctx.emit(ew.CopyOp, values[0])
    return ctx.emit(ConcatenateOp, values, axis=axis)


def concat(ctx: Context) -> SSAValue:
    """The axis comes last, or in the first version of the operator first."""
    first = ctx.op_type == "Concat"
    count = len(ctx.inputs)
    axis = ctx.one(0 if first else count - 1, "an axis")
    values = [ctx.value(index) for index in range(int(first), count - (not first))]
    if not values:
        ctx.fail("tensors to concatenate", "none")
    return _joined(ctx, values, ctx.axis(axis, len(shape_of(values[0]))))


def pack(ctx: Context) -> SSAValue:
    """Each value with a new axis, then concatenated."""
    values = ctx.values()
    if not values:
        ctx.fail("tensors to stack", "none")
    axis = ctx.axis(ctx.int("axis", 0), len(shape_of(values[0])) + 1)
    rows = [ctx.emit(ExpandDimsOp, value, axis=axis) for value in values]
    return rows[0] if len(rows) == 1 else ctx.emit(ConcatenateOp, rows, axis=axis)


def cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def unpack(ctx: Context) -> tuple[SSAValue, ...]:
    value, shape = ctx.value(0), ctx.shape(0)
    axis, count = ctx.axis(ctx.int("axis", 0), len(shape)), ctx.int("num", 0)
    ctx.require_equal(shape[axis], count)
    if not same(shape[axis], count):
        ctx.fail(f"{count} elements along axis {axis}", str(shape[axis]))
    return tuple(ctx.emit(SqueezeOp, cut(ctx, value, axis, at, at + 1), axis=(axis,)) for at in range(count))


def _pieces(ctx: Context, value: SSAValue, axis: int, sizes: Sequence[int]) -> tuple[SSAValue, ...]:
    if len(sizes) == 1:
        return (ctx.emit(ew.CopyOp, value),)
    results: list[SSAValue] = []
    begin = 0
    for size in sizes:
        results.append(cut(ctx, value, axis, begin, begin + size))
        begin = begin + size
    return tuple(results)


def split(ctx: Context) -> tuple[SSAValue, ...]:
    """Equal parts; input 0 is the axis."""
    shape, count = ctx.shape(1), ctx.int("num_split", 0)
    axis = ctx.axis(ctx.one(0, "an axis"), len(shape))
    if count < 1 or proves(shape[axis] % count, "!=", 0):
        ctx.fail(f"equal parts of {shape[axis]} elements", str(count))
    ctx.require_multiple(shape[axis], count, f"a multiple of {count}")
    return _pieces(ctx, ctx.value(1), axis, [shape[axis] // count] * count)


def split_v(ctx: Context) -> tuple[SSAValue, ...]:
    """Parts of the sizes in input 1, one of which may be -1, along the axis in input 2."""
    sizes, shape = list(ctx.known_ints(1, "sizes")), ctx.shape(0)
    axis = ctx.axis(ctx.one(2, "an axis"), len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    if any(proves(size, "<", 0) for size in sizes) or proves(sum(sizes), "!=", shape[axis]):
        ctx.fail(f"sizes whose sum is {shape[axis]}", str(sizes))
    ctx.require_equal(sum(sizes), shape[axis])
    return _pieces(ctx, ctx.value(0), axis, sizes)


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


def tile(ctx: Context) -> SSAValue:
    times = ctx.known_ints(1, "repetitions")
    if len(times) != len(ctx.shape(0)) or any(proves(n, "<", 0) for n in times):
        ctx.fail(f"{len(ctx.shape(0))} repetitions", str(list(times)))
    return ctx.emit(rearrange.TileOp, ctx.value(0), reps=times)


def broadcast_to(ctx: Context) -> SSAValue:
    return ctx.emit(BroadcastToOp, ctx.value(0), shape=ctx.known_ints(1, "a shape"))


def broadcast_args(ctx: Context) -> Array:
    """The shape that two shapes broadcast to."""
    a, b = ctx.known_ints(0, "a shape"), ctx.known_ints(1, "a shape")
    return np.asarray(np.broadcast_shapes(a, b), ctx.dtype(0))


def shape(ctx: Context) -> Result:
    return counted(ctx, sizes_array(ctx.shape(0)), ctx.element("out_type", np.dtype("int32")))


def shapes(ctx: Context) -> tuple[Result, ...]:
    dtype = ctx.element("out_type", np.dtype("int32"))
    return tuple(counted(ctx, sizes_array(ctx.shape(index)), dtype) for index in range(len(ctx.inputs)))


def size(ctx: Context) -> Result:
    return counted(ctx, sizes_array(prod(ctx.shape(0))), ctx.element("out_type", np.dtype("int32")))


def rank(ctx: Context) -> Array:
    return np.asarray(len(ctx.shape(0)), np.int32)


def fill(ctx: Context) -> SSAValue:
    wanted = ctx.known_ints(0, "a shape")
    if any(proves(extent, "<", 0) for extent in wanted):
        ctx.fail("extents of at least 0", str(list(wanted)))
    ctx.fits(wanted, ctx.dtype(1))
    return ctx.emit(BroadcastToOp, ctx.value(1), shape=wanted)


def reverse(ctx: Context) -> SSAValue:
    axes = ctx.axes(1, len(ctx.shape(0)))
    return ctx.emit(rearrange.ReverseOp, ctx.value(0), axis=axes) if axes else ctx.emit(ew.CopyOp, ctx.value(0))


def roll(ctx: Context) -> SSAValue:
    """The last elements along an axis come first."""
    shifts, axes = ctx.known_ints(1, "shifts"), ctx.known_ints(2, "axes")
    if len(shifts) != len(axes):
        ctx.fail(f"{len(axes)} shifts", str(list(shifts)))
    value = ctx.value(0)
    for shift, axis in zip(shifts, axes, strict=True):
        at, extent = ctx.axis(axis, len(ctx.shape(0))), ctx.shape(0)[ctx.axis(axis, len(ctx.shape(0)))]
        if symbols_of(extent):
            first = -shift if shift <= 0 else extent - shift
            ctx.require(first)
            ctx.require(extent - first)
        else:
            first = -shift % extent if extent else 0
        if not same(first, 0):
            value = _joined(ctx, [cut(ctx, value, at, first, extent), cut(ctx, value, at, 0, first)], at)
    return value if isinstance(value.owner, StridedSliceOp | ConcatenateOp) else ctx.emit(ew.CopyOp, value)


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


TABLE = {
    "BatchToSpaceND": Converter(batch_to_space),
    "BroadcastArgs": Converter(broadcast_args),
    "BroadcastTo": Converter(broadcast_to),
    "Concat": Converter(concat),
    "ConcatV2": Converter(concat),
    "DepthToSpace": Converter(depth_to_space),
    "EnsureShape": Converter(ensure_shape),
    "ExpandDims": Converter(expand_dims),
    "Fill": Converter(fill),
    "MirrorPad": Converter(mirror_pad),
    "Pack": Converter(pack),
    "Pad": Converter(pad),
    "PadV2": Converter(pad),
    "Rank": Converter(rank),
    "Reshape": Converter(reshape),
    "ReverseV2": Converter(reverse),
    "Roll": Converter(roll),
    "Shape": Converter(shape),
    "ShapeN": Converter(shapes),
    "Size": Converter(size),
    "SpaceToBatchND": Converter(space_to_batch),
    "SpaceToDepth": Converter(space_to_depth),
    "Split": Converter(split),
    "SplitV": Converter(split_v),
    "Squeeze": Converter(squeeze),
    "Tile": Converter(tile),
    "Transpose": Converter(transpose),
    "Unpack": Converter(unpack),
}
