"""Comparison of the results of two kernels, and inputs that are likely to tell wrong kernels from right ones."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...support.dtypes import Array

_TOLERANCES = {"float64": (1e-10, 1e-9), "float32": (1e-5, 1e-4), "float16": (2**-7, 2**-7), "bfloat16": (2**-7, 2**-6)}
"""Per dtype, the difference allowed relative to the largest number of a tensor, and to the number itself.

Kernels that sum in another order differ by so much; elements of other dtypes have to be equal, bit by bit.
"""
_LARGE = {"float64": 1e4, "float32": 1e3, "float16": 16.0, "bfloat16": 1e3}
"""Per dtype, a large input that few kernels turn into an infinity."""
_SEED = 0


def is_rounded(dtype: np.dtype[Any]) -> bool:
    """Return whether arithmetic on numbers of a dtype rounds."""
    return dtype.name in _TOLERANCES


def difference(expected: Array, actual: Array) -> str:
    """Describe how a tensor differs from the expected one; "" if it does not, up to the rounding of its dtype."""
    if np.array_equal(_bits(expected), _bits(actual)):
        return ""
    wrong = _rounded(expected, actual) if is_rounded(expected.dtype) else _bits(expected) != _bits(actual)
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    where = tuple(int(index) for index in np.unravel_index(int(np.argmax(wrong)), expected.shape))
    numbers = f"expected {expected[where]}, got {actual[where]} at {list(where)}"
    return f"{count} of {expected.size} elements differ: {numbers}"


def _rounded(expected: Array, actual: Array) -> Array:
    """Return a mask of the numbers that differ by more than rounding. NaN equals NaN, and an infinity itself."""
    relative_to_all, relative = _TOLERANCES[expected.dtype.name]
    wide = np.float64 if expected.dtype == np.float64 else np.float32
    x, y = cast("tuple[Any, Any]", (expected.astype(wide, copy=False), actual.astype(wide, copy=False)))
    magnitude = np.abs(x)
    largest = magnitude.max(initial=0)
    finite = None if np.isfinite(largest) else np.isfinite(magnitude)
    if finite is not None:
        largest = magnitude.max(where=finite, initial=0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(y - x) <= magnitude * relative + largest * relative_to_all
    if finite is None:
        return cast(Array, ~near)
    same = (y == x) | (np.isnan(y) & np.isnan(x))
    return cast(Array, ~np.where(finite, near, same))


def _bits(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def adversarial(array: Array, number: int) -> Array:
    """Return a tensor of zeros, negatives, large and small numbers in place of one of floats, always the same.

    number: the number of the kernel's input that it is for. Tensors of other dtypes may be indices, and are unchanged.
    """
    if not is_rounded(array.dtype):
        return array
    generator = np.random.default_rng([_SEED, number])
    large = _LARGE[array.dtype.name]
    kinds = np.array([0.0, -0.0, 1.0, -1.0, large, -large, 1 / large, -1 / large])
    values = generator.choice(kinds, array.shape) * generator.uniform(0.5, 1.0, array.shape)
    return np.asarray(values).astype(array.dtype)
