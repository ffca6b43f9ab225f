"""Elements of data updated at places that another tensor says."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic, reduce
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.transform import PadOp, ReshapeOp, StridedSliceOp, TransposeOp
from ..importing.converter import Converter
from ..importing.terms import Term, where
from .context import Context
from .indexing import starting_at

_MODES = {
    **{"update": "update", "add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"},
    **{"and": "min", "or": "max"},
}


def scatter(ctx: Context) -> SSAValue:
    """Elements updated, in order, in windows of the data at starts; those that come to lie outside are left out."""
    if len(ctx.inputs) != 3:
        ctx.fail("data, places and updates", f"{len(ctx.inputs)} inputs")
    data, starts, updates = ctx.shape(0), list(ctx.shape(1)), ctx.shape(2)
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    windows, inserted, mapped = (ctx.ints(name, ()) for name in names)
    batches, start_batches = ctx.ints("input_batching_dims", ()), ctx.ints("scatter_indices_batching_dims", ())
    vector, indices = ctx.int("index_vector_dim", 0), ctx.value(1)
    mode, truths = _MODES.get(ctx.node.body), ctx.dtype(0) == np.bool_
    if mode is None or (ctx.node.body in ("and", "or") and not truths):
        wanted = "an update, or one operator add, multiply, maximum or minimum"
        ctx.fail(wanted, ctx.node.body or ctx.node.body_text or "another")
    if vector == len(starts):
        starts.append(1)
        indices = ctx.emit(ReshapeOp, indices, newshape=starts)
    gone = (*inserted, *batches)
    own = [axis for axis in range(len(data)) if axis not in gone]
    free = [axis for axis in range(len(updates)) if axis not in windows]
    if (
        not 0 <= vector < len(starts)
        or len(mapped) != starts[vector]
        or any(not 0 <= axis < len(data) for axis in (*mapped, *gone))
        or len(set(mapped)) != len(mapped)
        or any(not 0 <= axis < len(updates) for axis in windows)
        or len(own) != len(windows)
        or len(batches) != len(start_batches)
        or any(not 0 <= axis < len(starts) or axis == vector for axis in start_batches)
        or [updates[axis] for axis in free] != [n for axis, n in enumerate(starts) if axis != vector]
    ):
        ctx.fail("dimensions that fit data, starts and updates", f"{list(data)}, {starts}, {list(updates)}")
    order = [vector, *(axis for axis in range(len(starts)) if axis != vector)]
    begin = Term(ctx, ctx.emit(TransposeOp, indices, axes=order)).to("int64")
    counts = np.indices(updates)
    grid = np.zeros((len(data), *updates), np.int64)
    for axis, source_axis in zip(windows, own, strict=True):
        grid[source_axis] = counts[axis]
    for axis, source_axis in zip(start_batches, batches, strict=True):
        grid[source_axis] = counts[free[order.index(axis) - 1]]
    points = starting_at(ctx, begin, len(data), mapped, free, len(updates))
    points = points + Term(ctx, ctx.constant(grid, "offsets"))
    count, ones = prod(data), [1] * len(updates)
    room = np.asarray(data, np.int64).reshape(-1, *ones)
    strides = np.asarray([prod(data[axis + 1 :]) for axis in range(len(data))], np.int64).reshape(-1, *ones)
    below = points.apply(ew.LessOp, Term(ctx, ctx.constant(room, "room"))).to("int32")
    above = points.apply(logic.GreaterEqualOp, 0).to("int32")
    inside = (below * above).apply(reduce.MinOp, axis=[0]) > 0
    flat = (points * Term(ctx, ctx.constant(strides, "strides"))).sum(0).reshape(*updates)
    # Behind the data is room for what is left out.
    flat = where(inside, flat, count).reshape(1, prod(updates))
    values, new = ctx.term(0), ctx.term(2)
    values, new = values.reshape(count), new.reshape(prod(updates))
    if truths:
        values, new = values.to("int8"), new.to("int8")
    whole = ctx.emit(PadOp, values.value, ctx.number(0, values.dtype.name), pad_width=[0, 1])
    result = ctx.emit(ScatterNdOp, whole, flat.value, new.value, mode=mode)
    result = ctx.emit(StridedSliceOp, result, begin=[0], end=[count], strides=[1])
    return Term(ctx, result).to(ctx.dtype(0)).reshape(*data).value


TABLE: dict[str, Converter[Context]] = {"scatter": Converter(scatter)}
