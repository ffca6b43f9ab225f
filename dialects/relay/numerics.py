"""Pieces that the operators' meanings in numpy share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...support.dtypes import numpy_of

AnyArray: TypeAlias = npt.NDArray[Any]


def is_float(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.floating) or dtype == ml_dtypes.bfloat16


def widened(x: AnyArray) -> AnyArray:
    """Half precision as float32, in which formulas of several steps are computed; others unchanged."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


def factor(x: AnyArray, out_dtype: str) -> AnyArray:
    """Return a factor for an operator that computes in `out_dtype`, or with "" in the dtype of its operands."""
    return widened(x.astype(numpy_of(out_dtype)) if out_dtype else x)


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the number that a maximum starts from."""
    return -np.inf if is_float(dtype) else dtype.type(0) if dtype == np.bool_ else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the number that a minimum starts from."""
    return np.inf if is_float(dtype) else dtype.type(1) if dtype == np.bool_ else np.iinfo(dtype).max


def divide(x: AnyArray, y: AnyArray) -> AnyArray:
    """x / y; integers towards zero."""
    if is_float(x.dtype):
        return np.true_divide(x, y)
    quotient, remainder = np.divmod(x, y)
    return quotient + ((remainder != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def along(vector: AnyArray, axis: int, rank: int) -> AnyArray:
    """A 1-d array placed along `axis` of `rank` dimensions."""
    return vector.reshape([vector.size if i == axis % rank else 1 for i in range(rank)])


def strided(
    x: AnyArray, axes: Sequence[int], starts: Sequence[int], counts: Sequence[int], strides: Sequence[int]
) -> AnyArray:
    """The element at offset `starts` of every window: `counts` of them along `axes`."""
    index = [slice(None)] * x.ndim
    for axis, start, count, stride in zip(axes, starts, counts, strides, strict=True):
        index[axis] = slice(start, start + (count - 1) * stride + 1, stride)
    return x[tuple(index)]
