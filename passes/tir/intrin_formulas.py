"""Elementary functions of f32 that LLVM has no vector form of, as arithmetic.

`FORMULAS` gives for an op of the math dialect the function that writes its ops. Coefficients are minimax fits for the
given ranges. Infinities, NaN, signed zeros and gradual underflow are those of IEEE 754. The largest errors found over
the whole range, against float64, in units in the last place: cbrt 0.8, acos 1.1, atan 1.3, expm1 and log1p 1.5, cosh
1.6, acosh, asinh 1.9, sinh 2.0, atanh 2.1, asin 2.3, tan 2.5. exp, tanh and erf are no part of this table: lowering
`tir_to_llvm` has its own forms of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nan, pi
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from .intrin_floats import LN2_HIGH, LN2_LOW, Floats

Formula: TypeAlias = Callable[[Floats, SSAValue], SSAValue]

# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, lowest power first; error 2e-10 of r.
_EXPM1 = (
    0.5,
    0.1666666716337204,
    0.04166635498404503,
    0.00833327416330576,
    0.0013941116631031036,
    0.00019913706637453288,
)
# (log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2); error 6e-9 of f.
_LOG1P = (
    0.33333316445350647,
    -0.25000810623168945,
    0.2000228613615036,
    -0.16624553501605988,
    0.14181196689605713,
    -0.13128767907619476,
    0.12881621718406677,
    -0.07859545946121216,
)
# (tan(x) / x - 1) / x^2 in x^2, for |x| <= pi / 4; error 1e-9 of x.
_TAN = (
    0.3333335220813751,
    0.13332605361938477,
    0.05406613647937775,
    0.021251829341053963,
    0.010910684242844582,
    -1.2496441286202753e-06,
    0.004419299773871899,
)
# (asin(x) / x - 1) / x^2 in x^2, for |x| <= 1/2; error 3e-10 of x.
_ASIN = (
    0.16666659712791443,
    0.0750051736831665,
    0.04451446980237961,
    0.031828686594963074,
    0.014358493499457836,
    0.03763008862733841,
)
# (atan(x) / x - 1) / x^2 in x^2, for |x| <= 1; error 2e-9 of x.
_ATAN = (
    -0.33333301544189453,
    0.19998638331890106,
    -0.1426524519920349,
    0.10957571864128113,
    -0.08419445902109146,
    0.0582343190908432,
    -0.03145546838641167,
    0.011064315214753151,
    -0.0018271846929565072,
)
# The cube root of 1 <= x <= 2; error 9e-6.
_CBRT = (
    0.5069798231124878,
    0.7181527018547058,
    -0.3006103038787842,
    0.08609076589345932,
    -0.010603798553347588,
)
# 2 / pi, 29 bits each: the product with a 24-bit number is exact in f64. Up to 2^128, bits after these mean nothing.
_TWO_OVER_PI = (0x145F306D, 0x19391054, 0x14FE13AB, 0x1D1F534D, 0x1B81B6C5, 0x05664F10, 0x1C820FF2)

# Below this, the functions with f(x) = x + O(x^2) or better, and slope 1 at 0, are handled by x itself where noted.
_TINY = 2.0**-13
# Beyond this, sqrt(x^2 + 1) is x as far as a logarithm of it can tell.
_LARGE = 2.0**13
_HALF_PI, _PI = 1.5707963705062866, 3.1415927410125732
_HALF_PI_LOW, _PI_LOW = pi / 2 - _HALF_PI, pi - _PI


# Logarithms


def _log(f: Floats, u: SSAValue, rest: SSAValue, more: SSAValue | None = None) -> SSAValue:
    """`log(u + rest) + more ln(2)`: u is normal and positive, or 0 or infinite with any result, rest tiny beside it."""
    # u = 2^e m, m between sqrt(1/2) and sqrt(2)
    bits = f.bits(u)
    e = f.right(f.minus(bits, f.integer(0x3F3504F3)), 23)
    m = f.from_bits(f.minus(bits, f.left(e, 23)))
    # For an exponent from 127 on the rest is nothing, and so may be its factor.
    small = f.smaller(e, 126)
    part = f.fma(rest, f.power_of_two(f.minus(f.integer(0), small)), f.sub(m, f.number(1.0)))
    square = f.mul(part, part)
    tail = f.mul(square, f.fma(part, f.polynomial(part, _LOG1P), f.number(-0.5)))
    exponent = f.to_float(e)
    if more is not None:
        exponent = f.add(exponent, more)
    return f.fma(exponent, f.number(LN2_HIGH), f.add(part, f.fma(exponent, f.number(LN2_LOW), tail)))


def _split_one_plus(f: Floats, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """1 + y as its nearest number and the rest."""
    one = f.number(1.0)
    u = f.add(one, y)
    back = f.sub(u, one)
    return u, f.add(f.sub(one, f.sub(u, back)), f.sub(y, back))


def _log1p(f: Floats, y: SSAValue) -> SSAValue:
    """log(1 + y) for -1 < y; 0 keeps its sign nowhere, infinity gives any number."""
    return _log(f, *_split_one_plus(f, y))


def log1p(f: Floats, x: SSAValue) -> SSAValue:
    result = f.with_sign(_log1p(f, x), x)
    return _log_specials(f, x, result, -1.0)


def _log_specials(f: Floats, x: SSAValue, result: SSAValue, pole: float) -> SSAValue:
    """Minus infinity at the pole, NaN below; infinity and NaN as they are."""
    at, infinity = f.number(pole), f.number(inf)
    result = f.choose("olt", x, infinity, result, x)
    result = f.choose("oeq", x, at, f.number(-inf), result)
    return f.choose("olt", x, at, f.number(nan), result)


def _inverse_hyperbolic(f: Floats, x: SSAValue, y: SSAValue) -> SSAValue:
    """log(1 + y), or log(2 x) for a large x. y may then be anything."""
    u, rest = _split_one_plus(f, y)
    large, zero = f.number(_LARGE), f.number(0.0)
    u = f.choose("ogt", x, large, x, u)
    rest = f.choose("ogt", x, large, zero, rest)
    doubled = f.choose("ogt", x, large, f.number(1.0), zero)
    return f.choose("olt", x, f.number(inf), _log(f, u, rest, doubled), x)


def asinh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + |x| + x^2 / (1 + sqrt(1 + x^2)))` with the sign of x."""
    a, one = f.magnitude(x), f.number(1.0)
    y = f.fma(a, f.div(a, f.add(one, f.sqrt(f.fma(a, a, one)))), a)
    return f.with_sign(_inverse_hyperbolic(f, a, y), x)


