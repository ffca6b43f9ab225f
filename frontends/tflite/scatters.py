"""Scatters, segments, diagonals, and results whose size only values decide."""

from __future__ import annotations

from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.scatter import MatrixSetDiagOp, StridedSetOp
from ..importing.attributes import Floats
from ..importing.converter import Converter, Narrowed
from ..importing.rows import row
from ..importing.terms import Term, term
from ..meanings.creation import fill
from ..meanings.dynamic_slices import dynamic_update_slice, elements_of
from ..meanings.indices import points_of
from ..meanings.scatters import (
    diagonal_matrix,
    scatter_into_zeros,
    segment_reduced,
    segment_sum,
    sparse_to_dense,
)
from ..meanings.sorting import bucketize, distinct_in_order
from .context import Context
from .fixed_point import away_from_zero
from .values import DTYPES


def _segment_sum(ctx: Context, x: Term, ids: Term) -> Term:
    return segment_sum(x, ids, max(ctx.known_ints(1, "segments"), default=-1) + 1)


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


def _unique(ctx: Context, x: Term) -> tuple[Narrowed | SSAValue, ...]:
    """The distinct elements of a vector in order of appearance, and which of them each one is."""
    return distinct_in_order(x, DTYPES.get(ctx.out(1).type, np.dtype(np.int32)))[:2]


def _dilate(x: Term, steps: tuple[int, ...], between: Term) -> Term:
    """Elements apart, and a number between them."""
    if len(steps) != len(x.shape) or min(steps, default=1) < 1:
        x.ctx.fail(f"{len(x.shape)} dilations of at least 1", str(list(steps)))
    wide = tuple(max((n - 1) * step + 1, 0) for n, step in zip(x.shape, steps, strict=True))
    return fill(x.ctx, wide, between).apply(StridedSetOp, x, begin=[0] * len(wide), end=wide, strides=steps)


def _dynamic_update_slice(x: Term, update: Term, starts: Term) -> Term:
    return dynamic_update_slice(x, update, *elements_of(starts))


_SEGMENTS = "data segment_ids num_segments:size"

TABLE = {
    "BUCKETIZE": row(bucketize, "input", edges=Floats((), name="Boundaries")),
    "DENSIFY": row(ew.CopyOp, "input"),  # sparse constants are made dense when they are read
    "DILATE": row(_dilate, "input dilations:ints padding_value"),
    "DYNAMIC_UPDATE_SLICE": row(_dynamic_update_slice, "operand update start_indices"),
    "FAKE_QUANT": Converter(fake_quant),
    "MATRIX_DIAG": row(diagonal_matrix, "diagonal"),
    "MATRIX_SET_DIAG": row(MatrixSetDiagOp, "input diagonal"),
    "SCATTER_ND": row(scatter_into_zeros, "indices updates shape:ints"),
    "SEGMENT_SUM": row(_segment_sum, "data segment_ids"),
    "SPARSE_TO_DENSE": row(sparse_to_dense, "indices shape:ints values default?"),
    "UNIQUE": row(_unique, "input"),
    "UNSORTED_SEGMENT_MAX": row(partial(segment_reduced, "max"), _SEGMENTS),
    "UNSORTED_SEGMENT_MIN": row(partial(segment_reduced, "min"), _SEGMENTS),
    "UNSORTED_SEGMENT_PROD": row(partial(segment_reduced, "mul"), _SEGMENTS),
    "UNSORTED_SEGMENT_SUM": row(segment_sum, _SEGMENTS),
    "WHERE": row(partial(points_of, scalar_rank=1), "condition"),
}
