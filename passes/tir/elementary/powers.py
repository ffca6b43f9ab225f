"""Powers and roots of f32."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import cast

from xdsl.dialects.arith import ConstantOp, ExtFOp
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue

from .floats import Floats

# log2(1 + f) / f for sqrt(1/2) <= 1 + f <= sqrt(2) in f64, lowest power first; error 1e-10 of it.
_LOG2 = (
    1.442695040939345,
    -0.7213475252131863,
    0.48089832072971955,
    -0.3606728005497919,
    0.28854064354216097,
    -0.2405041740234122,
    0.2060962566751914,
    -0.1790469538057976,
    0.15900149311079498,
    -0.15698225086961276,
    0.15485754360400958,
    -0.08634602499812975,
)
# 2^r for |r| <= 1/2 in f64; error 3e-9 of it.
_EXP2 = (
    1.0,
    0.6931472149680309,
    0.2402265278289213,
    0.05550310551832131,
    0.009617692976800525,
    0.0013406642074955447,
    0.00015594643035089176,
)
# The cube root of 1 <= x <= 2; error 9e-6.
_CBRT = (
    0.5069798231124878,
    0.7181527018547058,
    -0.3006103038787842,
    0.08609076589345932,
    -0.010603798553347588,
)


def _log2(f: Floats, a: SSAValue) -> SSAValue:
    """log2(a) of a >= 0 in f64; infinities and NaN as they should be."""
    small = f.holds("olt", a, 2.0**-126)
    exponent, m = f.split_power(f.select(small, f.mul(a, 2.0**24), a))
    n = f.to_float(exponent)
    n = f.select(small, f.sub(n, 24.0), n)
    # m is 1 for 0 and infinity, and some number for NaN.
    n = f.choose("oeq", a, 0.0, -inf, n)
    n = f.choose("olt", a, inf, n, a)
    part = f.widen(f.sub(m, 1.0))
    return f.fma(part, f.polynomial(part, _LOG2), f.widen(n))


def _exp2(f: Floats, t: SSAValue) -> SSAValue:
    """2^t of f64; the conversion to f32 rounds, overflows and underflows."""
    t = f.between(t, -160.0, 160.0)
    shifted, n = f.rounded(t)
    scale = f.from_bits(f.plus(f.left(f.bits(shifted), 52), 1023 << 52))
    return f.narrow(f.mul(f.polynomial(f.sub(t, n), _EXP2), scale))


def pow(f: Floats, x: SSAValue, y: SSAValue) -> SSAValue:
    """`2^(y log2(|x|))` in f64; signs and NaN as C and IEEE 754 have them."""
    if (power := _constant(y)) is not None and power in _POWERS:
        return _POWERS[power](f, x)
    # x^0 and 1^y are 1 whatever x and y are.
    a = f.choose("oeq", y, 0.0, 1.0, f.magnitude(x))
    size = _exp2(f, f.mul(_log2(f, a), f.widen(f.choose("oeq", a, 1.0, 0.0, y))))
    half = f.mul(y, 0.5)
    odd = f.choose("une", half, f.nearest(half), f.with_sign(size, x), size)
    negative = f.choose("oeq", a, inf, size, nan)
    broken = f.choose("olt", x, 0.0, negative, size)
    return f.choose("oeq", y, f.nearest(y), odd, broken)


def _constant(value: SSAValue) -> float | None:
    """A number known at compile time, the same in all lanes."""
    op = value.owner
    if isinstance(op, ExtFOp):
        op = op.input.owner
    if not isinstance(op, ConstantOp):
        return None
    number = op.value
    if isinstance(number, DenseIntOrFPElementsAttr) and number.is_splat():
        return cast("DenseIntOrFPElementsAttr[AnyFloat]", number).get_values()[0]
    return number.value.data if isinstance(number, FloatAttr) else None


def _root(f: Floats, x: SSAValue) -> SSAValue:
    """x^0.5, which, other than the root, is 0 for -0 and infinite for both infinities."""
    return f.choose("oeq", x, -inf, inf, f.magnitude(f.sqrt(x)))


_POWERS: dict[float, Callable[[Floats, SSAValue], SSAValue]] = {
    -1.0: lambda f, x: f.div(f.number(1.0), x),
    0.5: _root,
    2.0: lambda f, x: f.mul(x, x),
    3.0: lambda f, x: f.mul(f.mul(x, x), x),
}
"""Exponents for which there is something shorter."""


def rsqrt(f: Floats, x: SSAValue) -> SSAValue:
    return f.div(f.number(1.0), f.sqrt(x))


def cbrt(f: Floats, x: SSAValue) -> SSAValue:
    """`2^q cbrt(2^r m)` for x = 2^(3 q + r) m, by a polynomial in m and one step of Newton's method."""
    a = f.magnitude(x)
    small = f.holds("olt", a, 2.0**-126)
    bits = f.bits(f.select(small, f.mul(a, 2.0**24), a))
    down = f.select(small, f.integer(-8), f.integer(0))
    # The biased exponent and 2 more is 3 (q + 43) + r; the division by 3 is exact for numbers this small.
    n = f.plus(f.right(bits, 23), 2)
    third = f.right(f.times(n, 43691), 17)
    r = f.minus(n, f.times(third, 3))
    mantissa = f.masked(bits, 0x7FFFFF)
    m = f.from_bits(f.plus(mantissa, 127 << 23))
    part = f.from_bits(f.plus(mantissa, f.left(f.plus(r, 127), 23)))
    root = f.select(f.holds("eq", r, 0), f.number(1.0), f.number(2 ** (1 / 3)))
    root = f.select(f.holds("eq", r, 2), f.number(2 ** (2 / 3)), root)
    y = f.mul(f.polynomial(m, _CBRT), root)
    square = f.mul(y, y)
    error = f.fma(square, y, f.negative(part))
    y = f.sub(y, f.div(error, f.mul(square, 3.0)))
    result = f.mul(y, f.power_of_two(f.plus(f.plus(third, -43), down)))
    # Zeros, infinities and NaN are their own roots.
    result = f.choose("ogt", a, 0.0, result, x)
    return f.with_sign(f.choose("olt", a, inf, result, x), x)
