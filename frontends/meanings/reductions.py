"""Reductions over axes, and sums and products of all that comes before.

Axes count from either end. None are all of them; an empty list is none, which leaves each element as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.reduce import MaxOp, MeanOp, MinOp, SumOp, VarianceOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import PadOp
from ...dialects.sizes import Size, proves, same, symbols_of
from ..importing.terms import Term, absolute, axis_of, constant, exp, is_nan, log, once, sqrt, where
from .formulas import log_add_exp
from .slices import cut

Axes = Sequence[int] | None


def axes_of(x: Term, axes: Axes) -> tuple[int, ...]:
    """Axes counted from 0, each once, in order."""
    rank = len(x.shape)
    if axes is None:
        return tuple(range(rank))
    if any(not -rank <= axis < rank for axis in axes):
        x.ctx.fail(f"axes in [{-rank}, {rank})", str(list(axes)))
    return tuple(sorted({axis % rank for axis in axes}))


def reduced(op: type[Operator], x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """An operator over axes."""
    counted = axes_of(x, axes)
    return x.apply(op, axis=counted, keepdims=keepdims) if counted else x.apply(ew.CopyOp)


@once
def norm_1(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """The sum of the absolute values."""
    return reduced(SumOp, absolute(x), axes, keepdims)


@once
def sum_of_squares(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    return reduced(SumOp, x * x, axes, keepdims)


@once
def norm_2(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """The root of the sum of the squares."""
    return sqrt(sum_of_squares(x, axes, keepdims))


@once
def norm(x: Term, p: float = 2.0, axes: Axes = None, keepdims: bool = False) -> Term:
    """The p-norm; of infinity the largest absolute value, of minus infinity the least, of 0 the count of others than 0.

    The norm of a scalar is its absolute value.
    """
    if p == 0.0:
        return reduced(SumOp, x.apply(NotEqualOp, 0.0).to(x.dtype), axes, keepdims)
    size = absolute(x)
    if not x.shape:
        return size
    match p:
        case 1.0:
            return reduced(SumOp, size, axes, keepdims)
        case 2.0:
            return norm_2(x, axes, keepdims)
        case _ if isinf(p):
            return reduced(MaxOp if p > 0 else MinOp, size, axes, keepdims)
        case _:
            return reduced(SumOp, size.apply(ew.PowerOp, p), axes, keepdims).apply(ew.PowerOp, 1 / p)


@once
def log_of_sum(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    return log(reduced(SumOp, x, axes, keepdims))


@once
def log_sum_exp(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """log of the sum of exp(x), of summands that are at most 1."""
    largest = reduced(MaxOp, x, axes, keepdims=True)
    offset = where(largest.apply(ew.IsFiniteOp), largest, 0.0)
    total = log(reduced(SumOp, exp(x - offset), axes, keepdims))
    return total + (offset if keepdims else offset.reshape(*total.shape))


def moments(x: Term, axes: Axes = None, keepdims: bool = False, correction: float = 0.0) -> tuple[Term, Term]:
    """The mean and the variance, whose divisor is the number of elements less a correction."""
    wide = x.to("float32") if x.dtype.itemsize < 4 else x
    counted = axes_of(x, axes)
    count = cast(Size, prod(x.shape[axis] for axis in counted))
    mean = reduced(MeanOp, wide, counted, keepdims=True)
    variance = wide.apply(VarianceOp, mean, axis=counted, keepdims=keepdims, unbiased=correction == 1.0)
    if isinstance(count, int) and count <= correction:
        variance = variance * np.nan  # a quotient of 0 and 0
    elif correction not in (0.0, 1.0):
        if not isinstance(count, int):
            x.ctx.fail("a correction of 0 or 1", str(correction))
        variance = variance * (count / (count - correction))
    return mean.reshape(*variance.shape).to(x.dtype), variance.to(x.dtype)


def variance(x: Term, axes: Axes = None, keepdims: bool = False, correction: float = 0.0) -> Term:
    return moments(x, axes, keepdims, correction)[1]


@once
def deviation(x: Term, axes: Axes = None, keepdims: bool = False, correction: float = 0.0) -> Term:
    """The standard deviation."""
    return sqrt(variance(x, axes, keepdims, correction))


def of_numbers(op: type[Operator], x: Term, neutral: float, axes: Axes = None, keepdims: bool = False) -> Term:
    """An operator of all elements but NaN, of which `neutral` changes nothing."""
    return reduced(op, where(is_nan(x), neutral, x), axes, keepdims)


@once
def mean_of_numbers(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """The mean of all elements but NaN; of none it is NaN."""
    count = reduced(SumOp, is_nan(x).apply(ew.LogicalNotOp).to(x.dtype), axes, keepdims)
    return of_numbers(SumOp, x, 0.0, axes, keepdims) / count


@once
def variance_of_numbers(x: Term, axes: Axes = None, keepdims: bool = False) -> Term:
    """The variance of all elements but NaN; of none it is NaN."""
    return mean_of_numbers(_squared(x - mean_of_numbers(x, axes, keepdims=True)), axes, keepdims)


def _squared(x: Term) -> Term:
    return x * x


def place(
    op: type[Operator],
    x: Term,
    axis: int | None = None,
    keepdims: bool = False,
    dtype: str = "int64",
    last: bool = False,
) -> Term:
    """The place of the first or last extreme along an axis; without one, among all elements in order."""
    if not x.shape:
        return constant(x.ctx, np.zeros((), dtype), "place")
    axes = axes_of(x, None) if axis is None else [axis_of(x, axis)]
    return x.apply(op, axis=axes, keepdims=keepdims, select_last_index=last).to(dtype)


def running(
    op: type[Operator], x: Term, axis: int | None = None, exclusive: bool = False, reverse: bool = False
) -> Term:
    """A sum or product of the elements up to each along an axis; without one, of all in order.

    exclusive: without the element itself. reverse: from the end on.
    """
    if not x.shape and axis is not None:
        return x.apply(ew.CopyOp)
    along = None if axis is None else axis_of(x, axis)
    return x.apply(op, axis=along, exclusive=exclusive, reverse=reverse)


@once
def running_log_sum_exp(x: Term, axis: int, exclusive: bool = False, reverse: bool = False) -> Term:
    """The logarithm of the sum of the exponentials up to each element along an axis, as `running` has it.

    By doubling: in step k each element takes up what stands 2^k before it.
    """
    if not x.shape:
        return x.apply(ew.CopyOp)
    at = axis_of(x, axis)
    extent = x.shape[at]
    if symbols_of(extent):
        x.ctx.fail("an axis of a known number of elements", str(extent))

    def before(x: Term, distance: int) -> Term:
        """The elements so far before each, where there are any."""
        part = cut(x, at, distance, extent) if reverse else cut(x, at, 0, extent - distance)
        widths = [0] * (2 * len(x.shape))
        widths[2 * at + int(reverse)] = distance
        return part.apply(PadOp, -np.inf, pad_width=widths)

    x, distance = before(x, min(1, extent)) if exclusive else x, 1
    while distance < extent:
        x, distance = log_add_exp(x, before(x, distance)), 2 * distance
    return x


def neighbours(x: Term, axis: int) -> tuple[Term, Term]:
    """All elements along an axis but the last, and all but the first."""
    axis = axis_of(x, axis)
    extent = x.shape[axis]
    return cut(x, axis, 0, extent - 1), cut(x, axis, 1, extent)


def top_k(
    x: Term, k: int, axis: int = -1, largest: bool = True, *, dtype: str | np.dtype[np.generic]
) -> tuple[SSAValue, ...]:
    """The k largest elements along an axis, or the least, in order, and their places; k is from 0 to their number."""
    ctx, at = x.ctx, axis_of(x, axis)
    extent = x.shape[at] if x.shape else 1
    if proves(k, "<", 0) or proves(k, ">", extent):
        ctx.fail(f"k from 0 to {extent}", str(k))
    ctx.require_least(extent, k, f"whether there are {k} of {extent} elements")
    if not x.shape:
        return x.apply(ew.CopyOp).value, ctx.constant(np.zeros((), dtype), "places")
    kind = np.dtype(dtype).name
    if not same(k, 0):
        return ctx.emit_all(TopKOp, x.value, k=k, axis=at, ret_type="both", is_ascend=not largest, dtype=kind)
    # A k of 0 is all elements for the operator.
    none = cut(x, at, 0, 0)
    return none.value, none.to(kind).value
