"""Operators that move data."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from ...dialects.relay.transform import BatchFlattenOp, ReshapeOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import ENDLESS, Size, SizeExpr, proves, same, size_max, size_min
from ...dialects.sizes.decisions import compared
from ..importing.attributes import Int, Ints
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import moves, slices
from .context import Context

_LARGEST = (1 << 31) - 1
"""The number by which exporters say "to the end" with 32 bits."""


def axis_of(ctx: Context, axis: int, rank: int) -> int:
    """A possibly negative axis made non-negative."""
    if not -rank <= axis < rank:
        ctx.fail(f"an axis in [{-rank}, {rank})", str(axis))
    return axis % rank


def _reshape(ctx: Context, x: Term) -> Term:
    """relay's reshape, which takes a size for what it is; here a 0 that a call makes of it would copy an extent."""
    shape = ctx.known_ints(1, "a shape") if ctx.opset >= 5 else ctx.ints("shape", None) or ()
    allowzero = ctx.is_one("allowzero")
    for at, extent in enumerate(cast("tuple[Size, ...]", () if allowzero else shape)):
        own = x.shape[at] if at < len(x.shape) else 1
        if isinstance(extent, SizeExpr) and not _zero_with(extent, own):
            ctx.require(extent - 1 if proves(own, ">=", 1) else size_min(extent, 1) - size_min(own, 1))
    return x.apply(ReshapeOp, newshape=shape, allowzero=int(allowzero))


