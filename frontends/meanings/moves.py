"""Moves of all elements: shapes, orders of axes, tensors side by side, repeated, backwards, and round an axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np

from ...dialects.relay import rearrange
from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.linear_algebra import TriluOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    ReshapeOp,
    SqueezeOp,
    TransposeOp,
)
from ...dialects.sizes import ENDLESS, Size, SizeExpr, broadcast_sizes, proves, same, same_shape
from ..importing.context import Context
from ..importing.terms import Term, axis_of, places, where
from .slices import cut

# Shapes.


def shaped(x: Term, shape: Sequence[int]) -> Term:
    """The elements in another shape, of sizes; an operator of its own even if the shape is the same."""
    # A size may be 0 in some call.
    zero = any(not isinstance(extent, int) or extent == 0 for extent in cast("Sequence[Size]", shape))
    return x.apply(ReshapeOp, newshape=tuple(shape), allowzero=int(zero))


def filled_in(ctx: Context, shape: Sequence[int], total: int) -> tuple[int, ...]:
    """A shape of so many elements whose -1, if there is one, is what is left."""
    open_ = [at for at, extent in enumerate(cast("Sequence[Size]", shape)) if same(extent, -1)]
    rest = prod(extent for at, extent in enumerate(shape) if at not in open_)
    if len(open_) > 1 or any(proves(extent, "<", 0) for at, extent in enumerate(shape) if at not in open_):
        ctx.fail("extents of at least 0, and at most one -1", str(list(shape)))
    if open_ and same(rest, 0):
        ctx.fail("extents above 0 beside -1", str(list(shape)))
    if not open_:
        if proves(rest, "!=", total):
            ctx.fail(f"a shape of {total} elements", str(list(shape)))
        return tuple(shape)
    if not isinstance(cast(Size, rest), SizeExpr):
        ctx.require_multiple(total, rest, f"a shape of {total} elements")
    return tuple(total // rest if at == open_[0] else extent for at, extent in enumerate(shape))


def reshape(x: Term, shape: Sequence[int]) -> Term:
    """The elements in row-major order in another shape, in which -1 is what is left."""
    return shaped(x, filled_in(x.ctx, shape, prod(x.shape)))


def flat(x: Term) -> Term:
    """All elements along one axis."""
    return shaped(x, (prod(x.shape),))


def squeeze(x: Term, axes: Sequence[int] | None = None) -> Term:
    """Without axes, which have 1 element; by default without all that have."""
    gone = [at for at, extent in enumerate(x.shape) if same(extent, 1)]
    if axes is not None:
        gone = sorted({axis_of(x, axis) for axis in axes})
    return x.apply(SqueezeOp, axis=gone) if gone else x.apply(CopyOp)


def expand_dims(x: Term, axes: Sequence[int] | int) -> Term:
    """With new axes of 1 at places of the result: one operator for each run of them."""
    listed = axes if isinstance(axes, Sequence) else (axes,)
    new = sorted({axis_of(x, axis, len(listed)) for axis in listed})
    if len(new) < len(listed):
        x.ctx.fail("axes that differ", str(list(listed)))
    for start in (axis for axis in new if axis - 1 not in new):
        length = next(n for n in range(1, len(new) + 1) if start + n not in new)
        x = x.apply(ExpandDimsOp, axis=start, num_newaxis=length)
    return x if new else x.apply(CopyOp)


def at_least(x: Term, rank: int) -> Term:
    """A tensor of at least so many dimensions, as numpy's atleast_1d, 2d and 3d have it."""
    shape = x.shape
    if len(shape) >= rank:
        return x.apply(CopyOp)
    if rank == 3 and shape:
        shape = (*shape, 1) if len(shape) == 2 else (1, *shape, 1)
    return shaped(x, (*(1,) * (rank - len(shape)), *shape))


# Extents of 1, repeated.


def broadcast_to(x: Term, shape: Sequence[int]) -> Term:
    """A tensor of a shape that it broadcasts to."""
    return x.apply(BroadcastToOp, shape=tuple(shape))


