"""Operators that move elements: shapes, axes, parts and the space between elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import ArangeOp
from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    PadOp,
    ReshapeOp,
    StridedSliceOp,
    TransposeOp,
)
from ...dialects.sizes import Size, SizeExpr, holds_zero, proves, same, same_shape
from ..importing import context as importing
from ..importing.converter import Converter, Result
from ..importing.edges import with_edges
from ..importing.products import reshaped
from ..importing.sizes import counted, sizes_array
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, places
from .context import Context

Numbers = Sequence[int]


def padded(
    ctx: importing.Context, x: SSAValue, filler: SSAValue, low: Numbers, high: Numbers, inner: Numbers
) -> SSAValue:
    """With so many fillers between elements and at both ends; negative ones take elements away."""
    filler = reshaped(ctx, filler, ())
    if any(inner):
        shape = shape_of(x)
        wide = tuple(n + (n - 1) * i if n else 0 for n, i in zip(shape, inner, strict=True))
        ctx.fits(wide, dtype_of(x))
        ground = ctx.emit(BroadcastToOp, filler, shape=wide)
        steps = tuple(i + 1 for i in inner)
        x = ctx.emit(StridedSetOp, ground, x, begin=[0] * len(wide), end=wide, strides=steps)
    if any(n < 0 for n in (*low, *high)):
        shape = shape_of(x)
        begin = [max(-n, 0) for n in low]
        end = [extent + min(n, 0) for extent, n in zip(shape, high, strict=True)]
        if any(b > e for b, e in zip(begin, end, strict=True)):
            ctx.fail(f"edges inside {list(shape)}", f"{list(low)} and {list(high)}")
        x = ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=(1,) * len(shape))
    width = [max(n, 0) for pair in zip(low, high, strict=True) for n in pair]
    return ctx.emit(PadOp, x, filler, pad_width=width) if any(width) else x


def _pad(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0))
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, inner = (ctx.ints(name, count=rank) for name in names)
    if min(inner, default=0) < 0:
        ctx.fail("interior padding of at least 0", str(list(inner)))
    return padded(ctx, ctx.value(0), ctx.value(1), low, high, inner)


def _dynamic_pad(ctx: Context) -> SSAValue:
    low, high, inner = (ctx.known_ints(index, "padding") for index in (2, 3, 4))
    rank = len(ctx.shape(0))
    if not len(low) == len(high) == len(inner) == rank:
        ctx.fail(f"{rank} numbers of padding", f"{len(low)}, {len(high)} and {len(inner)}")
    if any(not same(number, 0) for number in inner):
        ctx.fail("no padding inside", str(list(inner)))
    widths = cast("list[tuple[Size, Size]]", list(zip(low, high, strict=True)))
    return with_edges(ctx, ctx.value(0), widths, reshaped(ctx, ctx.value(1), ()))


def spread(ctx: importing.Context, x: SSAValue, axes: Sequence[int], shape: Sequence[Size]) -> SSAValue:
    """The axes of `x` at `axes` of a shape; where they are 1 and the shape is not, and on other axes, repeated."""
    own: Sequence[Size] = shape_of(x)
    if len(axes) != len(own) or len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
        ctx.fail(f"{len(own)} axes in [0, {len(shape)}), each once", str(list(axes)))
    if list(axes) != sorted(axes):
        order = sorted(range(len(axes)), key=axes.__getitem__)
        x = ctx.emit(TransposeOp, x, axes=order)
        own, axes = [own[at] for at in order], sorted(axes)
    wide: list[Size] = [1] * len(shape)
    for axis, extent in zip(axes, own, strict=True):
        wide[axis] = extent
    for extent, wanted in zip(wide, shape, strict=True):
        if not same(extent, 1) and not same(extent, wanted):
            ctx.require_equal(extent, wanted)
            if isinstance(extent, int) and isinstance(wanted, int):
                ctx.fail(f"extents that broadcast to [{', '.join(map(str, shape))}]", str(list(own)))
    if not own and shape:
        return ctx.emit(BroadcastToOp, x, shape=cast("list[int]", list(shape)))
    if len(wide) != len(own):
        x = reshaped(ctx, x, cast("tuple[int, ...]", tuple(wide)))
    if same_shape(cast("tuple[int, ...]", tuple(wide)), cast("tuple[int, ...]", tuple(shape))):
        return x
    return ctx.emit(BroadcastToOp, x, shape=cast("list[int]", list(shape)))


def _as_result(ctx: Context, x: SSAValue) -> SSAValue:
    """A value that is the input itself as the op's own."""
    return ctx.emit(CopyOp, x) if x is ctx.tensor(0).value else x


