"""Operators that move elements: shapes, axes, parts and the space between elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.transform import BroadcastToOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import Size, proves, same
from ..importing.attributes import Int, Ints
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.sizes import counted, sizes_array
from ..importing.terms import Term, places
from ..meanings import moves, pads
from .context import Context

Numbers = Sequence[int]


def padded(x: Term, filler: Term, low: Numbers, high: Numbers, inner: Numbers) -> Term:
    """With so many fillers between elements and at both ends; negative ones take elements away."""
    if min(inner, default=0) < 0:
        x.ctx.fail("interior padding of at least 0", str(list(inner)))
    if any(inner):
        wide = tuple(n + (n - 1) * i if n else 0 for n, i in zip(x.shape, inner, strict=True))
        x.ctx.fits(wide, x.dtype)
        ground = filler.apply(BroadcastToOp, shape=wide)
        x = ground.apply(StridedSetOp, x, begin=[0] * len(wide), end=wide, strides=tuple(i + 1 for i in inner))
    widths = list(zip(low, high, strict=True))
    return pads.padded(x, widths, filler) if any(map(any, widths)) else x


def _dynamic_pad(x: Term, filler: Term, low: Numbers, high: Numbers, inner: Numbers) -> Term:
    if not len(low) == len(high) == len(inner) == len(x.shape):
        x.ctx.fail(f"{len(x.shape)} numbers of padding", f"{len(low)}, {len(high)} and {len(inner)}")
    if any(not same(number, 0) for number in inner):
        x.ctx.fail("no padding inside", str(list(inner)))
    return pads.padded(x, list(zip(low, high, strict=True)), filler)


def _spread(x: Term, shape: Sequence[int], axes: Sequence[int]) -> Term:
    """The axes of `x` at `axes` of a shape; where they are 1 and the shape is not, and on other axes, repeated."""
    ctx, given = x.ctx, x.value
    if len(axes) != len(x.shape) or len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
        ctx.fail(f"{len(x.shape)} axes in [0, {len(shape)}), each once", str(list(axes)))
    if list(axes) != sorted(axes):
        order = sorted(range(len(axes)), key=axes.__getitem__)
        x, axes = x.apply(TransposeOp, axes=order), sorted(axes)
    wide = [1] * len(shape)
    for axis, extent in zip(axes, x.shape, strict=True):
        wide[axis] = extent
    for extent, wanted in zip(cast("list[Size]", wide), shape, strict=True):
        if not same(extent, 1) and not same(extent, wanted):
            ctx.require_equal(extent, wanted)
            if isinstance(extent, int) and isinstance(cast(Size, wanted), int):
                ctx.fail(f"extents that broadcast to [{', '.join(map(str, shape))}]", str(list(x.shape)))
    # A scalar needs no axes of 1.
    x = moves.broadcast(x.reshape(*wide) if x.shape else x, shape)
    return x.apply(CopyOp) if x.value is given else x


def _broadcast_in_dim(ctx: Context, x: Term, axes: tuple[int, ...]) -> Term:
    return _spread(x, ctx.static_shape(), axes)


def _broadcast(x: Term, sizes: tuple[int, ...]) -> Term:
    """New axes come first."""
    return _spread(x, (*sizes, *x.shape), range(len(sizes), len(sizes) + len(x.shape)))


def _reshape(ctx: Context, x: Term) -> Term:
    return moves.shaped(x, ctx.static_shape())


def _slice(ctx: Context, x: Term) -> Term:
    shape = x.shape
    begin, end, strides = (ctx.ints(name, count=len(shape)) for name in ("start_indices", "limit_indices", "strides"))
    bounds = zip(begin, end, strides, cast("Sequence[Size]", shape), strict=True)
    if any(not 0 <= b <= e or s < 1 or (isinstance(n, int) and e > n) for b, e, s, n in bounds):
        ctx.fail(f"bounds inside {list(shape)} and positive strides", f"{list(begin)}, {list(end)}, {list(strides)}")
    return x.apply(StridedSliceOp, begin=begin, end=end, strides=strides)


def _real_dynamic_slice(x: Term, begin: Numbers, end: Numbers, strides: Numbers) -> Term:
    rank = len(x.shape)
    if not len(begin) == len(end) == len(strides) == rank:
        x.ctx.fail(f"{rank} bounds and strides", f"{len(begin)}, {len(end)} and {len(strides)}")
    return x.apply(StridedSliceOp, begin=tuple(begin), end=tuple(end), strides=tuple(strides))


def _counting(ctx: Context, shape: Sequence[Size], axis: int) -> Result:
    """0, 1, .. along an axis of a tensor."""
    axis, dtype = ctx.axis(axis, len(shape)), ctx.result_dtype().name
    extent, rank = cast("int", shape[axis]), len(shape)
    sizes = cast("list[int]", list(shape))
    if all(isinstance(size, int) for size in shape) and np.prod(sizes) <= 1024:
        line = np.arange(extent).astype(dtype).reshape([-1 if at == axis else 1 for at in range(rank)])
        return np.broadcast_to(line, sizes).copy()
    return moves.broadcast(places(ctx, extent, rank, axis, dtype), sizes).value


def _iota(ctx: Context, axis: int) -> Result:
    return _counting(ctx, ctx.static_shape(), axis)


def _dimension_size(ctx: Context, shape: Sequence[int], axis: int) -> Result:
    return counted(ctx, sizes_array(shape[ctx.axis(axis, len(shape))]), np.dtype(np.int32))


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


def _rank(ctx: Context) -> int:
    return len(ctx.shape(0))


_AXES, _IOTA = Ints((), name="broadcast_dimensions"), Int(name="iota_dimension")

TABLE: dict[str, Converter[Context]] = {
    "broadcast": row(_broadcast, "operand", sizes=Ints((), name="broadcast_sizes")),
    "broadcast_in_dim": row(_broadcast_in_dim, "operand", axes=_AXES),
    "concatenate": row(moves.concatenate, "inputs*", axis=Int(name="dimension", least=0)),
    "dynamic_broadcast_in_dim": row(_spread, "operand shape:ints", axes=_AXES),
    "dynamic_iota": row(_counting, "shape:ints", axis=_IOTA),
    "dynamic_pad": row(_dynamic_pad, "operand padding_value low:ints high:ints interior:ints"),
    "dynamic_reshape": row(moves.shaped, "operand shape:ints"),
    "get_dimension_size": row(_dimension_size, "operand:shape", axis=Int(name="dimension")),
    "iota": row(_iota, axis=_IOTA),
    "pad": row(
        padded,
        "operand padding_value",
        low=Ints(count=_rank, name="edge_padding_low"),
        high=Ints(count=_rank, name="edge_padding_high"),
        inner=Ints(count=_rank, name="interior_padding"),
    ),
    "real_dynamic_slice": row(_real_dynamic_slice, "operand begin:ints end:ints strides:ints"),
    "reshape": row(_reshape, "operand"),
    "reverse": row(moves.reverse, "operand", axes=Ints((), name="dimensions", least=0)),
    "shape_assertion": Converter(_asserted),
    "slice": row(_slice, "operand"),
    "transpose": row(moves.transpose, "operand", order=Ints((), name="permutation", least=0)),
}
