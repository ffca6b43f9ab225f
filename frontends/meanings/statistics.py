"""Elements at parts of the way through sorted ones, counts of numbers, and areas below points."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from ...dialects.relay.numerics import is_float
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import symbols_of
from ...support.dtypes import Array
from ..importing.terms import Term, axis_of, constant, is_nan, once, places, where
from .creation import fill
from .reductions import Axes, axes_of, neighbours
from .scatters import segment_sum
from .slices import cut
from .sorting import sort

Blend: TypeAlias = Callable[[Term, Term, float], Term]
"""A number between two, at a part of the way."""
Interpolation: TypeAlias = Literal["linear", "lower", "higher", "nearest", "midpoint"]
INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


@once
def weighted(low: Term, high: Term, part: float) -> Term:
    """The mean of two numbers by weights."""
    return low * (1 - part) + high * part


@once
def from_the_nearer(low: Term, high: Term, part: float) -> Term:
    """Part of the difference on from the nearer of two numbers, which no infinity other than it enters."""
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def quantile(
    x: Term,
    parts: Array,
    axes: Axes = None,
    keepdims: bool = False,
    how: Interpolation = "linear",
    *,
    blend: Blend = weighted,
) -> Term:
    """Elements at parts of the way from the least to the greatest along axes; of NaN among them it is NaN.

    parts: from 0 to 1, in the element type in which places are counted; those of a vector are along a new first axis.
    """
    axes = axes_of(x, axes)
    extents = [x.shape[axis] for axis in axes]
    if any(map(symbols_of, extents)) or not prod(extents):
        x.ctx.fail("axes of known sizes above 0", str(extents))
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    count, shape = prod(extents), [x.shape[axis] for axis in kept]
    moved = x if [*kept, *axes] == list(range(len(x.shape))) else x.apply(TransposeOp, axes=(*kept, *axes))
    in_order = sort(moved.reshape(*shape, count))

    def element(at: int) -> Term:
        return cut(in_order, len(kept), at, at + 1)

    missing = is_nan(element(count - 1)) if is_float(x.dtype) else None  # NaN is the last
    wanted = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)] if keepdims else shape
    results: list[Term] = []
    numbers: Any = np.atleast_1d(parts)
    positions: list[float] = (numbers * parts.dtype.type(count - 1)).tolist()
    for position in positions:
        low, high = int(np.floor(position)), int(np.ceil(position))
        match how:
            case "lower":
                between = element(low)
            case "higher":
                between = element(high)
            case "nearest":
                between = element(round(position))
            case _ if low == high:
                between = element(low)
            case _:
                between = blend(element(low), element(high), 0.5 if how == "midpoint" else position - low)
        results.append((between if missing is None else where(missing, np.nan, between)).reshape(*wanted))
    return results[0].apply(StackOp, *results[1:], axis=0) if parts.ndim else results[0]


def bincount(
    numbers: Term, size: int, weights: Term | None = None, *, dtype: np.dtype[np.generic], binary: bool = False
) -> Term:
    """The count of each number below `size`, or the sum of its weights; of all numbers, or of those of each row.

    numbers: a vector, or a matrix whose rows are counted apart. binary: 1 for a number that is there.
    """
    *batch, count = numbers.shape
    rows, flat = prod(batch), numbers.to("int64")
    inside = flat < size
    if batch:
        flat = flat + places(numbers.ctx, rows, 2) * size
    # What is outside counts nowhere: its number is no segment's.
    segments = where(inside, flat, rows * size).to("int32")
    if weights is None:
        weights = fill(numbers.ctx, (rows * count,), constant(numbers.ctx, np.ones((), dtype), "one"))
    counts = segment_sum(weights.reshape(rows * count), segments.reshape(rows * count), rows * size)
    return ((counts > 0).to(dtype) if binary else counts).reshape(*batch, size)


def trapezoid(y: Term, x: Term | None = None, dx: float = 1.0, axis: int = -1) -> Term:
    """The area below lines between neighbours along an axis, `dx` or differences of `x` apart.

    x: a vector along the axis, or points that broadcast with `y`.
    """
    axis = axis_of(y, axis)
    before, after = neighbours(y, axis)
    heights = before + after
    if x is None:
        return heights.apply(SumOp, axis=(axis,), keepdims=False) * (dx / 2)
    ranks = len(x.shape), len(y.shape)
    behind = ranks[1] - 1 - axis if ranks[0] == 1 else 0
    spread = x.reshape(*(1,) * (ranks[1] - ranks[0] - behind), *x.shape, *(1,) * behind)
    first, second = neighbours(spread, axis)
    return (heights * (second - first).to(y.dtype)).apply(SumOp, axis=(axis,), keepdims=False) * 0.5
