"""Sigmoid and tanh of 16 bits as quantised recurrent layers compute them: exponentials in fixed point, and Newton's
division. Every step rounds, so results are tables of what that gives."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.numerics import AnyArray

_ONE = (1 << 15) - 1
_EXPONENTIALS = (
    *((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308)),
    *((2, 39332535), (3, 720401), (4, 242)),
)
"""Powers of two, and the exponentials of minus them as fractions of 2 ** 31."""
_NUMBERS = np.arange(-(1 << 15), 1 << 15).astype(np.int64)


def _cut(x: AnyArray) -> AnyArray:
    return np.clip(x, -(1 << 15), _ONE)


def _times(a: AnyArray | int, b: AnyArray | int) -> AnyArray:
    """The upper half of twice a product, to the nearest."""
    product = np.asarray(a, np.int64) * b
    return _cut(np.trunc((product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))) / (1 << 15)).astype(np.int64))


def _halved(x: AnyArray, bits: int) -> AnyArray:
    """Divided by a power of two, halves away from 0."""
    return (x + (1 << (bits - 1)) - (x < 0)) >> bits


def _constant(wide: int) -> int:
    """A fraction of 2 ** 31 as one of 2 ** 15."""
    return min(int(_halved(np.asarray(wide), 16)), _ONE)


def _near_exponential(x: AnyArray) -> AnyArray:
    """Of numbers in [-1/4, 0), fractions: a series around -1/8."""
    x = x + (1 << 12)
    square = _times(x, x)
    cube, fourth = _times(square, x), _times(square, square)
    rest = _halved(_times(_halved(fourth, 2) + cube, _constant(715827883)) + square, 1)
    start = _constant(1895147668)
    return _cut(start + _times(start, x + rest))


def _exponential(x: AnyArray, integer_bits: int) -> AnyArray:
    """Of numbers that are not above 0, with so many bits before the point; a fraction."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2) if fraction >= 2 else 0
    low = (x & (quarter - 1)) - quarter
    result = _near_exponential(_cut(low << integer_bits))
    rest = low - x
    for power, value in _EXPONENTIALS:
        if integer_bits > power:
            chosen = rest & (1 << (fraction + power))
            result = np.where(chosen != 0, _times(result, _constant(value)), result)
    if integer_bits > 5:
        result = np.where(x < -(32 << fraction), 0, result)
    return np.where(x == 0, _ONE, result)


def _half_reciprocal(x: AnyArray) -> AnyArray:
    """Of 1 + x, for fractions: half of it, with 1 bit before the point more."""
    total = x + _ONE
    half = np.trunc((total + np.where(total >= 0, 1, -1)) / 2).astype(np.int64)
    result = _constant(1515870810) + _times(half, -_constant(1010580540))
    for _ in range(3):
        result = result + _cut(_times(result, (1 << 13) - _times(half, result)) << 2)
    return result


def sigmoid_table() -> AnyArray:
    """Of all numbers of 16 bits with 3 before the point; int64 fractions."""
    x = _NUMBERS
    positive = _cut(_half_reciprocal(_exponential(-np.abs(x), 3)) << 1)
    return np.where(x == 0, 1 << 14, np.where(x > 0, positive, _ONE - positive))


def tanh_table(integer_bits: int) -> AnyArray:
    """Of all numbers of 16 bits with so many before the point; int64 fractions."""
    x = _NUMBERS
    # Twice a number has one bit more before the point.
    inside = _half_reciprocal(_exponential(-np.abs(x), integer_bits + 1))
    found = _cut((inside - (1 << 13)) << 2)
    return np.where(x == 0, 0, np.where(x < 0, -found, found))
