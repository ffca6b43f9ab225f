"""Operators that read and write at indices which are data, and that find elements."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.indexing import ArgwhereOp, GatherNdOp, GatherOp, OneHotOp, ReverseSequenceOp
from ...dialects.relay.scatter import ScatterElementsOp, ScatterNdOp, TensorScatterOp
from ...dialects.relay.transform import ReshapeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import holds_zero
from ..importing.converter import Converter, Narrowed
from ..importing.indices import check_indices, wrapped
from ..importing.tensor import dtype_of, shape_of
from .context import Context
from .known import filled_value
from .shaping import axis_of


def gather_elements(ctx: Context) -> SSAValue:
    axis = axis_of(ctx, ctx.int("axis", 0), len(ctx.shape(0)))
    check_indices(ctx, 1, ctx.shape(0)[axis : axis + 1])
    return ctx.emit(GatherOp, ctx.value(0), ctx.value(1), axis=axis)


def _coordinates_first(ctx: Context, index: int) -> SSAValue:
    """Indices with the axis of coordinates first, as relay has it; in ONNX it is the last."""
    rank = len(ctx.shape(index))
    if not rank:
        ctx.fail("indices of at least 1 dimension", "a scalar")
    return ctx.emit(TransposeOp, ctx.value(index), axes=(rank - 1, *range(rank - 1)))


def gather_nd(ctx: Context) -> SSAValue:
    batch, shape = ctx.int("batch_dims", 0), ctx.shape(0)
    check_indices(ctx, 1, shape[batch : batch + ctx.shape(1)[-1]])
    return ctx.emit(GatherNdOp, ctx.value(0), _coordinates_first(ctx, 1), batch_dims=batch)


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(ctx: Context) -> str:
    given = ctx.word("reduction", "none")
    if given not in _REDUCTIONS:
        ctx.fail(f"reduction among {', '.join(_REDUCTIONS)}", repr(given))
    return _REDUCTIONS[given]


def scatter_elements(ctx: Context) -> SSAValue:
    axis = axis_of(ctx, ctx.int("axis", 0), len(ctx.shape(0)))
    check_indices(ctx, 1, ctx.shape(0)[axis : axis + 1])
    return ctx.emit(ScatterElementsOp, *ctx.values(), axis=axis, reduction=_reduction(ctx))


def scatter_nd(ctx: Context) -> SSAValue:
    check_indices(ctx, 1, ctx.shape(0)[: ctx.shape(1)[-1]])
    return ctx.emit(ScatterNdOp, ctx.value(0), _coordinates_first(ctx, 1), ctx.value(2), mode=_reduction(ctx))


def tensor_scatter(ctx: Context) -> SSAValue:
    batch = ctx.shape(0)[:1]
    start = ctx.value(2) if ctx.has(2) else filled_value(ctx, np.zeros((), np.int64), batch, "write_indices")
    axis, mode = axis_of(ctx, ctx.int("axis", -2), len(ctx.shape(0))), ctx.word("mode", "linear")
    room, rows = (ctx.shape(index)[axis] for index in (0, 1))
    ctx.require_least(room, rows, f"whether {rows} rows fit in {room}")
    if mode == "linear" and ctx.has(2):
        check_indices(ctx, 2, [room - rows + 1])
    return ctx.emit(TensorScatterOp, ctx.value(0), ctx.value(1), start, axis=ctx.int("axis", -2), mode=mode)


def one_hot(ctx: Context) -> SSAValue:
    """one_hot; indices and depth may be of any numeric type, the two values are one input."""
    depth = ctx.size(1, "a depth")
    indices, values = ctx.value(0), ctx.value(2)
    if dtype_of(indices) != np.int64:
        indices = ctx.emit(CastOp, indices, dtype="int64")
    parts = [ctx.emit(StridedSliceOp, values, begin=(at,), end=(at + 1,), strides=(1,)) for at in (0, 1)]
    off, on = (ctx.emit(ReshapeOp, part, newshape=()) for part in parts)
    axis, dtype = ctx.int("axis", -1), ctx.dtype(2).name
    return ctx.emit(OneHotOp, wrapped(ctx, indices, depth), on, off, depth=depth, axis=axis, dtype=dtype)


def reverse_sequence(ctx: Context) -> SSAValue:
    time, batch = ctx.int("time_axis", 0), ctx.int("batch_axis", 1)
    return ctx.emit(ReverseSequenceOp, ctx.value(0), ctx.value(1), seq_axis=time, batch_axis=batch)


def nonzero(ctx: Context) -> Narrowed:
    """The points, one in each column; a scalar counts as a vector."""
    data = ctx.value(0) if ctx.shape(0) else ctx.emit(ReshapeOp, ctx.value(0), newshape=(1,))
    points, number = ctx.emit_all(ArgwhereOp, data)
    return Narrowed(ctx.emit(TransposeOp, points, axes=(1, 0)), number, axis=1)


def compress(ctx: Context) -> Narrowed:
    """take of the places where the condition holds, which may be shorter than the axis."""
    data, shape = ctx.value(0), ctx.shape(0)
    axis = 0
    if ctx.has_attribute("axis"):
        axis = axis_of(ctx, ctx.int("axis", 0), len(shape))
    else:
        data = ctx.emit(ReshapeOp, data, newshape=(prod(shape),), allowzero=int(holds_zero(shape)))
    condition, extent = ctx.value(1), shape_of(data)[axis]
    if shape_of(condition)[0] > extent:
        condition = ctx.emit(StridedSliceOp, condition, begin=(0,), end=(extent,), strides=(1,))
    points, number = ctx.emit_all(ArgwhereOp, condition)
    places = ctx.emit(ReshapeOp, points, newshape=shape_of(points)[:1])
    return Narrowed(ctx.emit(TakeOp, data, places, axis=axis), number, axis)


TABLE = {
    "Compress": Converter(compress),
    "GatherElements": Converter(gather_elements),
    "GatherND": Converter(gather_nd),
    "NonZero": Converter(nonzero),
    "OneHot": Converter(one_hot),
    "ReverseSequence": Converter(reverse_sequence),
    "Scatter": Converter(scatter_elements),
    "ScatterElements": Converter(scatter_elements),
    "ScatterND": Converter(scatter_nd),
    "TensorScatter": Converter(tensor_scatter),
}
MICROSOFT = {"GatherND": Converter(gather_nd)}