def acosh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + t + sqrt(2 t + t^2))` of t = x - 1."""
    one = f.number(1.0)
    t = f.sub(x, one)
    y = f.add(t, f.sqrt(f.fma(t, t, f.add(t, t))))
    return f.choose("olt", x, one, f.number(nan), _inverse_hyperbolic(f, x, y))


def atanh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + 2 |x| / (1 - |x|)) / 2` with the sign of x; x itself where that is closer than a division."""
    a, one = f.magnitude(x), f.number(1.0)
    y = f.div(f.add(a, a), f.sub(one, a))
    result = _log_specials(f, y, _log1p(f, y), -1.0)
    result = f.choose("olt", a, f.number(_TINY), a, f.mul(f.number(0.5), result))
    return f.with_sign(result, x)


# Exponentials


def _expm1_parts(f: Floats, x: SSAValue, less: int) -> tuple[SSAValue, SSAValue]:
    """`2^-less (e^x - 1)` for n, its exponent, from -126 + less to 127 + less, and r: see `split_exponential`."""
    n, r = f.split_exponential(x)
    p = f.fma(f.mul(r, r), f.polynomial(r, _EXPM1), r)
    scale = f.power_of_two(f.plus(n, -less))
    return f.fma(scale, p, f.sub(scale, f.number(2.0**-less))), n


def expm1(f: Floats, x: SSAValue) -> SSAValue:
    low, high = f.number(-18.0), f.number(88.8)
    inside = f.choose("olt", x, low, low, x)
    inside = f.choose("ogt", inside, high, high, inside)
    half, _ = _expm1_parts(f, inside, 1)
    result = f.add(half, half)
    # Where e^x - 1 has fewer bits left than the exponent of half of it.
    return f.with_sign(f.choose("olt", f.magnitude(x), f.number(_TINY), _expm1_small(f, x), result), x)


def _expm1_small(f: Floats, x: SSAValue) -> SSAValue:
    return f.fma(f.mul(x, x), f.fma(x, f.number(1 / 6), f.number(0.5)), x)


def _half_expm1(f: Floats, x: SSAValue) -> SSAValue:
    """(e^a - 1) / 2 for a = |x|, infinite only where a hyperbolic function is."""
    a, high = f.magnitude(x), f.number(89.5)
    a = f.choose("ogt", a, high, high, a)
    quarter, _ = _expm1_parts(f, a, 2)
    return f.add(quarter, quarter)


def sinh(f: Floats, x: SSAValue) -> SSAValue:
    """`h + h / (2 h + 1)` for h = (e^|x| - 1) / 2, with the sign of x."""
    h, a = _half_expm1(f, x), f.magnitude(x)
    result = f.add(h, f.div(h, f.add(f.add(h, h), f.number(1.0))))
    result = f.choose("oeq", h, f.number(inf), h, result)
    # Half of it would lose a bit where numbers are denormal.
    result = f.choose("olt", a, f.number(_TINY), a, result)
    return f.with_sign(result, x)


def cosh(f: Floats, x: SSAValue) -> SSAValue:
    """`E + 1 / (4 E)` for E = e^|x| / 2."""
    e = f.add(_half_expm1(f, x), f.number(0.5))
    return f.add(e, f.div(f.number(0.25), e))


# Trigonometry


def tan(f: Floats, x: SSAValue) -> SSAValue:
    """The tangent of the rest of x by pi / 2, or, in every other quadrant, minus its inverse."""
    wide = f.convert(x, f64)
    half, two = f.number(0.5, f64), f.number(-2.0, f64)
    turns = rest = None
    for place, bits in enumerate(_TWO_OVER_PI, 1):
        # Multiples of 2 do not change the tangent: a product keeps what is left of them, which is exact.
        part = f.mul(wide, f.number(bits * 2.0 ** (-29 * place), f64))
        part = f.fma(f.nearest(f.mul(part, half)), two, part)
        rest = part if rest is None else f.add(rest, part)
        whole = f.nearest(rest)
        rest = f.sub(rest, whole)
        turns = whole if turns is None else f.add(turns, whole)
    assert rest is not None
    assert turns is not None
    r = f.mul(rest, f.number(pi / 2, f64))
    high = f.convert(r, f32)
    low = f.convert(f.sub(r, f.convert(high, f64)), f32)
    square = f.mul(high, high)
    tangent = f.fma(f.mul(high, square), f.polynomial(square, _TAN), f.fma(low, f.fma(high, high, f.number(1.0)), high))
    inverse = f.div(f.number(-1.0), tangent)
    odd = f.convert(f.fma(f.nearest(f.mul(turns, half)), two, turns), f32)
    result = f.choose("oeq", odd, f.number(0.0), tangent, inverse)
    return f.choose("olt", f.magnitude(x), f.number(_TINY), x, result)


def _asin_small(f: Floats, a: SSAValue, square: SSAValue) -> SSAValue:
    """asin(a) for a^2 = square and |a| <= 1/2."""
    return f.fma(f.mul(a, square), f.polynomial(square, _ASIN), a)


def _from(f: Floats, high: float, low: float, x: SSAValue) -> SSAValue:
    """A number of more bits than f32 has, minus x."""
    return f.sub(f.number(high), f.sub(x, f.number(low)))


def _arc(f: Floats, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """|x|, and asin of it for |x| <= 1/2, else of sqrt((1 - |x|) / 2): half of acos of |x|."""
    a, half = f.magnitude(x), f.number(0.5)
    folded = f.fma(a, f.number(-0.5), half)
    square = f.choose("ogt", a, half, folded, f.mul(a, a))
    return a, _asin_small(f, f.choose("ogt", a, half, f.sqrt(folded), a), square)


def asin(f: Floats, x: SSAValue) -> SSAValue:
    """By the half angle for |x| > 1/2; beyond 1 the root makes a NaN."""
    a, arc = _arc(f, x)
    large = _from(f, _HALF_PI, _HALF_PI_LOW, f.add(arc, arc))
    return f.with_sign(f.choose("ogt", a, f.number(0.5), large, arc), x)


def acos(f: Floats, x: SSAValue) -> SSAValue:
    a, arc = _arc(f, x)
    twice, half = f.add(arc, arc), f.number(0.5)
    small = _from(f, _HALF_PI, _HALF_PI_LOW, f.with_sign(arc, x))
    large = f.choose("olt", x, f.number(0.0), _from(f, _PI, _PI_LOW, twice), twice)
    return f.choose("ogt", a, half, large, small)


def atan(f: Floats, x: SSAValue) -> SSAValue:
    """`pi / 2 - atan(1 / |x|)` for |x| > 1, with the sign of x."""
    a, one = f.magnitude(x), f.number(1.0)
    t = f.choose("ogt", a, one, f.div(one, a), a)
    square = f.mul(t, t)
    arc = f.fma(f.mul(t, square), f.polynomial(square, _ATAN), t)
    result = f.choose("ogt", a, one, _from(f, _HALF_PI, _HALF_PI_LOW, arc), arc)
    return f.with_sign(result, x)


# Roots


def cbrt(f: Floats, x: SSAValue) -> SSAValue:
    """`2^q cbrt(2^r m)` for x = 2^(3 q + r) m, by a polynomial in m and one step of Newton's method."""
    a, normal = f.magnitude(x), f.number(2.0**-126)
    scaled = f.choose("olt", a, normal, f.mul(a, f.number(2.0**24)), a)
    down = f.choose("olt", a, normal, f.integer(-8), f.integer(0))
    bits = f.bits(scaled)
    # The biased exponent and 2 more is 3 (q + 43) + r; the division by 3 is exact for numbers this small.
    n = f.plus(f.right(bits, 23), 2)
    third = f.right(f.times(n, 43691), 17)
    r = f.minus(n, f.times(third, 3))
    mantissa = f.masked(bits, 0x7FFFFF)
    m = f.from_bits(f.plus(mantissa, 127 << 23))
    part = f.from_bits(f.plus(mantissa, f.left(f.plus(r, 127), 23)))
    root = f.choose("eq", r, f.integer(0), f.number(1.0), f.number(2 ** (1 / 3)))
    root = f.choose("eq", r, f.integer(2), f.number(2 ** (2 / 3)), root)
    y = f.mul(f.polynomial(m, _CBRT), root)
    square = f.mul(y, y)
    error = f.fma(square, y, f.negative(part))
    y = f.sub(y, f.div(error, f.mul(square, f.number(3.0))))
    result = f.mul(y, f.power_of_two(f.plus(f.plus(third, -43), down)))
    # Zeros, infinities and NaN are their own roots.
    result = f.choose("ogt", a, f.number(0.0), result, x)
    result = f.choose("olt", a, f.number(inf), result, x)
    return f.with_sign(result, x)


FORMULAS: Mapping[type[Operation], Formula] = {
    math.AcosOp: acos,
    math.AcoshOp: acosh,
    math.AsinOp: asin,
    math.AsinhOp: asinh,
    math.AtanOp: atan,
    math.AtanhOp: atanh,
    math.CbrtOp: cbrt,
    math.CoshOp: cosh,
    math.ExpM1Op: expm1,
    math.Log1pOp: log1p,
    math.SinhOp: sinh,
    math.TanOp: tan,
}
