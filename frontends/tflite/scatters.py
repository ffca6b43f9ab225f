"""Scatters, segments, diagonals, and results whose size only values decide."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.indexing import ArgwhereOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import MaxOp, MinOp, ProdOp
from ...dialects.relay.scatter import MatrixSetDiagOp, ScatterNdOp, StridedSetOp
from ...dialects.relay.sorting import SearchSortedOp, UniqueOp
from ...dialects.relay.sparse import SegmentSumOp, SparseToDenseOp
from ...dialects.relay.transform import BroadcastToOp, ReshapeOp, TransposeOp
from ...support.dtypes import limits
from ..importing.converter import Converter, Narrowed
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, term
from .context import Context
from .fixed_point import away_from_zero
from .values import DTYPES


def _zeros(ctx: Context, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> SSAValue:
    ctx.fits(shape, dtype)
    return ctx.emit(BroadcastToOp, ctx.constant(np.zeros((), dtype), "zero"), shape=shape)


def scatter_nd(ctx: Context) -> SSAValue:
    """Updates added up at points of zeros; the coordinates are along the last axis of the indices."""
    indices, updates, shape = ctx.value(0), ctx.value(1), ctx.known_ints(2, "a shape")
    rank = len(shape_of(indices))
    points = ctx.emit(TransposeOp, indices, axes=(rank - 1, *range(rank - 1)))
    if dtype_of(updates) == np.bool_:
        counted = ctx.emit(ew.CastOp, updates, dtype="int32")
        total = ctx.emit(ScatterNdOp, _zeros(ctx, shape, np.dtype(np.int32)), points, counted, mode="add")
        return ctx.emit(ew.CastOp, total, dtype="bool")
    return ctx.emit(ScatterNdOp, _zeros(ctx, shape, dtype_of(updates)), points, updates, mode="add")


def segment_sum(ctx: Context) -> SSAValue:
    ids = ctx.known_ints(1, "segments")
    return ctx.emit(SegmentSumOp, ctx.value(0), ctx.value(1), num_segments=max(ids, default=-1) + 1)


def unsorted_segments(op: type[Operator], empty: str) -> Converter[Context]:
    """Of each segment the rows that are its; `empty` is what a segment without any is."""

    def convert(ctx: Context) -> SSAValue:
        data, ids = ctx.value(0), ctx.value(1)
        (count,) = ctx.known_ints(2, "a number of segments") or (0,)
        shape, inner = shape_of(ids), shape_of(data)[len(shape_of(ids)) :]
        rows = int(np.prod(shape, dtype=np.int64))
        dtype = dtype_of(data)
        if op is SegmentSumOp:
            flat = reshaped(ctx, data, (rows, *inner))
            return ctx.emit(SegmentSumOp, flat, reshaped(ctx, ids, (rows,)), num_segments=count)
        low, high = (-np.inf, np.inf) if dtype.kind == "f" else limits(dtype.name)
        least, most = (np.finfo(np.float32).min, np.finfo(np.float32).max) if dtype.kind == "f" else (low, high)
        filler = {"least": least, "most": most, "one": 1}[empty]
        flat = reshaped(ctx, data, (1, rows, *inner))
        segments = ctx.constant(np.arange(count, dtype=dtype_of(ids)).reshape(count, 1), "segments")
        own = ctx.emit(ew.EqualOp, reshaped(ctx, ids, (1, rows)), segments)
        own = reshaped(ctx, own, (count, rows, *[1] * len(inner)))
        chosen = ctx.emit(logic.WhereOp, own, flat, ctx.constant(np.asarray(filler).astype(dtype), "empty"))
        return ctx.emit(op, chosen, axis=[1])

    return Converter(convert)


def sparse_to_dense(ctx: Context) -> SSAValue:
    """Values at points, the rest a default."""
    default = reshaped(ctx, ctx.value(3), ()) if ctx.has(3) else None
    shape = ctx.known_ints(1, "a shape")
    ctx.fits(shape, ctx.dtype(2))
    values, points = ctx.value(2), ctx.value(0)
    count = shape_of(points)[0] if shape_of(points) else 1
    if shape_of(values) == () and shape_of(points) != ():
        values = ctx.emit(BroadcastToOp, values, shape=(count,))
    return ctx.emit(SparseToDenseOp, points, values, default, output_shape=shape)


def matrix_diag(ctx: Context) -> SSAValue:
    """Vectors along the last axis on the diagonals of square matrices of zeros."""
    value = ctx.value(0)
    shape = shape_of(value)
    return ctx.emit(MatrixSetDiagOp, _zeros(ctx, (*shape, shape[-1]), dtype_of(value)), value)


def matrix_set_diag(ctx: Context) -> SSAValue:
    return ctx.emit(MatrixSetDiagOp, ctx.value(0), ctx.value(1))


def dynamic_update_slice(ctx: Context) -> SSAValue:
    """The update at a place, which is moved so that all of it is inside."""
    data, update, start = ctx.value(0), ctx.value(1), Term(ctx, ctx.value(2)).to("int64")
    shape, own = shape_of(data), shape_of(update)
    if len(own) != len(shape) or any(u > n for u, n in zip(own, shape, strict=False)):
        ctx.fail(f"an update that fits {list(shape)}", f"shape {list(own)}")
    room = ctx.constant(np.subtract(shape, own).astype(np.int64), "room")
    first = ctx.emit(ew.MinimumOp, ctx.emit(ew.MaximumOp, start.value, start.number(0).value), room)
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in own), indexing="ij")).astype(np.int64)
    points = ctx.emit(ew.AddOp, ctx.constant(grid, "places"), reshaped(ctx, first, (len(shape), *[1] * len(shape))))
    return ctx.emit(ScatterNdOp, data, points, update)


def bucketize(ctx: Context) -> SSAValue:
    """Return, for each number, how many boundaries are at most as large."""
    bounds = np.asarray(ctx.floats("Boundaries", ()), np.float32)
    value = term(ctx, 0).to("float32").value
    return ctx.emit(SearchSortedOp, ctx.constant(bounds, "boundaries"), value, right=True, dtype="int32")


def fake_quant(ctx: Context) -> SSAValue:
    """Rounded to the steps that so many bits have between two bounds, moved so that 0 is one."""
    low, high = ctx.float("Min", 0.0), ctx.float("Max", 0.0)
    least, most = (1 if ctx.flag("NarrowRange") else 0), (1 << ctx.int("NumBits", 8)) - 1
    step = np.float32(high - low) / np.float32(most - least)
    if not step > 0:
        ctx.fail("bounds of which the second is larger", f"{low} and {high}")
    zero = min(max(least - float(np.float32(low) / step), least), most)
    zero = away_from_zero(zero)
    start, end = float(np.float32(least - zero) * step), float(np.float32(most - zero) * step)
    inside = term(ctx, 0).clip(start, end)
    steps = ((inside - start) * float(np.float32(1) / step) + 0.5).apply(ew.FloorOp)
    return (steps * float(step) + start).value


def where_(ctx: Context) -> Narrowed:
    """The points of what is not 0, one in each row."""
    data = ctx.value(0) if ctx.shape(0) else ctx.emit(ReshapeOp, ctx.value(0), newshape=(1,))
    points, number = ctx.emit_all(ArgwhereOp, data)
    return Narrowed(points, number)


def unique(ctx: Context) -> tuple[Narrowed | SSAValue, ...]:
    """The elements of a vector in order of appearance, and which of them each one is."""
    values, _, inverse, _, number = ctx.emit_all(UniqueOp, ctx.value(0), sorted=False)
    dtype = DTYPES.get(ctx.out(1).type, np.dtype(np.int32)).name
    return Narrowed(values, number), inverse if dtype == "int64" else ctx.emit(ew.CastOp, inverse, dtype=dtype)


def dilate(ctx: Context) -> SSAValue:
    """Elements apart, and a number between them."""
    value, steps = ctx.value(0), ctx.known_ints(1, "dilations")
    shape = shape_of(value)
    if len(steps) != len(shape) or min(steps, default=1) < 1:
        ctx.fail(f"{len(shape)} dilations of at least 1", str(list(steps)))
    wide = tuple(max((n - 1) * s + 1, 0) for n, s in zip(shape, steps, strict=True))
    ctx.fits(wide, dtype_of(value))
    ground = ctx.emit(BroadcastToOp, reshaped(ctx, ctx.value(2), ()), shape=wide)
    return ctx.emit(StridedSetOp, ground, value, begin=[0] * len(shape), end=wide, strides=steps)


def densify(ctx: Context) -> SSAValue:
    """Sparse constants are made dense when they are read."""
    return ctx.emit(ew.CopyOp, ctx.value(0))


TABLE = {
    "BUCKETIZE": Converter(bucketize),
    "DENSIFY": Converter(densify),
    "DILATE": Converter(dilate),
    "DYNAMIC_UPDATE_SLICE": Converter(dynamic_update_slice),
    "FAKE_QUANT": Converter(fake_quant),
    "MATRIX_DIAG": Converter(matrix_diag),
    "MATRIX_SET_DIAG": Converter(matrix_set_diag),
    "SCATTER_ND": Converter(scatter_nd),
    "SEGMENT_SUM": Converter(segment_sum),
    "SPARSE_TO_DENSE": Converter(sparse_to_dense),
    "UNIQUE": Converter(unique),
    "UNSORTED_SEGMENT_MAX": unsorted_segments(MaxOp, "least"),
    "UNSORTED_SEGMENT_MIN": unsorted_segments(MinOp, "most"),
    "UNSORTED_SEGMENT_PROD": unsorted_segments(ProdOp, "one"),
    "UNSORTED_SEGMENT_SUM": unsorted_segments(SegmentSumOp, "zero"),
    "WHERE": Converter(where_),
}
