"""Elements written at indices that are data, and rows brought together by the numbers of segments."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np

from ...dialects.relay.logic import GreaterEqualOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.scatter import MatrixSetDiagOp, ScatterElementsOp, ScatterNdOp
from ...dialects.relay.sparse import SegmentSumOp, SparseToDenseOp
from ...support.dtypes import limits
from ..importing.terms import Term, axis_of, maximum, sqrt, where
from .creation import fill
from .elementwise import greatest
from .indices import Rule, check_by, points_in
from .slices import cut


def scatter_nd(x: Term, indices: Term, updates: Term, how: str = "update", *, rule: Rule) -> Term:
    """Slices written at points, whose coordinates are along the last axis of the indices."""
    return x.apply(ScatterNdOp, points_in(x, indices, rule=rule), updates, mode=how)


def scatter_into_zeros(indices: Term, updates: Term, shape: tuple[int, ...]) -> Term:
    """Slices added up at points of zeros; truth values are true where any is."""
    numbers = updates.to("int32") if updates.dtype == np.bool_ else updates
    zeros = fill(numbers.ctx, shape, numbers.number(0))
    return scatter_nd(zeros, indices, numbers, "add", rule="inside").to(updates.dtype)


def scatter_elements(x: Term, indices: Term, updates: Term, axis: int = 0, how: str = "update", *, rule: Rule) -> Term:
    """Elements written at the places of the updates, of which the indices are the coordinates along an axis."""
    axis = axis_of(x, axis)
    check_by(rule, indices, x.shape[axis : axis + 1])
    return x.apply(ScatterElementsOp, indices, updates, axis=axis, reduction=how)


def sparse_to_dense(points: Term, shape: tuple[int, ...], values: Term, default: Term | None) -> Term:
    """Values, or one for all, at points, and a default elsewhere, which is 0 by default."""
    points.ctx.fits(shape, values.dtype)
    if points.shape and not values.shape:
        values = fill(values.ctx, points.shape[:1], values)
    elsewhere = [] if default is None else [default.reshape()]
    return points.apply(SparseToDenseOp, values, *elsewhere, output_shape=shape)


def diagonal_matrix(x: Term, elsewhere: Term | None = None) -> Term:
    """Vectors along the last axis on the main diagonals of square matrices, of zeros by default."""
    ground = fill(x.ctx, (*x.shape, x.shape[-1]), x.number(0) if elsewhere is None else elsewhere)
    return ground.apply(MatrixSetDiagOp, x)


Segments: TypeAlias = Callable[[Term, Term, int], Term]
"""A function of rows, their segments, and how many segments there are."""

# Segments: numbers stand for the first axes of the data; rows of a number outside of them are left out.


def _rows(x: Term, ids: Term) -> tuple[Term, Term]:
    """The data as rows, and the number of each."""
    count = prod(ids.shape)
    return x.reshape(count, *x.shape[len(ids.shape) :]), ids.reshape(count)


def segment_sum(x: Term, ids: Term, count: int) -> Term:
    """The sums of the rows of each segment."""
    rows, numbers = _rows(x, ids)
    return rows.apply(SegmentSumOp, numbers, num_segments=count)


def segment_sizes(x: Term, ids: Term, count: int) -> Term:
    """The number of rows of each segment, as rows of one number."""
    ones = fill(x.ctx, (prod(ids.shape),), x.number(1))
    return segment_sum(ones, ids.reshape(prod(ids.shape)), count).reshape(count, *[1] * (len(x.shape) - len(ids.shape)))


def segment_mean(x: Term, ids: Term, count: int, root: bool = False) -> Term:
    """The sums of the rows of each segment, by their number or the root of that; of none it is 0."""
    sizes = maximum(segment_sizes(x, ids, count), 1)
    return segment_sum(x, ids, count) / (sqrt(sizes) if root else sizes)


def neutral(how: str, dtype: np.dtype[np.generic], infinite: bool = True) -> float:
    """The number that changes no other by a mode of scatters; of extremes, unless infinite, no finite other."""
    if how in ("add", "mul"):
        return int(how == "mul")
    if infinite or not is_float(dtype):
        return limits(dtype.name)[how == "min"]
    return greatest(dtype) if how == "min" else -greatest(dtype)


def segment_reduced(
    how: str, x: Term, ids: Term, count: int, empty: float | None = None, infinite: bool = False
) -> Term:
    """The product, maximum or minimum of the rows of each segment; `how` is a mode of scatters.

    empty: the result of a segment without rows, by default 1, or the least or greatest number. infinite: these and what
    the others are compared with are infinities, where there are any.
    """
    rows, numbers = _rows(x, ids)
    inside = (numbers < count) & numbers.apply(GreaterEqualOp, 0)
    # Behind the segments is one for what is left out.
    points = where(inside, numbers, count).reshape(1, *numbers.shape)
    ground = fill(x.ctx, (count + 1, *rows.shape[1:]), x.number(neutral(how, x.dtype, infinite)))
    whole = ground.apply(ScatterNdOp, points, rows, mode=how)
    result = cut(whole, 0, 0, count)
    return result if empty is None else where(segment_sizes(x, ids, count).equal(0), empty, result)
