"""Trigonometric functions of f32 and their inverses."""

from __future__ import annotations

from math import inf, nan, pi

from xdsl.ir import SSAValue

from .floats import Floats

# 2 / pi without the bits whose products with x are multiples of 4, as two numbers of f64, from the |x| named.
_TWO_OVER_PI = (
    (0.0, 0.6366197723675814, -3.935735335036497e-17),
    (2.0**51, 1.0781392073056004e-08, -5.434184107743751e-25),
    (2.0**77, 7.166494911215068e-17, -2.1442872565786008e-33),
    (2.0**103, 2.7653040394377357e-24, -5.297650908280439e-41),
)
# sin(pi t / 2) / t and cos(pi t / 2) in t^2, for |t| <= 1/2 and in f64, lowest power first; errors 3e-9 and 6e-11.
_SIN = (1.570796321667114, -0.6459634563778615, 0.07967998208050632, -0.004601497226647714)
_COS = (1.0, -1.2337005425355685, 0.2536692242344809, -0.020860151614746053, 0.0009037351984699695)
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
_HALF_PI, _PI = 1.5707963705062866, 3.1415927410125732
_HALF_PI_LOW, _PI_LOW = pi / 2 - _HALF_PI, pi - _PI


def _quarter_turns(f: Floats, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """q and t of f64, |t| <= 1/2: x is q quarter turns, the lowest bits of q being right, and t of one."""
    wide, size = f.widen(x), f.magnitude(x)
    _, *factors = _TWO_OVER_PI[0]
    high, low = (f.like(factor, wide) for factor in factors)
    for limit, *factors in _TWO_OVER_PI[1:]:
        beyond = f.holds("oge", size, limit)
        high, low = (f.select(beyond, f.like(new, wide), old) for new, old in zip(factors, (high, low), strict=True))
    turns = f.mul(wide, high)
    # The product is rounded; its error is a number.
    rest = f.fma(wide, low, f.fma(wide, high, f.negative(turns)))
    shifted, whole = f.rounded(turns)
    rest = f.add(f.sub(turns, whole), rest)
    shifted_rest, whole = f.rounded(rest)
    return f.plus(f.bits(shifted), f.bits(shifted_rest)), f.sub(rest, whole)


def _sin_cos(f: Floats, t: SSAValue) -> tuple[SSAValue, SSAValue]:
    square = f.mul(t, t)
    return f.mul(t, f.polynomial(square, _SIN)), f.polynomial(square, _COS)


def _wave(f: Floats, q: SSAValue, t: SSAValue) -> SSAValue:
    """The sine of q + t quarter turns, q an integer."""
    sine, cosine = _sin_cos(f, t)
    value = f.select(f.holds("eq", f.masked(q, 1), 0), sine, cosine)
    sign = f.left(f.masked(q, 2), 62)
    return f.narrow(f.from_bits(f.xor(f.bits(value), sign)))


def sin(f: Floats, x: SSAValue) -> SSAValue:
    # 0 keeps its sign.
    return f.choose("oeq", x, 0.0, x, _wave(f, *_quarter_turns(f, x)))


def cos(f: Floats, x: SSAValue) -> SSAValue:
    q, t = _quarter_turns(f, x)
    return _wave(f, f.plus(q, 1), t)


def tan(f: Floats, x: SSAValue) -> SSAValue:
    """The tangent of the rest of x by pi / 2, or, in every other quadrant, minus its inverse."""
    q, t = _quarter_turns(f, x)
    sine, cosine = _sin_cos(f, t)
    even = f.holds("eq", f.masked(q, 1), 0)
    above = f.narrow(f.select(even, sine, f.negative(cosine)))
    below = f.narrow(f.select(even, cosine, sine))
    return f.choose("oeq", x, 0.0, x, f.div(above, below))


def _asin_small(f: Floats, a: SSAValue, square: SSAValue) -> SSAValue:
    """asin(a) for a^2 = square and |a| <= 1/2."""
    return f.fma(f.mul(a, square), f.polynomial(square, _ASIN), a)


def _from(f: Floats, high: float, low: float, x: SSAValue) -> SSAValue:
    """A number of more bits than f32 has, minus x."""
    return f.sub(f.number(high), f.sub(x, low))


def _arc(f: Floats, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return whether |x| > 1/2, and asin of |x|, or else of sqrt((1 - |x|) / 2): half of acos of |x|."""
    a = f.magnitude(x)
    large = f.holds("ogt", a, 0.5)
    folded = f.fma(a, -0.5, f.number(0.5))
    square = f.select(large, folded, f.mul(a, a))
    return large, _asin_small(f, f.select(large, f.sqrt(folded), a), square)


def asin(f: Floats, x: SSAValue) -> SSAValue:
    """By the half angle for |x| > 1/2; beyond 1 the root makes a NaN."""
    large, arc = _arc(f, x)
    return f.with_sign(f.select(large, _from(f, _HALF_PI, _HALF_PI_LOW, f.add(arc, arc)), arc), x)


def acos(f: Floats, x: SSAValue) -> SSAValue:
    large, arc = _arc(f, x)
    twice = f.add(arc, arc)
    turned = f.choose("olt", x, 0.0, _from(f, _PI, _PI_LOW, twice), twice)
    return f.select(large, turned, _from(f, _HALF_PI, _HALF_PI_LOW, f.with_sign(arc, x)))


def _atan(f: Floats, t: SSAValue, inverse: SSAValue) -> SSAValue:
    """atan(t) for 0 <= t <= 1, or, where `inverse` holds, of 1 / t."""
    square = f.mul(t, t)
    arc = f.fma(f.mul(t, square), f.polynomial(square, _ATAN), t)
    return f.select(inverse, _from(f, _HALF_PI, _HALF_PI_LOW, arc), arc)


def atan(f: Floats, x: SSAValue) -> SSAValue:
    """`pi / 2 - atan(1 / |x|)` for |x| > 1, with the sign of x."""
    a = f.magnitude(x)
    large = f.holds("ogt", a, 1.0)
    return f.with_sign(_atan(f, f.select(large, f.div(f.number(1.0), a), a), large), x)


def atan2(f: Floats, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of the point (x, y): of |y| / |x|, turned by its quadrant, with the sign of y."""
    height, width = f.magnitude(y), f.magnitude(x)
    steep = f.holds("ogt", height, width)
    above, below = f.select(steep, width, height), f.select(steep, height, width)
    # 0 / 0 is 0, infinity / infinity is 1.
    t = f.div(above, f.choose("oeq", below, 0.0, 1.0, below))
    arc = _atan(f, f.choose("oeq", above, inf, 1.0, t), steep)
    left = f.holds("olt", f.with_sign(f.number(1.0), x), 0.0)
    angle = f.with_sign(f.select(left, _from(f, _PI, _PI_LOW, arc), arc), y)
    return f.choose("uno", x, y, nan, angle)
