"""Casts to and from every dtype, in numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ...support.dtypes import BOOL, SMALL, bits, is_float, is_unsigned, numpy_of
from .numerics import AnyArray

_POWERS = "float8_e8m0fnu"


THROUGH = {**dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"), "uint32": "int64"}
"""By which dtype a float becomes an integer, so that beyond the range of this its low bits are kept."""


def converted(x: AnyArray, dtype: str, mode: str = "") -> AnyArray:
    """`x` as numbers of a dtype, rounded as `relay.cast` says."""
    if x.dtype.name == dtype:
        return x
    if x.dtype.name in SMALL:
        # Integers of few bits fit int8, floats float32.
        x = x.astype(np.float32 if is_float(x.dtype.name) else np.int8)
    if is_float(x.dtype.name) and dtype in THROUGH:
        x = x.astype(THROUGH[dtype])
    if dtype not in SMALL:
        return x.astype(numpy_of(dtype))
    if dtype == _POWERS:
        return _powers(x.astype(np.float32), mode)
    if is_float(dtype):
        return x.astype(np.float32).astype(numpy_of(dtype))
    low = x.astype(np.int32).astype(np.int64) & ((1 << bits(dtype)) - 1)
    if not is_unsigned(dtype):
        low -= (low >> (bits(dtype) - 1)) << bits(dtype)
    return low.astype(numpy_of(dtype))


def _powers(x: AnyArray, mode: str) -> AnyArray:
    """Powers of two as float8_e8m0fnu; what is negative, infinite or NaN becomes NaN, 0 the least."""
    mantissa, exponent = np.frexp(np.abs(x).astype(np.float64))
    # A number is mantissa * 2^exponent, the mantissa in [0.5, 1).
    up = {"up": mantissa > 0.5, "down": np.zeros_like(mantissa, bool)}.get(mode, mantissa >= 0.75)
    code = np.clip(np.where(x == 0, -127, exponent - 1 + up) + 127, 0, 254)
    code = np.where(np.signbit(x) | ~np.isfinite(x), 255, code)
    return code.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def element_bits(dtype: str) -> int:
    """The bits of an element that mean something; those of a bool are 8."""
    return 8 if dtype == BOOL else bits(dtype)


def reinterpreted(x: AnyArray, dtype: str) -> AnyArray:
    """The numbers of a dtype that have the bits of `x`, which are as many."""
    target = numpy_of(dtype)
    if dtype == BOOL:
        return x.view(np.uint8) != 0
    if x.dtype.name not in SMALL or bits(x.dtype.name) == 8:
        return x.view(target)
    return (x.view(np.uint8) & np.uint8((1 << bits(dtype)) - 1)).view(target)
