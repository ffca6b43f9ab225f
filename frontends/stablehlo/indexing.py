"""Parts of data at places that other tensors say: gathers and slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.transform import ReshapeOp, TakeOp, TransposeOp
from ..importing import context as importing
from ..importing.attributes import Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings.dynamic_slices import dynamic_slice, dynamic_update_slice
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
    rows = Term(ctx, indices).reshape(*shape_of(indices)[:-1]).value
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


TABLE: dict[str, Converter[Context]] = {
    "dynamic_slice": row(
        dynamic_slice, "operand start_indices*", sizes=Ints(name="slice_sizes", count=lambda ctx: len(ctx.shape(0)))
    ),
    "dynamic_update_slice": row(dynamic_update_slice, "operand update start_indices*"),
    "gather": Converter(gather),
}