def _broadcast_in_dim(ctx: Context) -> SSAValue:
    return _as_result(ctx, spread(ctx, ctx.value(0), ctx.ints("broadcast_dimensions", ()), ctx.static_shape()))


def _dynamic_broadcast(ctx: Context) -> SSAValue:
    shape = ctx.known_ints(1, "a shape")
    return _as_result(ctx, spread(ctx, ctx.value(0), ctx.ints("broadcast_dimensions", ()), shape))


def _broadcast(ctx: Context) -> SSAValue:
    """New axes come first."""
    sizes, own = ctx.ints("broadcast_sizes", ()), ctx.shape(0)
    axes = range(len(sizes), len(sizes) + len(own))
    return _as_result(ctx, spread(ctx, ctx.value(0), tuple(axes), (*sizes, *own)))


def _reshape(ctx: Context) -> SSAValue:
    shape = ctx.static_shape()
    return ctx.emit(ReshapeOp, ctx.value(0), newshape=shape, allowzero=int(holds_zero(shape)))


def _dynamic_reshape(ctx: Context) -> SSAValue:
    shape = ctx.known_ints(1, "a shape")
    return ctx.emit(ReshapeOp, ctx.value(0), newshape=shape, allowzero=int(holds_zero(shape)))


def _transpose(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0))
    axes = ctx.axes("permutation", rank)
    if len(axes) != rank:
        ctx.fail(f"a permutation of {rank} axes", str(list(axes)))
    return ctx.emit(TransposeOp, ctx.value(0), axes=axes)


def _slice(ctx: Context) -> SSAValue:
    shape = ctx.shape(0)
    rank = len(shape)
    begin, end, strides = (ctx.ints(name, count=rank) for name in ("start_indices", "limit_indices", "strides"))
    bounds = zip(begin, end, strides, cast("Sequence[Size]", shape), strict=True)
    if any(not 0 <= b <= e or s < 1 or (isinstance(n, int) and e > n) for b, e, s, n in bounds):
        ctx.fail(f"bounds inside {list(shape)} and positive strides", f"{list(begin)}, {list(end)}, {list(strides)}")
    return ctx.emit(StridedSliceOp, ctx.value(0), begin=begin, end=end, strides=strides)


def _real_dynamic_slice(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0))
    begin, end, strides = (ctx.known_ints(index, "bounds") for index in (1, 2, 3))
    if not len(begin) == len(end) == len(strides) == rank:
        ctx.fail(f"{rank} bounds and strides", f"{len(begin)}, {len(end)} and {len(strides)}")
    return ctx.emit(StridedSliceOp, ctx.value(0), begin=begin, end=end, strides=strides)


def _concatenate(ctx: Context) -> SSAValue:
    if not ctx.inputs:
        ctx.fail("values to join", "none")
    axis = ctx.axis(ctx.int("dimension"), len(ctx.shape(0)))
    values = ctx.values()
    return ctx.emit(ConcatenateOp, values, axis=axis) if len(values) > 1 else ctx.emit(CopyOp, values[0])


