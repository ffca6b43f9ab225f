"""Logarithms and inverse hyperbolic functions of f32."""

from __future__ import annotations

from math import inf, nan

from xdsl.ir import SSAValue

from .floats import LN2_HIGH, LN2_LOW, Floats

# (log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2), lowest power first; error 6e-9 of f.
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
# log2(e), log10(e) and log10(2) in two parts, the last one so that products of the first with exponents are exact.
_LOG2_E = (1.4426950216293335, 1.9259629911266175e-08)
_LOG10_E = (0.4342944920063019, -1.0103050052231683e-08)
_LOG10_2 = (0.301025390625, 4.605038981195214e-06)

_LEAST_NORMAL = 2.0**-126
# Below this, the logarithm of 1 + x is closer to x than a division is to right.
_TINY = 2.0**-13
# Beyond this, sqrt(x^2 + 1) is x as far as a logarithm of it can tell.
_LARGE = 2.0**13


def _tail(f: Floats, part: SSAValue) -> SSAValue:
    """log(1 + part) - part."""
    return f.mul(f.mul(part, part), f.fma(part, f.polynomial(part, _LOG1P), f.number(-0.5)))


def _split(f: Floats, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """n, m - 1 and log(m) - (m - 1) for `x = 2^n m`, m between sqrt(1/2) and sqrt(2)."""
    small = f.holds("olt", x, _LEAST_NORMAL)
    exponent, m = f.split_power(f.select(small, f.mul(x, 2.0**24), x))
    n = f.to_float(exponent)
    part = f.sub(m, 1.0)
    return f.select(small, f.sub(n, 24.0), n), part, _tail(f, part)


def _specials(f: Floats, x: SSAValue, result: SSAValue, pole: float = 0.0) -> SSAValue:
    """Minus infinity at the pole, NaN below; infinity and NaN as they are."""
    result = f.choose("olt", x, inf, result, x)
    result = f.choose("oeq", x, pole, -inf, result)
    return f.choose("olt", x, pole, nan, result)


def log(f: Floats, x: SSAValue) -> SSAValue:
    n, part, tail = _split(f, x)
    return _specials(f, x, f.fma(n, LN2_HIGH, f.add(part, f.fma(n, LN2_LOW, tail))))


def log2(f: Floats, x: SSAValue) -> SSAValue:
    n, part, tail = _split(f, x)
    high, low = _LOG2_E
    return _specials(f, x, f.add(n, f.fma(part, high, f.fma(tail, high, f.mul(part, low)))))


def log10(f: Floats, x: SSAValue) -> SSAValue:
    n, part, tail = _split(f, x)
    high, low = _LOG10_E
    rest = f.fma(tail, high, f.fma(part, low, f.mul(n, _LOG10_2[1])))
    return _specials(f, x, f.fma(n, _LOG10_2[0], f.fma(part, high, rest)))


def _log(f: Floats, u: SSAValue, rest: SSAValue, more: SSAValue | None = None) -> SSAValue:
    """`log(u + rest) + more ln(2)`: u is normal and positive, or 0 or infinite with any result, rest tiny beside it."""
    exponent, m = f.split_power(u)
    # For an exponent from 127 on the rest is nothing, and so may be its factor.
    small = f.smaller(exponent, 126)
    part = f.fma(rest, f.power_of_two(f.minus(f.integer(0), small)), f.sub(m, 1.0))
    n = f.to_float(exponent)
    if more is not None:
        n = f.add(n, more)
    return f.fma(n, LN2_HIGH, f.add(part, f.fma(n, LN2_LOW, _tail(f, part))))


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
    return _specials(f, x, f.with_sign(_log1p(f, x), x), -1.0)


def _inverse_hyperbolic(f: Floats, x: SSAValue, y: SSAValue) -> SSAValue:
    """log(1 + y), or log(2 x) for a large x. y may then be anything."""
    u, rest = _split_one_plus(f, y)
    large, zero = f.holds("ogt", x, _LARGE), f.number(0.0)
    u = f.select(large, x, u)
    rest = f.select(large, zero, rest)
    doubled = f.select(large, f.number(1.0), zero)
    return f.choose("olt", x, inf, _log(f, u, rest, doubled), x)


def asinh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + |x| + x^2 / (1 + sqrt(1 + x^2)))` with the sign of x."""
    a, one = f.magnitude(x), f.number(1.0)
    y = f.fma(a, f.div(a, f.add(one, f.sqrt(f.fma(a, a, one)))), a)
    return f.with_sign(_inverse_hyperbolic(f, a, y), x)


def acosh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + t + sqrt(2 t + t^2))` of t = x - 1."""
    t = f.sub(x, 1.0)
    y = f.add(t, f.sqrt(f.fma(t, t, f.add(t, t))))
    return f.choose("olt", x, 1.0, nan, _inverse_hyperbolic(f, x, y))


def atanh(f: Floats, x: SSAValue) -> SSAValue:
    """`log(1 + 2 |x| / (1 - |x|)) / 2` with the sign of x; x itself where that is closer than a division."""
    a = f.magnitude(x)
    y = f.div(f.add(a, a), f.sub(f.number(1.0), a))
    result = _specials(f, y, _log1p(f, y), -1.0)
    return f.with_sign(f.choose("olt", a, _TINY, a, f.mul(result, 0.5)), x)
