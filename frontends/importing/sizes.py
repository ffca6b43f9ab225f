"""Arrays of sizes that only a call decides: objects, ints and SizeExprs, which count as integers of some width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ...dialects.sizes import Size, SizeExpr
from ...support.dtypes import Array
from .context import Context
from .converter import Result
from .decisions import Decision
from .tensor import SIZE, Tensor, is_symbolic

Sizes: TypeAlias = "npt.NDArray[np.object_]"
WIDE = tuple(np.dtype(name) for name in ("int32", "int64", "uint32", "uint64"))
"""Dtypes in which sizes are what they are."""
LIMIT = 64
"""Arrays of at most this many elements are computed with."""


def sizes_array(values: Sequence[Size] | Size) -> Array:
    """Sizes as an array: of int64 where all are numbers."""
    flat = list(values) if isinstance(values, Sequence) else [values]
    shape = (len(flat),) if isinstance(values, Sequence) else ()
    return settled(objects(flat, shape))


def exact(array: Array) -> Sizes | None:
    """Integers and truth values as objects; None of floats."""
    return array.astype(np.object_) if array.dtype.kind in "iubO" else None


def objects(flat: Sequence[Any], shape: Sequence[int]) -> Sizes:
    sizes = np.empty(len(flat), np.object_)
    for at, value in enumerate(flat):
        sizes[at] = value
    return sizes.reshape(tuple(shape))


def settled(array: Sizes) -> Array:
    """An array of int64, or of truth values, where no symbols are left."""
    flat = array.reshape(-1)
    if any(isinstance(value, SizeExpr) for value in flat):
        return cast(Array, array)
    truths = array.size > 0 and all(isinstance(value, bool) for value in flat)
    return cast(Array, array.astype(np.bool_ if truths else np.int64))


def counted(ctx: Context, array: Array, dtype: np.dtype[Any]) -> Result:
    """Return the output of a node that is an array of sizes, or of truth values, and counts as a dtype."""
    if not is_symbolic(array):
        return array if array.dtype == np.bool_ else array.astype(dtype, copy=False)
    if dtype == SIZE or any(isinstance(value, Decision) for value in array.reshape(-1)):
        return array
    return Tensor("", array, leaf=ctx.builder.location, made_of=tuple(ctx.read), counts=dtype)


def symbolic_operands(ctx: Context) -> list[Sizes] | None:
    """The elements of all inputs, where some are symbolic sizes; None where none is, or some are many or not exact."""
    arrays = [None if tensor is None else tensor.array for tensor in ctx.inputs]
    if not any(map(is_symbolic, arrays)):
        return None
    operands = [None if array is None or array.size > LIMIT else exact(array) for array in arrays]
    return None if any(operand is None for operand in operands) else cast("list[Sizes]", operands)


def open_places(array: Array) -> tuple[int, ...]:
    """The elements that are no numbers, by their places."""
    return tuple(at for at, value in enumerate(array.reshape(-1).tolist()) if isinstance(value, SizeExpr))


def numbers(array: Sizes | None) -> list[int] | None:
    """The numbers of an array; None of one with symbols, or of none."""
    if array is None or any(isinstance(value, SizeExpr) for value in array.reshape(-1)):
        return None
    return [int(value) for value in array.reshape(-1)]


def elementwise(function: Callable[..., Any], given: Sequence[Sizes]) -> Array:
    """A function of sizes, of each element; shapes broadcast."""
    whole = np.broadcast_arrays(*given)
    rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
    return settled(objects([reduce(function, row) for row in rows], whole[0].shape))