def _reverse(ctx: Context) -> SSAValue:
    axes = ctx.axes("dimensions", len(ctx.shape(0)))
    return ctx.emit(ReverseOp, ctx.value(0), axis=axes) if axes else ctx.emit(CopyOp, ctx.value(0))


def counting(ctx: Context, shape: Sequence[Size], axis: int, dtype: str) -> Result:
    """0, 1, .. along an axis of a tensor."""
    extent = shape[axis]
    if all(isinstance(size, int) for size in shape) and np.prod(cast("list[int]", shape)) <= 1024:
        own = [-1 if at == axis else 1 for at in range(len(shape))]
        row = np.arange(cast("int", extent)).astype(dtype).reshape(own)
        return np.broadcast_to(row, cast("list[int]", shape)).copy()
    if isinstance(extent, SizeExpr):
        row = Term(ctx, ctx.emit(ArangeOp, stop=cast("float", (extent,)), dtype=dtype))
    else:
        row = places(ctx, extent, dtype=dtype)
    own_shape = cast("list[int]", [extent if at == axis else 1 for at in range(len(shape))])
    row = row.reshape(*own_shape)
    if same_shape(tuple(own_shape), cast("tuple[int, ...]", tuple(shape))):
        return row.value
    return ctx.emit(BroadcastToOp, row.value, shape=cast("list[int]", list(shape)))


def _iota(ctx: Context) -> Result:
    shape = ctx.static_shape()
    axis = ctx.axis(ctx.int("iota_dimension"), len(shape))
    return counting(ctx, shape, axis, ctx.result_dtype().name)


def _dynamic_iota(ctx: Context) -> Result:
    shape = ctx.known_ints(0, "a shape")
    axis = ctx.axis(ctx.int("iota_dimension"), len(shape))
    return counting(ctx, shape, axis, ctx.result_dtype().name)


def _dimension_size(ctx: Context) -> Result:
    shape: Sequence[Size] = ctx.shape(0)
    size = shape[ctx.axis(ctx.int("dimension"), len(shape))]
    return counted(ctx, sizes_array(size), np.dtype(np.int32))


def _asserted(ctx: Context) -> tuple[Result, ...]:
    """Have every call checked for what the program asserts of sizes."""
    (left,), (right,) = (ctx.known_ints(index, "a size") for index in (0, 1))
    direction = ctx.word("comparison_direction", "")
    match direction:
        case "EQ":
            ctx.require_equal(left, right)
            holds = same(left, right)
        case "GE" | "GT":
            holds = _at_least(ctx, left - right - (direction == "GT"))
        case "LE" | "LT":
            holds = _at_least(ctx, right - left - (direction == "LT"))
        case _:
            ctx.fail("a comparison by EQ, GE, GT, LE or LT", direction)
    if not holds:
        ctx.fail(f"sizes of which {direction} holds", f"{left} and {right}")
    return ()


def _at_least(ctx: Context, room: Size) -> bool:
    """Have every call checked that a size is not negative; return whether it may be so."""
    if proves(room, ">=", 0):
        return True
    if proves(room, "<", 0):
        return False
    ctx.require(room)
    return True


TABLE: dict[str, Converter[Context]] = {
    "broadcast": Converter(_broadcast),
    "broadcast_in_dim": Converter(_broadcast_in_dim),
    "concatenate": Converter(_concatenate),
    "dynamic_broadcast_in_dim": Converter(_dynamic_broadcast),
    "dynamic_iota": Converter(_dynamic_iota),
    "dynamic_pad": Converter(_dynamic_pad),
    "dynamic_reshape": Converter(_dynamic_reshape),
    "get_dimension_size": Converter(_dimension_size),
    "iota": Converter(_iota),
    "pad": Converter(_pad),
    "real_dynamic_slice": Converter(_real_dynamic_slice),
    "reshape": Converter(_reshape),
    "reverse": Converter(_reverse),
    "shape_assertion": Converter(_asserted),
    "slice": Converter(_slice),
    "transpose": Converter(_transpose),
}
