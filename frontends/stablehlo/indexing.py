"""Parts of data at places that other tensors say: gather, dynamic slices, and slices that are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.transform import ReshapeOp, StridedSliceOp, TakeOp, TransposeOp
from ..importing import context as importing
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term, places, where
from .context import Context

Numbers = Sequence[int]


def gather(ctx: Context) -> SSAValue:
    """Slices of the data at starts, which are moved so that all of a slice is inside."""
    data, starts = ctx.shape(0), list(ctx.shape(1))
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes")
    offsets, collapsed, mapped, sizes = (ctx.ints(name, ()) for name in names)
    batches, start_batches = ctx.ints("operand_batching_dims", ()), ctx.ints("start_indices_batching_dims", ())
    vector, indices = ctx.int("index_vector_dim", 0), ctx.value(1)
    if vector == len(starts):
        starts.append(1)
        indices = ctx.emit(ReshapeOp, indices, newshape=starts)
    gone = (*collapsed, *batches)
    own = [axis for axis in range(len(data)) if axis not in gone]
    if (
        not 0 <= vector < len(starts)
        or len(sizes) != len(data)
        or any(not 0 <= size <= extent for size, extent in zip(sizes, data, strict=True))
        or len(mapped) != starts[vector]
        or any(not 0 <= axis < len(data) for axis in (*mapped, *gone))
        or len(set(mapped)) != len(mapped)
        or len(set(gone)) != len(gone)
        or any(sizes[axis] != 1 for axis in collapsed)
        or any(sizes[axis] > 1 for axis in batches)
        or len(own) != len(offsets)
        or len(batches) != len(start_batches)
        or any(not 0 <= axis < len(starts) or axis == vector for axis in start_batches)
        or set(batches) & set(mapped)
    ):
        ctx.fail("dimensions that fit data and starts", f"{list(data)}, {starts}, {offsets}, {collapsed}, {sizes}")
    order = [vector, *(axis for axis in range(len(starts)) if axis != vector)]
    batch = [starts[axis] for axis in order[1:]]
    rank = len(batch) + len(offsets)
    if sorted(set(offsets)) != list(offsets) or any(not 0 <= axis < rank for axis in offsets):
        ctx.fail(f"offset dimensions in order, below {rank}", str(list(offsets)))
    free = [axis for axis in range(rank) if axis not in offsets]
    if (rows := _rows(ctx, indices, order, mapped, collapsed, batches, offsets, sizes)) is not None:
        return rows
    result = [0] * rank
    for axis, extent in zip(free, batch, strict=True):
        result[axis] = extent
    for axis, source_axis in zip(offsets, own, strict=True):
        result[axis] = sizes[source_axis]
    grid = np.zeros((len(data), *result), np.int64)
    counts = np.indices(result)
    for axis, source_axis in zip(offsets, own, strict=True):
        grid[source_axis] = counts[axis]
    for axis, source_axis in zip(start_batches, batches, strict=True):
        grid[source_axis] = counts[free[order.index(axis) - 1]]
    room = np.asarray([data[axis] - sizes[axis] for axis in mapped], np.int64).reshape(-1, *[1] * len(batch))
    begin = Term(ctx, ctx.emit(TransposeOp, indices, axes=order)).to("int64")
    begin = begin.apply(ew.MaximumOp, 0).apply(ew.MinimumOp, Term(ctx, ctx.constant(room, "room")))
    points = starting_at(ctx, begin, len(data), mapped, free, rank) + Term(ctx, ctx.constant(grid, "offsets"))
    return ctx.emit(GatherNdOp, ctx.value(0), points.value)


def _rows(
    ctx: Context,
    indices: SSAValue,
    order: Numbers,
    mapped: Numbers,
    collapsed: Numbers,
    batches: Numbers,
    offsets: Numbers,
    sizes: Numbers,
) -> SSAValue | None:
    """Whole rows along one axis, as an embedding has them: take. None where it is something else."""
    data = ctx.shape(0)
    if len(mapped) != 1 or tuple(collapsed) != tuple(mapped) or batches or order[0] != len(order) - 1:
        return None
    (axis,) = mapped
    if any(sizes[at] != extent for at, extent in enumerate(data) if at != axis):
        return None
    count = len(order) - 1
    if list(offsets) != [at if at < axis else at + count for at in range(len(data) - 1)]:
        return None
    rows = reshaped(ctx, indices, shape_of(indices)[:-1])
    return ctx.emit(TakeOp, ctx.value(0), rows, axis=axis, mode="clip")


def starting_at(ctx: importing.Context, begin: Term, rank: int, mapped: Numbers, free: Numbers, result: int) -> Term:
    """Of each axis of the data its own start, 0 of one that has none: `begin` (starts, ..) of the axes `mapped` as
    (rank, ..), in which the axes behind go to `free` of `result` ones."""
    batch = begin.shape[1:]
    which = np.zeros((rank, len(mapped)), np.int64)
    which[list(mapped), range(len(mapped))] = 1
    parts = Term(ctx, ctx.constant(which.reshape(rank, len(mapped), *[1] * len(batch)), "axes"))
    spread = [1] * result
    for axis, extent in zip(free, batch, strict=True):
        spread[axis] = extent
    return (parts * begin.reshape(1, len(mapped), *batch)).sum(1).reshape(rank, *spread)


def _starts(ctx: Context, first: int, room: Numbers) -> list[int | Term]:
    """The starts along each axis, one input each, moved so that `room` is left; numbers where they are known."""
    if len(ctx.inputs) - first != len(room):
        ctx.fail(f"{len(room)} starts", str(len(ctx.inputs) - first))
    result: list[int | Term] = []
    for at, left in enumerate(room):
        array = ctx.known(first + at)
        if left == 0:
            result.append(0)
        elif array is not None and array.size == 1:
            result.append(min(max(int(array.item()), 0), left))
        else:
            start = ctx.term(first + at).to("int64").reshape()
            result.append(start.apply(ew.MaximumOp, 0).apply(ew.MinimumOp, left))
    return result


def _dynamic_slice(ctx: Context) -> SSAValue:
    """A slice of known sizes: static along axes whose starts are known, taken row by row along others."""
    shape = ctx.shape(0)
    sizes = ctx.ints("slice_sizes", count=len(shape))
    if any(not 0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)):
        ctx.fail(f"sizes inside {list(shape)}", str(list(sizes)))
    starts = _starts(ctx, 1, [extent - size for extent, size in zip(shape, sizes, strict=True)])
    x = ctx.value(0)
    begin = [start if isinstance(start, int) else 0 for start in starts]
    end = [begin[at] + size if isinstance(starts[at], int) else shape[at] for at, size in enumerate(sizes)]
    if begin != [0] * len(shape) or end != list(shape):
        x = ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=[1] * len(shape))
    for axis, start in enumerate(starts):
        if isinstance(start, Term):
            x = ctx.emit(TakeOp, x, (places(ctx, sizes[axis]) + start).value, axis=axis, mode="clip")
    return x if x is not ctx.tensor(0).value else ctx.emit(ew.CopyOp, x)


def _dynamic_update_slice(ctx: Context) -> SSAValue:
    """Data with a slice written: chosen element by element along axes whose starts a call decides."""
    shape, sizes = ctx.shape(0), ctx.shape(1)
    if len(sizes) != len(shape) or any(size > extent for size, extent in zip(sizes, shape, strict=True)):
        ctx.fail(f"a slice inside {list(shape)}", str(list(sizes)))
    starts = _starts(ctx, 2, [extent - size for extent, size in zip(shape, sizes, strict=True)])
    if all(isinstance(start, int) for start in starts):
        begin = [start for start in starts if isinstance(start, int)]
        end = [first + size for first, size in zip(begin, sizes, strict=True)]
        return ctx.emit(StridedSetOp, ctx.value(0), ctx.value(1), begin=begin, end=end, strides=[1] * len(shape))
    update, inside = ctx.value(1), None
    for axis, start in enumerate(starts):
        if sizes[axis] == shape[axis]:
            continue
        offset = places(ctx, shape[axis]) - start
        shown = [extent if at == axis else 1 for at, extent in enumerate(shape)]
        here = offset.apply(logic.GreaterEqualOp, 0).apply(logic.LogicalAndOp, offset < sizes[axis]).reshape(*shown)
        inside = here if inside is None else inside.apply(logic.LogicalAndOp, here)
        if sizes[axis] != 1:
            update = ctx.emit(TakeOp, update, offset.value, axis=axis, mode="clip")
    assert inside is not None
    return where(inside, Term(ctx, update), ctx.term(0)).value


TABLE: dict[str, Converter[Context]] = {
    "dynamic_slice": Converter(_dynamic_slice),
    "dynamic_update_slice": Converter(_dynamic_update_slice),
    "gather": Converter(gather),
}
