"""Gathers, scatters, and what finds elements."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import logic
from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.indexing import ArgwhereOp, GatherNdOp, OneHotOp, ReverseSequenceOp, UnravelIndexOp
from ...dialects.relay.rearrange import TileOp
from ...dialects.relay.scatter import MatrixSetDiagOp, ScatterNdOp
from ...dialects.relay.sorting import InvertPermutationOp, UniqueOp
from ...dialects.relay.sparse import SegmentSumOp
from ...dialects.relay.transform import BroadcastToOp, TakeOp, TransposeOp
from ...support.dtypes import Array
from ..importing.converter import Converter, Narrowed, Result
from ..importing.moves import check_inside, gather_along
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, places, term
from .context import Context


def gather(ctx: Context) -> SSAValue:
    """Along an axis, 0 where no input says which; the first `batch_dims` axes go along in data and indices."""
    rank, index_rank = len(ctx.shape(0)), len(ctx.shape(1))
    batch = ctx.int("batch_dims", 0)
    batch = batch + index_rank if batch < 0 else batch
    return gather_along(ctx, ctx.axis(ctx.one(2, "an axis"), rank) if len(ctx.inputs) > 2 else batch, batch)


def picked_rows(ctx: Context, rows: Term, at: Term) -> Term:
    """Of each row (n, m) the element whose place `at` (n) says, as (n, 1)."""
    points = at.reshape(1, *at.shape, 1)
    return Term(ctx, ctx.emit(GatherNdOp, rows.value, points.value, batch_dims=1))


def coordinates_first(ctx: Context, points: SSAValue) -> SSAValue:
    """Points whose coordinates are along the last axis, with these along the first."""
    rank = len(shape_of(points))
    return ctx.emit(TransposeOp, points, axes=(rank - 1, *range(rank - 1)))


def gather_nd(ctx: Context) -> SSAValue:
    """The coordinates are along the last axis of the indices."""
    shape = ctx.shape(1)
    if not shape or shape[-1] > len(ctx.shape(0)):
        ctx.fail(f"points of at most {len(ctx.shape(0))} coordinates", f"shape {list(shape)}")
    check_inside(ctx, 1, ctx.shape(0)[: shape[-1]])
    return ctx.emit(GatherNdOp, ctx.value(0), coordinates_first(ctx, ctx.value(1)))


def one_hot(ctx: Context) -> SSAValue:
    """Places outside give the value of the others everywhere."""
    depth, on, off = ctx.one(1, "a depth"), ctx.value(2), ctx.value(3)
    axis = ctx.axis(ctx.int("axis", -1), len(ctx.shape(0)) + 1)
    return ctx.emit(OneHotOp, ctx.value(0), on, off, depth=depth, axis=axis, dtype=dtype_of(on).name)


def reverse_sequence(ctx: Context) -> SSAValue:
    time, batch = ctx.int("seq_dim", 0), ctx.int("batch_dim", 0)
    return ctx.emit(ReverseSequenceOp, ctx.value(0), ctx.value(1), seq_axis=time, batch_axis=batch)


def scatter_nd(ctx: Context) -> SSAValue:
    """Updates added to zeros of the shape in input 2."""
    shape = ctx.known_ints(2, "a shape")
    ctx.fits(shape, ctx.dtype(1))
    zeros = ctx.emit(BroadcastToOp, ctx.number(0, ctx.dtype(1).name), shape=shape)
    return ctx.emit(ScatterNdOp, zeros, coordinates_first(ctx, ctx.value(0)), ctx.value(1), mode="add")


def _tensor_scatter(mode: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        data, updates = ctx.value(0), ctx.value(2)
        if mode == "sub":
            return ctx.emit(
                ScatterNdOp, data, coordinates_first(ctx, ctx.value(1)), (-Term(ctx, updates)).value, mode="add"
            )
        return ctx.emit(ScatterNdOp, data, coordinates_first(ctx, ctx.value(1)), updates, mode=mode)

    return Converter(convert)


def where(ctx: Context) -> Narrowed:
    """The points of the elements that are not 0."""
    points, number = ctx.emit_all(ArgwhereOp, ctx.value(0))
    return Narrowed(points, number)


def unique(ctx: Context) -> tuple[Result, ...]:
    """The distinct elements of a vector in order of appearance, which of them each is, how often each appears."""
    dtype = ctx.element("out_idx", np.dtype("int32"))
    values, _, inverse, counts, number = ctx.emit_all(UniqueOp, ctx.value(0), sorted=False)
    which, often = Term(ctx, inverse).to(dtype).value, Term(ctx, counts).to(dtype).value
    return Narrowed(values, number), which, Narrowed(often, number)


def unravel_index(ctx: Context) -> SSAValue:
    return ctx.emit(UnravelIndexOp, ctx.value(0), ctx.value(1))


def segment_sum(ctx: Context) -> SSAValue:
    """Sums of the rows of one number, which are sorted; numbers that are not known have no bound."""
    ids = ctx.array(1, "numbers of segments")
    if ids.ndim != 1 or (np.diff(ids.astype(np.int64)) < 0).any() or (ids.size and ids.min() < 0):
        ctx.fail("sorted numbers of segments", f"{ids.dtype}{list(ids.shape)}")
    return ctx.emit(SegmentSumOp, ctx.value(0), ctx.value(1), num_segments=int(ids.max()) + 1 if ids.size else 0)


def unsorted_segment_sum(ctx: Context) -> SSAValue:
    count, ids = ctx.one(2, "a number of segments"), ctx.shape(1)
    data = Term(ctx, ctx.value(0)).reshape(prod(ids), *ctx.shape(0)[len(ids) :])
    numbers = Term(ctx, ctx.value(1)).reshape(prod(ids))
    return ctx.emit(SegmentSumOp, data.value, numbers.value, num_segments=count)


def bincount(ctx: Context) -> SSAValue:
    """The count of each number below `size`, or the sum of its weights; of one row of numbers, or several.

    With `binary_output` it is 1 for a number that is there, whatever its weight.
    """
    size, numbers = ctx.one(1, "a number of bins"), term(ctx, 0)
    binary = ctx.flag("binary_output")
    weighted = len(ctx.inputs) > 2 and prod(ctx.shape(2)) != 0 and not binary
    dtype = ctx.element("T", np.dtype("int32"))
    shape = numbers.shape
    rows = shape[0] if len(shape) == 2 else 1
    flat, total = numbers.reshape(prod(shape)).to("int64"), rows * size
    if ctx.op_type == "Bincount":
        flat, rows, total = numbers.reshape(prod(shape)).to("int64"), 1, size
    inside = flat < float(size)
    if rows > 1:
        starts = np.repeat(np.arange(rows, dtype=np.int64) * size, shape[1])
        flat = flat + Term(ctx, ctx.constant(cast(Array, starts), "starts"))
    # What is outside counts nowhere: its number is no segment's.
    flat = Term(ctx, ctx.emit(logic.WhereOp, inside.value, flat.value, flat.number(total).value))
    weights = term(ctx, 2).reshape(prod(shape)) if weighted else None
    if weights is None:
        weights = Term(ctx, ctx.emit(BroadcastToOp, ctx.number(1, dtype.name), shape=(prod(shape),)))
    counts = Term(ctx, ctx.emit(SegmentSumOp, weights.value, flat.to("int32").value, num_segments=total))
    if binary:
        counts = (counts > 0.0).to(dtype)
    return counts.reshape(*([rows] if len(shape) == 2 and ctx.op_type != "Bincount" else []), size).value


def invert_permutation(ctx: Context) -> SSAValue:
    return Term(ctx, ctx.emit(InvertPermutationOp, ctx.value(0))).to(ctx.dtype(0)).value


def matrix_diag(ctx: Context) -> SSAValue:
    """Vectors along the last axis as the main diagonals of matrices of zeros, or another number."""
    x = term(ctx, 0)
    n = x.shape[-1]
    if ctx.op_type != "MatrixDiag":
        _main_only(ctx, n)
    wide = x.reshape(*x.shape, 1)
    rank = len(wide.shape)
    on = places(ctx, n, 2, 0, "int32").equal(places(ctx, n, 2, 1, "int32"))
    filler = reshaped(ctx, ctx.value(4), ()) if ctx.has(4) else ctx.number(0, x.dtype.name)
    if rank > 2:
        on = on.reshape(*[1] * (rank - 2), n, n)
    spread = ctx.emit(TileOp, wide.value, reps=(*[1] * (rank - 1), n))
    return ctx.emit(logic.WhereOp, on.value, spread, filler)


def _main_only(ctx: Context, extent: int) -> None:
    """Complain of diagonals other than the main one of square matrices."""
    diagonals, *sizes = (ctx.known_ints(index, "diagonals") for index in (1, 2, 3))
    if any(diagonals) or any(size not in ((-1,), (extent,)) for size in sizes):
        ctx.fail("the main diagonal of square matrices", f"{list(diagonals)} of {sizes}")


def matrix_diag_part(ctx: Context) -> SSAValue:
    """The main diagonals of matrices, along the last axis."""
    if ctx.op_type != "MatrixDiagPart" and any(ctx.known_ints(1, "diagonals")):
        ctx.fail("the main diagonal", f"{list(ctx.known_ints(1, 'diagonals'))}")
    *batch, rows, columns = ctx.shape(0)
    at = np.arange(min(rows, columns), dtype=np.int64) * (columns + 1)
    flat = term(ctx, 0).reshape(*batch, rows * columns)
    return ctx.emit(TakeOp, flat.value, ctx.constant(cast(Array, at), "diagonal"), axis=len(batch))


def matrix_set_diag(ctx: Context) -> SSAValue:
    """Matrices with another main diagonal."""
    if ctx.op_type != "MatrixSetDiag" and any(ctx.known_ints(2, "diagonals")):
        ctx.fail("the main diagonal", f"{list(ctx.known_ints(2, 'diagonals'))}")
    return ctx.emit(MatrixSetDiagOp, ctx.value(0), ctx.value(1))


def matrix_band_part(ctx: Context) -> SSAValue:
    """Matrices with zeros but for `lower` diagonals below the main one and `upper` above it; -1 are all."""
    lower, upper = ctx.one(1, "a number of diagonals"), ctx.one(2, "a number of diagonals")
    x = term(ctx, 0)
    *batch, rows, columns = x.shape
    i, j = places(ctx, rows, 2, 0, "int32"), places(ctx, columns, 2, 1, "int32")
    kept = None
    for limit, distance in ((lower, i - j), (upper, j - i)):
        if limit >= 0:
            inside = distance < float(limit + 1)
            kept = inside if kept is None else kept.apply(logic.LogicalAndOp, inside)
    if kept is None:
        return x.apply(CopyOp).value
    kept = kept.reshape(*[1] * len(batch), rows, columns)
    return ctx.emit(logic.WhereOp, kept.value, x.value, ctx.number(0, x.dtype.name))


_PADDING = {"padding_value": "of diagonals that are shorter than others"}

TABLE = {
    "Bincount": Converter(bincount),
    "DenseBincount": Converter(bincount),
    "Gather": Converter(gather),
    "GatherNd": Converter(gather_nd),
    "GatherV2": Converter(gather),
    "InvertPermutation": Converter(invert_permutation),
    "MatrixBandPart": Converter(matrix_band_part),
    "MatrixDiag": Converter(matrix_diag),
    "MatrixDiagPart": Converter(matrix_diag_part),
    "MatrixDiagPartV2": Converter(matrix_diag_part, unread=_PADDING),
    "MatrixDiagPartV3": Converter(matrix_diag_part, unread=_PADDING),
    "MatrixDiagV2": Converter(matrix_diag),
    "MatrixDiagV3": Converter(matrix_diag),
    "MatrixSetDiag": Converter(matrix_set_diag),
    "MatrixSetDiagV2": Converter(matrix_set_diag),
    "MatrixSetDiagV3": Converter(matrix_set_diag),
    "OneHot": Converter(one_hot),
    "ResourceGather": Converter(gather),
    "ResourceGatherNd": Converter(gather_nd),
    "ReverseSequence": Converter(reverse_sequence),
    "ScatterNd": Converter(scatter_nd),
    "SegmentSum": Converter(segment_sum),
    "TensorScatterAdd": _tensor_scatter("add"),
    "TensorScatterMax": _tensor_scatter("max"),
    "TensorScatterMin": _tensor_scatter("min"),
    "TensorScatterSub": _tensor_scatter("sub"),
    "TensorScatterUpdate": _tensor_scatter("update"),
    "Unique": Converter(unique),
    "UniqueWithCounts": Converter(unique),
    "UnravelIndex": Converter(unravel_index),
    "UnsortedSegmentSum": Converter(unsorted_segment_sum),
    "Where": Converter(where),
}
