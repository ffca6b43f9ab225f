"""The arithmetic of TFLite's kernels in numpy, for tables: rounding, products of integers, functions of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.relay.numerics import AnyArray
from .fixed_point import factor


def rounded(x: AnyArray) -> AnyArray:
    """To the nearest integer, halves away from 0."""
    return np.where(x < 0, -np.floor(np.abs(x) + 0.5), np.floor(np.abs(x) + 0.5))


def precise(function: Callable[[AnyArray], AnyArray], x: AnyArray) -> AnyArray:
    """A function of float32, rounded once, as the C library's are but for rare cases."""
    return function(x.astype(np.float64)).astype(x.dtype)


def high_product(a: AnyArray, b: int) -> AnyArray:
    """The upper half of a product of int32, doubled, rounded upward."""
    return (a.astype(np.int64) * b + (1 << 30)) >> 31


def shifted(x: AnyArray, right: int) -> AnyArray:
    """Divided by a power of two, halves away from 0."""
    if right <= 0:
        return x
    return (x + (np.int64(1) << (right - 1)) - (x < 0)) >> right


def scaled(x: AnyArray, real: float) -> AnyArray:
    """Numbers times a factor, as `fixed_point.multiplied`."""
    multiplier, shift = factor(real)
    return shifted(high_product(x.astype(np.int64) << max(shift, 0), multiplier), max(-shift, 0))


_STEPS = 512
"""Of a table that kernels interpolate in."""


def interpolated_table(
    function: Callable[[AnyArray], AnyArray], scales: tuple[Any, Any], zeros: tuple[int, int]
) -> AnyArray:
    """A function at 513 places of the range of 16 bits, int64: each moved by half the error in the middle after it.

    scales: of argument and result, floats of the precision that all is computed with; zeros: their zero points.
    """
    scale, out = scales
    real: Any = scale.dtype.type
    low, high = (scale * real(number - zeros[0]) for number in (-(1 << 15), (1 << 15) - 1))
    least, most = (out * real(number - zeros[1]) for number in (-(1 << 15), (1 << 15) - 1))
    step, inverse = (high - low) / real(_STEPS), real(1 << 16) / (most - least)
    places = low + np.arange(_STEPS + 1).astype(real) * step
    places[-1] = high
    with np.errstate(all="ignore"):
        values = function(places).astype(real) * inverse
        after = function(low + np.arange(1, _STEPS + 1).astype(real) * step).astype(real) * inverse
        middle = rounded(function(places[:-1] + step / real(2)).astype(real) * inverse)
    here = rounded(values)
    bias = rounded((rounded((after + here[:-1]) / real(2)) - middle) / real(2))
    here[:-1] -= bias
    return np.clip(here, -(1 << 15), (1 << 15) - 1).astype(np.int64)


def between(table: AnyArray, numbers: AnyArray) -> AnyArray:
    """Numbers of 16 bits in such a table: a line from each place to the next."""
    at, beyond = 256 + (numbers >> 7), numbers & 127
    return table[at] + (((table[at + 1] - table[at]) * beyond + 64) >> 7)


def _sigmoid_entries() -> AnyArray:
    """Sigmoids of multiples of 1 / 24 in steps of 2^-16, each moved by half the error of a line in the middle after it.

    There are 256, the last of which is the largest number.
    """
    places = np.arange(0, 257.5, 0.5)
    exact = 65536 / (1 + np.exp(-places / 24))
    here, after, middle = exact[:-2:2], exact[2::2], exact[1::2]
    found = rounded(here + (middle - (here + after) / 2) / 2).astype(np.int64)
    found[255:] = 65535
    return found


_SIGMOID = _sigmoid_entries()


def sigmoid(x: AnyArray, bits: int) -> AnyArray:
    """The table's value of absolute numbers, `bits` of which are between two of its entries."""
    at = np.minimum(np.abs(x) >> bits, 255)
    inside = (_SIGMOID[at] << bits) + (np.abs(x) & ((1 << bits) - 1)) * (_SIGMOID[at + 1] - _SIGMOID[at])
    return np.where(at >= 255, (0x7FFF << 10) if bits == 9 else (0xFFFF << 8), inside)


_HALF_THREE = (1 << 28) + (1 << 27)
_HALF_ROOT = 1518500250
"""Half the root of 2, as a fraction of 2 ** 31."""


def newton(value: Any, x: Any, times: Callable[[Any, Any], Any], wide: Callable[[Any, int], Any]) -> Any:
    """The inverse root of half of `value`, both with 28 bits after the point, by five steps from `x`: ints, or terms.

    times: the upper half of twice a product; wide: shifted to the left, cut off at 32 bits.
    """
    for _ in range(5):
        cube = wide(times(times(x, x), x), 6)
        x = wide(times(x, _HALF_THREE) - times(value, cube), 3)
    return times(x, _HALF_ROOT)


def root_shifts(bits: int) -> tuple[int, int]:
    """Of a number of so many bits, by how much it is shifted to the left (right, if negative) to have 28 or 29, and by
    how much its inverse root, then, to the right."""
    right = 11
    if bits > 29:
        return -2, right + 1
    pairs = (31 - bits) // 2 - 1
    return 2 * pairs, right - pairs


def inverse_root(number: int) -> tuple[int, int]:
    """The inverse of a square root as `multiplier * 2^(-31 - right)`, in integers."""
    if number <= 1:
        return (1 << 31) - 1, 0
    left, right = root_shifts(number.bit_length())
    value = (number << left if left >= 0 else number >> -left) >> 1

    def times(a: int, b: int) -> int:
        return int(high_product(np.asarray(a), b))

    def wide(a: int, bits: int) -> int:
        return max(min(a << bits, (1 << 31) - 1), -(1 << 31))

    root = newton(int(shifted(np.asarray(value), 1)), 1 << 28, times, wide)
    return (root << -right, 0) if right < 0 else (root, right)


def reciprocal(number: int) -> tuple[int, int]:
    """The inverse of a positive number as `multiplier * 2^(-31 - right)`, by three steps of Newton's method."""
    left = 32 - number.bit_length()
    half = ((number << left) - (1 << 31) + (1 << 31) - 1 + 1) // 2

    def times(a: int, b: int) -> int:
        return int(high_product(np.asarray(a), b))

    x = 1515870810 + times(half, -1010580540)
    for _ in range(3):
        x += times(x, (1 << 29) - times(half, x)) << 2
    return min(x << 1, (1 << 31) - 1), 31 - left
