"""Quotients and remainders. Of integers, a division by zero gives 0 and the least number by -1 wraps, as in numpy."""

from __future__ import annotations

import numpy as np

from .elementwise import binary
from .numerics import AnyArray, divide, is_float, widened


def _floor_divide(x: AnyArray, y: AnyArray) -> AnyArray:
    """Towards minus infinity; of floats the quotient rounded."""
    return np.floor(widened(x) / widened(y)) if is_float(x.dtype) else np.floor_divide(x, y)


def _trunc_divide(x: AnyArray, y: AnyArray) -> AnyArray:
    return np.trunc(widened(x) / widened(y)) if is_float(x.dtype) else divide(x, y)


def _mod(x: AnyArray, y: AnyArray) -> AnyArray:
    """The remainder of the division towards zero; it has the sign of `x`."""
    return np.fmod(widened(x), widened(y))


def _floor_mod(x: AnyArray, y: AnyArray) -> AnyArray:
    """The remainder of the division towards minus infinity; it has the sign of `y`."""
    return np.mod(widened(x), widened(y))


FloorDivideOp = binary("floor_divide", _floor_divide)
FloorModOp = binary("floor_mod", _floor_mod)
ModOp = binary("mod", _mod)
TruncDivideOp = binary("trunc_divide", _trunc_divide)
TruncModOp = binary("trunc_mod", _mod)