def broadcast(x: Term, shape: Sequence[int]) -> Term:
    """The same, without an operator where the tensor has the shape."""
    return x if same_shape(x.shape, tuple(shape)) else broadcast_to(x, shape)


def common_shape(ctx: Context, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape to which shapes broadcast."""
    common: Sequence[Size] = ()
    for shape in shapes:
        wider = broadcast_sizes(common, shape)
        if wider is None:
            ctx.fail("shapes that broadcast", str([list(other) for other in shapes]))
        common = wider
    return cast("tuple[int, ...]", tuple(common))


def of_one_shape(*xs: Term) -> tuple[Term, ...]:
    """Tensors in the shape to which they broadcast."""
    shape = common_shape(xs[0].ctx, [x.shape for x in xs])
    return tuple(broadcast(x, shape) for x in xs)


# Orders of axes.


def transpose(x: Term, order: Sequence[int] | None = None) -> Term:
    """With its axes in another order; by default in the reverse one."""
    rank = len(x.shape)
    axes = [*reversed(range(rank))] if order is None else [axis_of(x, axis) for axis in order]
    if sorted(axes) != list(range(rank)):
        x.ctx.fail(f"an order of {rank} axes", str(list(order or ())))
    return x.apply(TransposeOp, axes=axes)


def swap(x: Term, first: int, second: int) -> Term:
    """With two axes in each other's place."""
    order = list(range(len(x.shape)))
    if order:
        a, b = axis_of(x, first), axis_of(x, second)
        order[a], order[b] = b, a
    return x.apply(TransposeOp, axes=order)


def swap_last(x: Term) -> Term:
    return swap(x, -2, -1)


def move(x: Term, source: Sequence[int], target: Sequence[int]) -> Term:
    """With the axes of `source` at `target`; the others keep their order."""
    old, new = ([axis_of(x, axis) for axis in axes] for axes in (source, target))
    if len(old) != len(new) or len({*old}) != len(old) or len({*new}) != len(new):
        x.ctx.fail("as many axes to move as places", f"{old} to {new}")
    order = [axis for axis in range(len(x.shape)) if axis not in old]
    for position, axis in sorted(zip(new, old, strict=True)):
        order.insert(position, axis)
    return x.apply(TransposeOp, axes=order)


# Tensors side by side.


def _meet(xs: Sequence[Term], axis: int | None = None) -> None:
    """Have extents be equal, but for those of an axis, where the call decides whether they are."""
    first = xs[0]
    for other in xs[1:]:
        if len(other.shape) == len(first.shape):
            for at in (at for at in range(len(first.shape)) if at != axis):
                first.ctx.require_equal(first.shape[at], other.shape[at])


def concatenate(*xs: Term, axis: int) -> Term:
    """Tensors one after the other along an axis."""
    axis = axis_of(xs[0], axis)
    _meet(xs, axis)
    values = [x.value for x in xs]
    return Term(xs[0].ctx, xs[0].ctx.emit(ConcatenateOp, values, axis=axis)) if xs[1:] else xs[0].apply(CopyOp)


def stack(*xs: Term, axis: int) -> Term:
    """Tensors of one shape one after the other along a new axis."""
    axis = axis_of(xs[0], axis, 1)
    _meet(xs)
    return Term(xs[0].ctx, xs[0].ctx.emit(rearrange.StackOp, [x.value for x in xs], axis=axis))


def stacked_rows(*xs: Term) -> Term:
    """Along the first axis; vectors are rows."""
    return concatenate(*(at_least(x, 2) for x in xs), axis=0)


def stacked_columns(*xs: Term) -> Term:
    """Along the second axis; vectors along their own."""
    xs = tuple(at_least(x, 1) for x in xs)
    return concatenate(*xs, axis=min(len(xs[0].shape) - 1, 1))


def stacked_in_depth(*xs: Term) -> Term:
    """Along the third axis, on which vectors and matrices have one element."""
    return concatenate(*(at_least(x, 3) for x in xs), axis=2)


# Elements repeated, and in another order.


def tile(x: Term, times: Sequence[int]) -> Term:
    """All of a tensor so many times along each axis; where `times` or the axes are fewer, there are ones before."""
    if any(proves(number, "<", 0) for number in times):
        x.ctx.fail("repetitions of at least 0", str(list(times)))
    return x.apply(rearrange.TileOp, reps=tuple(times))


def tile_each(x: Term, times: Sequence[int]) -> Term:
    """`tile` by a number for each axis."""
    if len(times) != len(x.shape):
        x.ctx.fail(f"{len(x.shape)} repetitions", str(list(times)))
    return tile(x, times)


def repeat(x: Term, times: int, axis: int | None = None) -> Term:
    """Each element of an axis so many times in a row; by default of all along one axis."""
    x = flat(x) if axis is None else x
    at = axis_of(x, axis or 0)
    if isinstance(cast(Size, times), int):
        return x.apply(rearrange.RepeatOp, repeats=times, axis=at)
    wide = broadcast_to(x.apply(ExpandDimsOp, axis=at + 1), (*x.shape[: at + 1], times, *x.shape[at + 1 :]))
    return shaped(wide, (*x.shape[:at], x.shape[at] * times, *x.shape[at + 1 :]))


def reverse(x: Term, axes: Sequence[int] | None = None) -> Term:
    """Backwards along axes, by default along all."""
    turned = list(dict.fromkeys(range(len(x.shape)) if axes is None else (axis_of(x, axis) for axis in axes)))
    return x.apply(rearrange.ReverseOp, axis=turned) if turned else x.apply(CopyOp)


def roll(x: Term, shifts: Sequence[int], axes: Sequence[int] = ()) -> Term:
    """The last elements of axes, so many, before the others; without axes those of all elements in a row."""
    if not axes:
        return shaped(roll(flat(x), (sum(shifts),), (0,)), x.shape)
    if len(shifts) != len(axes):
        x.ctx.fail(f"{len(axes)} shifts", str(list(shifts)))
    rolled = x
    for shift, axis in zip(shifts, axes, strict=True):
        rolled = _rolled(rolled, axis_of(x, axis), shift)
    return x.apply(CopyOp) if rolled is x else rolled


def _rolled(x: Term, axis: int, shift: Size) -> Term:
    extent = cast(Size, x.shape[axis])
    if same(extent, 0) or same(shift, 0):
        return x
    if isinstance(extent, int) and isinstance(shift, int):
        first = -shift % extent
    else:
        # What a call decides is counted inside the axis, from its end where that is known, and checked.
        back = proves(shift, "<", 0)
        first = -shift if back or isinstance(shift, int) else extent - shift
        x.ctx.require(extent + shift if back else extent - shift)
        x.ctx.require(-shift if back else shift)
    end = extent if isinstance(extent, int) else ENDLESS
    return x if same(first, 0) else concatenate(cut(x, axis, first, end), cut(x, axis, 0, first), axis=axis)


def rotate(x: Term, turns: int, axes: Sequence[int] | None = None) -> Term:
    """So many quarters of a turn in the plane of two axes, by default the first two, from one towards the other."""
    first, second = (axis_of(x, axis) for axis in axes or (0, 1))
    match turns % 4:
        case 1:
            return swap(reverse(x, (second,)), first, second)
        case 2:
            return reverse(x, sorted((first, second)))
        case 3:
            return reverse(swap(x, first, second), (second,))
        case _:
            return x.apply(CopyOp)


def triangle(x: Term, upper: bool, diagonal: Term | int = 0) -> Term:
    """The last two axes from a diagonal on, upwards or downwards, and 0 elsewhere."""
    if isinstance(cast(Size, diagonal), SizeExpr):
        height, width = x.shape[-2:]
        far = places(x.ctx, width, 2, 1) - places(x.ctx, height, 2, 0)
        far = far - far.number(cast(Size, diagonal))
        return where(far < 0, *((0, x) if upper else (x, 0)))
    number = x.to("int32") if x.dtype.kind == "b" else x
    k = diagonal if isinstance(diagonal, Term) else Term(x.ctx, x.ctx.constant(np.asarray(diagonal, np.int64), "k"))
    return number.apply(TriluOp, k, upper=upper).to(x.dtype)
