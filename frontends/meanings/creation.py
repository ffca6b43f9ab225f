"""Tensors of no other's elements: of one number, of numbers at equal distances, of the extents of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, lcm, prod
from typing import Any, TypeAlias, cast

import numpy as np

from ...dialects.relay.creation import ArangeOp
from ...dialects.sizes import Size, SizeExpr, ceil_div, proves, same, size_max
from ...support.dtypes import Array
from ..importing.context import Context
from ..importing.converter import Result
from ..importing.sizes import counted, sizes_array
from ..importing.tensor import Undecided
from ..importing.terms import Term
from .moves import broadcast_to, common_shape

Dtype = np.dtype[Any]
INT = np.dtype(np.int32)
Number: TypeAlias = "Size | Fraction"
"""A number as it is, or a size."""


# The extents of a tensor.


def extents(ctx: Context, shape: Sequence[int], dtype: Dtype = INT) -> Result:
    """A shape as a tensor."""
    return counted(ctx, sizes_array(shape), dtype)


def each_extents(ctx: Context, *shapes: Sequence[int], dtype: Dtype = INT) -> tuple[Result, ...]:
    return tuple(extents(ctx, shape, dtype) for shape in shapes)


def size(ctx: Context, shape: Sequence[int], dtype: Dtype = INT) -> Result:
    """The number of elements of a shape."""
    return counted(ctx, sizes_array(prod(shape)), dtype)


def rank(ctx: Context, shape: Sequence[int]) -> Array:
    return np.asarray(len(shape), INT)


def common_extents(ctx: Context, first: Sequence[int], second: Sequence[int]) -> Result:
    """The shape that two shapes broadcast to, as a tensor like the first one."""
    return extents(ctx, common_shape(ctx, [first, second]), ctx.dtype(0))


# Tensors of one number.


def check_extents(ctx: Context, shape: Sequence[int], dtype: Dtype) -> None:
    """Complain of extents below 0, and of more elements than there is memory for."""
    if any(proves(extent, "<", 0) for extent in shape):
        ctx.fail("extents of at least 0", str(list(shape)))
    ctx.fits(shape, dtype)


def fill(ctx: Context, shape: Sequence[int], value: Term) -> Term:
    """A tensor whose elements are all a scalar."""
    check_extents(ctx, shape, value.dtype)
    return broadcast_to(value.reshape(), shape)


# Numbers at equal distances.


def numbers_from(
    ctx: Context, start: Number, limit: Number, step: Number, dtype: Dtype, narrow: bool = False
) -> Result:
    """start, start + step and so on, up to before a limit: known where they are, else relay's arange.

    narrow: how many there are is computed in the dtype, too: of 0, 0.3 and 0.1 in float32 there are 3, and not 4.
    """
    if any(isinstance(number, SizeExpr) for number in (start, limit, step)):
        return _open_numbers(ctx, start, limit, step, dtype).value
    if not step:
        ctx.fail("a step other than 0", "0")
    exact = [Fraction(cast(Fraction, number)) for number in (start, limit, step)]
    whole = all(number.denominator == 1 for number in exact)
    first, last, each = (int(number) if whole else float(number) for number in exact)
    of = dtype.type if narrow and not whole else float
    count = max(-((first - last) // each) if whole else ceil((of(last) - of(first)) / of(each)), 0)
    ctx.fits((cast(int, count),), dtype)
    places: Array = np.arange(count).astype(np.int64 if whole else np.float64)
    return (first + places * each).astype(dtype)


def _open_numbers(ctx: Context, start: Number, limit: Number, step: Number, dtype: Dtype) -> Term:
    """relay.arange, times the step and from the start, in numbers as wide as those of a known range."""
    if isinstance(step, SizeExpr) or not step:
        raise Undecided(f"{ctx.op_type}: expected a step that is a number other than 0, got {step}", None)
    factor = lcm(*(number.denominator for number in (start, limit, step) if isinstance(number, Fraction)))
    first, last, each = (_times(number, factor) for number in (start, limit, step))
    count = size_max(ceil_div(last - first, each) if each > 0 else ceil_div(first - last, -each), 0)
    wide = "int64" if dtype.kind in "iu" else "float64"
    stop = (count,) if isinstance(count, SizeExpr) else float(count)
    numbers = Term(ctx, ctx.emit(ArangeOp, stop=cast("tuple[int]", stop), dtype=wide))
    numbers = numbers if step == 1 else numbers * cast(float, step)
    numbers = numbers if same(first, 0) else numbers + cast(float, start)
    return numbers.to(dtype)


def _times(number: Number, factor: int) -> Size:
    """A product that is whole."""
    product = number * factor
    return int(product) if isinstance(product, Fraction) else product


def numbers_between(ctx: Context, start: float, stop: float, count: int, dtype: Dtype) -> Array:
    """So many numbers from one to another, which is the last."""
    if not isinstance(cast(Size, count), int):
        ctx.fail("a number of elements known at import", str(count))
    if count < 0:
        ctx.fail("at least 0 elements", str(count))
    ctx.fits((count,), dtype)
    return np.linspace(start, stop, count).astype(dtype)