def _zero_with(extent: SizeExpr, own: Size) -> bool:
    """Return whether an extent is surely 0 only where another one is."""
    if proves(extent, ">=", 1) or same(own, 0):
        return True
    times = extent // own
    return same(own // extent * extent, own) or (isinstance(times, int) and times > 0 and same(times * own, extent))


def _flatten(x: Term, axis: int) -> Term:
    """nn.batch_flatten at axis 1; else a reshape to two dimensions."""
    rank = len(x.shape)
    if axis == 1 and rank > 1:
        return x.apply(BatchFlattenOp)
    if not -rank <= axis <= rank:
        x.ctx.fail(f"an axis in [{-rank}, {rank}]", str(axis))
    before = axis + rank if axis < 0 else axis
    return moves.shaped(x, (prod(x.shape[:before]), prod(x.shape[before:])))


def _unsqueeze(ctx: Context, x: Term) -> Term:
    axes = ctx.ints_since(13, "axes", 1)
    if axes is None:
        ctx.fail("axes", "none")
    return moves.expand_dims(x, axes)


def _squeeze(ctx: Context, x: Term) -> Term:
    return moves.squeeze(x, ctx.ints_since(13, "axes", 1))


def _expand(x: Term, shape: tuple[int, ...]) -> Term:
    """broadcast_to the shape that the data's and the wanted one broadcast to."""
    return moves.broadcast_to(x, moves.common_shape(x.ctx, [x.shape, shape]))


def _split(ctx: Context, x: Term, axis: int, num_outputs: int | None) -> tuple[Term, ...]:
    """Parts of sizes; of equal ones, but from opset 18 on the last may be shorter."""
    count, sizes = len(ctx.node.output), ctx.ints_since(13, "split", 1)
    if num_outputs not in (None, count):
        ctx.fail(f"num_outputs {count}, as many as outputs", str(num_outputs))
    if sizes is None and num_outputs is None:
        return slices.split(x, axis, count)
    extent = x.shape[axis_of(ctx, axis, len(x.shape))]
    if sizes is None:
        size = -(-extent // count)
        sizes = (*(size,) * (count - 1), extent - (count - 1) * size)
    if len(sizes) != count:
        ctx.fail(f"{count} sizes that make up {extent}", str(list(sizes)))
    return slices.split_by_sizes(x, sizes, axis)


def taken_range(extent: int, start: int, end: int, step: int) -> range:
    """The positions that a Slice takes of an axis, its bounds clamped as the standard says.

    Other than in Python, going backwards from before the first element takes the first.
    """
    start, end = (bound + extent if bound < 0 else bound for bound in (start, end))
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    return range(max(min(start, high), 0), max(min(end, high), low), step) if extent else range(0)


def slice_bounds(ctx: Context, shape: tuple[int, ...]) -> dict[int, tuple[int, int, int]]:
    """Start, end and step of each axis that a Slice names."""
    if ctx.opset < 10:
        starts, ends, axes, steps = ctx.ints("starts", None), ctx.ints("ends", None), ctx.ints("axes", None), None
    else:
        starts, ends = ctx.known_ints(1, "starts"), ctx.known_ints(2, "ends")
        axes = ctx.known_ints(3, "axes") if ctx.has(3) else None
        steps = ctx.known_ints(4, "steps") if ctx.has(4) else None
    starts, ends = starts or (), ends or ()
    axes = tuple(range(len(starts))) if axes is None else tuple(axis_of(ctx, axis, len(shape)) for axis in axes)
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) == len(set(axes)) or len(starts) > len(shape):
        ctx.fail("starts, ends, axes and steps of one length", f"{starts}, {ends}, {axes}, {steps}")
    if 0 in steps:
        ctx.fail("steps that are not 0", str(list(steps)))
    return {axis: (start, end, step) for axis, start, end, step in zip(axes, starts, ends, steps, strict=True)}


def _symbolic_slice(ctx: Context, data: Term, asked: Mapping[int, tuple[int, int, int]]) -> Term:
    """Forwards, bounds of ONNX are those of relay; backwards is forwards in what is reversed."""
    shape, turned = data.shape, [axis for axis, (_, _, step) in asked.items() if step < 0]
    asked = {
        axis: (
            _counted(_near(ctx, start, shape[axis]), shape[axis], 0, step),
            _counted(_near(ctx, end, shape[axis]), shape[axis], 0 if step > 0 else -1, step),
            step,
        )
        for axis, (start, end, step) in asked.items()
    }
    if turned:
        data = moves.reverse(data, turned)
        asked = {axis: _turned(shape[axis], *bounds) if axis in turned else bounds for axis, bounds in asked.items()}
    begin, end, strides = zip(*asked.values(), strict=True)
    return data.apply(StridedSliceOp, begin=begin, end=end, strides=strides, axes=list(asked))


def _near(ctx: Context, bound: Size, extent: Size) -> int:
    """A bound of a slice that is no larger than there is need: one past any end is ENDLESS."""
    if not isinstance(bound, int) or abs(bound) < _LARGEST:
        return cast(int, bound)
    if abs(bound) < ENDLESS:
        ctx.require(_LARGEST - extent)
    return ENDLESS if bound > 0 else -ENDLESS


def _counted(bound: Size, extent: Size, least: int, step: int) -> int:
    """A bound of which the call may decide that it counts from the end, counted from the first element."""
    if isinstance(bound, int) or proves(bound, ">=", 0) or (step > 0 and proves(bound, "<", 0)):
        return cast(int, bound)
    return cast(int, size_max(bound + extent * compared(bound, "<", 0), least))


def _turned(extent: int, start: Size, end: Size, step: int) -> tuple[int, int, int]:
    """Bounds of a slice backwards, counted from the last element on; one that starts before the first takes that."""

    def place(bound: Size) -> Size:
        if isinstance(bound, int) and bound < 0:
            return ENDLESS if bound == -ENDLESS else -1 - bound
        return 0 if isinstance(bound, int) and bound == ENDLESS else size_max(extent - 1 - bound, 0)

    first = place(start)
    if isinstance(start, int) and start < -1:
        first = size_max(size_min(first, extent - 1), 0)
    return cast(int, first), cast(int, place(end)), -step


def _slice(ctx: Context, x: Term) -> Term:
    shape = x.shape
    asked = slice_bounds(ctx, shape)
    numbers = [number for axis, bounds in asked.items() for number in (shape[axis], *bounds)]
    if not all(isinstance(number, int) for number in cast("list[Size]", numbers)):
        return _symbolic_slice(ctx, x, asked)
    taken = {axis: taken_range(shape[axis], *bounds) for axis, bounds in asked.items()}
    # A negative bound of a relay slice counts from the end: what lies before the first element is -1 - extent.
    return x.apply(
        StridedSliceOp,
        begin=[r.start for r in taken.values()],
        end=[r.stop if r.stop >= 0 else -1 - shape[axis] for axis, r in taken.items()],
        strides=[r.step for r in taken.values()],
        axes=list(taken),
    )


TABLE = {
    "Concat": row(moves.concatenate, "inputs*", axis=Int(1)),
    "Expand": row(_expand, "input shape:ints"),
    "Flatten": row(_flatten, "input", axis=Int(1)),
    "Reshape": row(_reshape, "data"),
    "Slice": row(_slice, "data"),
    "Split": row(_split, "input", axis=Int(0), num_outputs=Int(None)),
    "Squeeze": row(_squeeze, "data"),
    "Transpose": row(TransposeOp, "data", axes=Ints(None, name="perm")),
    "Unsqueeze": row(_unsqueeze, "data"),
}
