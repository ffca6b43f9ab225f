"""Gathers, scatters, and what finds elements."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.indexing import GatherNdOp, ReverseSequenceOp, UnravelIndexOp
from ...dialects.relay.scatter import MatrixSetDiagOp
from ...dialects.relay.sorting import InvertPermutationOp
from ..importing.attributes import Element, Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, places, where
from ..meanings.indices import gather_nd, one_hot, points_of, take
from ..meanings.scatters import (
    Segments,
    diagonal_matrix,
    scatter_into_zeros,
    scatter_nd,
    segment_mean,
    segment_reduced,
    segment_sum,
)
from ..meanings.slices import diagonal
from ..meanings.sorting import distinct_in_order
from ..meanings.statistics import bincount
from .context import Context


def _gather(x: Term, indices: Term, axis: int | None, batch: int) -> Term:
    """Along an axis, the first behind the batch where no input says which."""
    return take(x, indices, batch if axis is None else axis, batch, rule="inside")


def picked_rows(ctx: Context, rows: Term, at: Term) -> Term:
    """Of each row (n, m) the element whose place `at` (n) says, as (n, 1)."""
    points = at.reshape(1, *at.shape, 1)
    return Term(ctx, ctx.emit(GatherNdOp, rows.value, points.value, batch_dims=1))


def _tensor_scatter(how: str) -> Converter[Context]:
    return row(partial(scatter_nd, how=how, rule="inside"), "tensor indices updates")


def _less(x: Term, indices: Term, updates: Term) -> Term:
    return scatter_nd(x, indices, -updates, "add", rule="inside")


def _segments(function: Segments) -> Converter[Context]:
    """The row of a function of the rows of each number. Numbers are sorted; only known ones have a bound."""

    def computed(ctx: Context, x: Term, ids: Term) -> Term:
        numbers = ctx.array(1, "numbers of segments")
        if numbers.ndim != 1 or (np.diff(numbers.astype(np.int64)) < 0).any() or (numbers.size and numbers.min() < 0):
            ctx.fail("sorted numbers of segments", f"{numbers.dtype}{list(numbers.shape)}")
        return function(x, ids, int(numbers.max()) + 1 if numbers.size else 0)

    return row(computed, "data segment_ids")


def _unsorted_segments(function: Segments) -> Converter[Context]:
    return row(function, "data segment_ids num_segments:size")


def _counts(numbers: Term, size: int, weights: Term | None, dtype: np.dtype[np.generic], binary: bool) -> Term:
    """`bincount`, for which no weights are 1 each, and where numbers that are only there have none."""
    none = weights is None or not prod(weights.shape) or binary
    return bincount(numbers, size, None if none else weights, dtype=dtype, binary=binary)


def _flat_counts(numbers: Term, size: int, weights: Term | None, dtype: np.dtype[np.generic]) -> Term:
    return _counts(numbers.reshape(prod(numbers.shape)), size, weights, dtype, False)


_INTS = np.dtype(np.int32)


def _matrix_diag(
    x: Term,
    diagonals: tuple[int, ...] = (0,),
    rows: tuple[int, ...] = (-1,),
    columns: tuple[int, ...] = (-1,),
    elsewhere: Term | None = None,
) -> Term:
    """`diagonal_matrix` of the main diagonals of square matrices."""
    if any(diagonals) or any(size not in ((-1,), (x.shape[-1],)) for size in (rows, columns)):
        x.ctx.fail("the main diagonal of square matrices", f"{list(diagonals)} of {[rows, columns]}")
    return diagonal_matrix(x, elsewhere)


def _of_the_main(x: Term, diagonals: tuple[int, ...] | None) -> None:
    if any(diagonals or ()):
        x.ctx.fail("the main diagonal", str(list(diagonals or ())))


def _matrix_diag_part(x: Term, diagonals: tuple[int, ...] | None = None) -> Term:
    """The main diagonals of matrices, along the last axis."""
    _of_the_main(x, diagonals)
    return diagonal(x, 0, -2, -1)


def _matrix_set_diag(x: Term, diagonal: Term, diagonals: tuple[int, ...] | None = None) -> Term:
    """Matrices with another main diagonal."""
    _of_the_main(x, diagonals)
    return x.apply(MatrixSetDiagOp, diagonal)


def _matrix_band_part(x: Term, lower: int, upper: int) -> Term:
    """Matrices with zeros but for `lower` diagonals below the main one and `upper` above it; -1 are all."""
    *batch, rows, columns = x.shape
    i, j = places(x.ctx, rows, 2, 0, "int32"), places(x.ctx, columns, 2, 1, "int32")
    kept = None
    for limit, distance in ((lower, i - j), (upper, j - i)):
        if limit >= 0:
            inside = distance < limit + 1
            kept = inside if kept is None else kept & inside
    return x.apply(CopyOp) if kept is None else where(kept.reshape(*[1] * len(batch), rows, columns), x, 0)


_PADDING = {"padding_value": "of diagonals that are shorter than others"}
_DIAG_PART = row(_matrix_diag_part, "input k:ints", unread=_PADDING)
_DIAG = row(_matrix_diag, "diagonal k:ints num_rows:ints num_cols:ints padding_value?")
_GATHER = row(_gather, "params indices axis:size?", batch=Int(0, name="batch_dims"))
_GATHER_ND = row(partial(gather_nd, rule="inside"), "params indices")
_SET_DIAG = row(_matrix_set_diag, "input diagonal k:ints")
_UNIQUE = row(distinct_in_order, "x", dtype=Element(_INTS, name="out_idx"))

TABLE = {
    "Bincount": row(_flat_counts, "arr size:size weights", dtype=Element(_INTS, name="T")),
    "DenseBincount": row(
        _counts,
        "input size:size weights?",
        dtype=Element(_INTS, name="T"),
        binary=Flag(False, name="binary_output"),
    ),
    "Gather": _GATHER,
    "GatherNd": _GATHER_ND,
    "GatherV2": _GATHER,
    "InvertPermutation": row(InvertPermutationOp, "x"),
    "MatrixBandPart": row(_matrix_band_part, "input num_lower:size num_upper:size"),
    "MatrixDiag": row(_matrix_diag, "diagonal"),
    "MatrixDiagPart": row(_matrix_diag_part, "input"),
    "MatrixDiagPartV2": _DIAG_PART,
    "MatrixDiagPartV3": _DIAG_PART,
    "MatrixDiagV2": _DIAG,
    "MatrixDiagV3": _DIAG,
    "MatrixSetDiag": row(_matrix_set_diag, "input diagonal"),
    "MatrixSetDiagV2": _SET_DIAG,
    "MatrixSetDiagV3": _SET_DIAG,
    "OneHot": row(one_hot, "indices depth:size on_value off_value", axis=Int(-1)),
    "ResourceGather": _GATHER,
    "ResourceGatherNd": _GATHER_ND,
    "ReverseSequence": row(
        ReverseSequenceOp, "input seq_lengths", seq_axis=Int(0, name="seq_dim"), batch_axis=Int(0, name="batch_dim")
    ),
    "ScatterNd": row(scatter_into_zeros, "indices updates shape:ints"),
    "SegmentMax": _segments(partial(segment_reduced, "max", empty=0, infinite=True)),
    "SegmentMean": _segments(segment_mean),
    "SegmentMin": _segments(partial(segment_reduced, "min", empty=0, infinite=True)),
    "SegmentProd": _segments(partial(segment_reduced, "mul")),
    "SegmentSum": _segments(segment_sum),
    "TensorScatterAdd": _tensor_scatter("add"),
    "TensorScatterMax": _tensor_scatter("max"),
    "TensorScatterMin": _tensor_scatter("min"),
    "TensorScatterSub": row(_less, "tensor indices updates"),
    "TensorScatterUpdate": _tensor_scatter("update"),
    "Unique": _UNIQUE,
    "UniqueWithCounts": _UNIQUE,
    "UnravelIndex": row(UnravelIndexOp, "indices dims"),
    "UnsortedSegmentMax": _unsorted_segments(partial(segment_reduced, "max")),
    "UnsortedSegmentMin": _unsorted_segments(partial(segment_reduced, "min")),
    "UnsortedSegmentProd": _unsorted_segments(partial(segment_reduced, "mul")),
    "UnsortedSegmentSum": _unsorted_segments(segment_sum),
    "Where": row(partial(points_of, scalar_rank=0), "condition"),
}
