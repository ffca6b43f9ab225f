"""exp, exp2, expm1, the hyperbolic functions and the error function of f32."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from .floats import EXPONENT_BIAS, Floats

# 2 e^r for |r| <= ln(2) / 2, lowest power first; error 3e-9 of it.
_EXP = (
    2.0,
    2.0,
    0.9999998807907104,
    0.33333033323287964,
    0.08333620429039001,
    0.016738329082727432,
    0.0027675942983478308,
)
# 2 e^r for -ln(2) <= r <= 0; error 4e-9 of it. Exact at 0.
_EXP_BELOW = (
    2.0,
    2.0,
    0.9999964833259583,
    0.3332834541797638,
    0.0830736830830574,
    0.016027297824621201,
    0.0020083915442228317,
)
# 2^(1 + r) for |r| <= 1/2; error 6e-9 of it.
_EXP2 = (
    2.0,
    1.3862944841384888,
    0.48045310378074646,
    0.11100545525550842,
    0.019234128296375275,
    0.0026834311429411173,
    0.00031609091092832386,
)
# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; error 2e-10 of r.
_EXPM1 = (
    0.5,
    0.1666666716337204,
    0.04166635498404503,
    0.00833327416330576,
    0.0013941116631031036,
    0.00019913706637453288,
)
# erf(x) / x - 1 in x^2 - 0.6, for |x| <= 1.1; error 6e-9. The middle of the range makes rounding errors small.
_ERF_MIDDLE = 0.6000000238418579
_ERF = (
    -0.06186232715845108,
    -0.26572510600090027,
    0.0741281658411026,
    -0.016945192590355873,
    0.0032107261940836906,
    -0.0005221854662522674,
    7.311003719223663e-05,
)
# log2(1 - erf(x)) in x - 1, for 1.1 <= x <= 4; error of erf 7e-10. Beyond 4, erf is 1 in f32.
_ERF_TAIL = (
    -2.668416976928711,
    -3.8072192668914795,
    -1.2163944244384766,
    -0.05978524312376976,
    0.01415419764816761,
    -0.0025640649255365133,
    0.00025176777853630483,
)
_ERF_SPLIT, _ERF_END = 1.1, 4.0
_SIGN = 1 << 8
"""Added to a bias, it sets the sign."""

# Below this, e^x - 1 and sinh(x) are x + x^2 / 2 and x.
_TINY = 2.0**-13
# At 2^n for n from this on, numbers are denormal; a factor keeps them from it until the last product.
_LEAST = -125
_DOWN = 64


def _scaled(f: Floats, y: SSAValue, shifted: SSAValue, low: SSAValue) -> SSAValue:
    """`2^(n - 1) y` for the n - 1 in the exponent of `shifted`, n from -150 to 128; in two steps where `low` holds."""
    factor = f.bits(f.as_exponent(shifted))
    factor = f.select(low, f.plus(factor, _DOWN << 23), factor)
    y = f.mul(y, f.from_bits(factor))
    return f.select(low, f.mul(y, 2.0**-_DOWN), y)


def exp(f: Floats, x: SSAValue) -> SSAValue:
    """`e^x = 2^(n - 1) 2 e^r`, n the integer nearest to x / ln(2), or where small results may be 0 the next above."""
    if f.flushes:
        # Any n of a normal result has a normal factor: 2^-126 to 2^127. Below it is 0.
        x = f.between(x, -88.0, 89.0)
        shifted, r = f.split_exponential_above(x, EXPONENT_BIAS - 1)
        return f.mul(f.polynomial(r, _EXP_BELOW), f.as_exponent(shifted))
    # Beyond these e^x is 0 or infinite.
    x = f.between(x, -104.0, 89.0)
    shifted, r = f.split_exponential(x, EXPONENT_BIAS - 1)
    return _scaled(f, f.polynomial(r, _EXP), shifted, f.holds("olt", x, _LEAST * 0.69))


def exp2(f: Floats, x: SSAValue) -> SSAValue:
    x = f.between(x, -151.0, 129.0)
    shifted, n = f.rounded(x, bias=EXPONENT_BIAS - 1)
    return _scaled(f, f.polynomial(f.sub(x, n), _EXP2), shifted, f.holds("olt", x, _LEAST + 1.0))


def _scaled_expm1(f: Floats, x: SSAValue, less: int) -> SSAValue:
    """`2^-less (e^x - 1)` for n, its exponent, from -126 + less to 127 + less."""
    shifted, r = f.split_exponential(x, EXPONENT_BIAS - less)
    p = f.fma(f.mul(r, r), f.polynomial(r, _EXPM1), r)
    scale = f.as_exponent(shifted)
    return f.fma(scale, p, f.sub(scale, 2.0**-less))


def expm1(f: Floats, x: SSAValue) -> SSAValue:
    half = _scaled_expm1(f, f.between(x, -18.0, 88.8), 1)
    # Where e^x - 1 has fewer bits left than the exponent of half of it.
    small = f.fma(f.mul(x, x), f.fma(x, 1 / 6, f.number(0.5)), x)
    return f.with_sign(f.choose("olt", f.magnitude(x), _TINY, small, f.add(half, half)), x)


def _half_expm1(f: Floats, a: SSAValue) -> SSAValue:
    """(e^a - 1) / 2 for a >= 0, infinite only where a hyperbolic function is."""
    quarter = _scaled_expm1(f, f.choose("ogt", a, 89.5, 89.5, a), 2)
    return f.add(quarter, quarter)


def sinh(f: Floats, x: SSAValue) -> SSAValue:
    """`h + h / (2 h + 1)` for h = (e^|x| - 1) / 2, with the sign of x."""
    a = f.magnitude(x)
    h = _half_expm1(f, a)
    result = f.add(h, f.div(h, f.add(f.add(h, h), 1.0)))
    result = f.choose("oeq", h, inf, h, result)
    # Half of it would lose a bit where numbers are denormal.
    return f.signed(f.choose("olt", a, _TINY, a, result), x)


def cosh(f: Floats, x: SSAValue) -> SSAValue:
    """`E + 1 / (4 E)` for E = e^|x| / 2."""
    e = f.add(_half_expm1(f, f.magnitude(x)), 0.5)
    return f.add(e, f.div(f.number(0.25), e))


def tanh(f: Floats, x: SSAValue) -> SSAValue:
    """`e / (e + 2)` for e = e^2|x| - 1, with the sign of x."""
    a = f.magnitude(x)
    # From 9.02 on the quotient is 1.
    a = f.choose("ogt", a, 10.0, 10.0, a)
    e = _scaled_expm1(f, f.add(a, a), 0)
    return f.signed(f.div(e, f.add(e, 2.0)), x)


def erf(f: Floats, x: SSAValue) -> SSAValue:
    """`1 - 2^p(|x|)` with the sign of x for |x| >= 1.1, `x + x q(x^2)` below."""
    a = f.magnitude(x)
    power = f.polynomial(f.sub(f.choose("ogt", a, _ERF_END, _ERF_END, a), 1.0), _ERF_TAIL)
    # -2^(n - 1)
    shifted, n = f.rounded(power, bias=EXPONENT_BIAS - 1 + _SIGN)
    scale = f.as_exponent(shifted)
    tail = f.fma(f.polynomial(f.sub(power, n), _EXP2), scale, f.number(1.0))
    small = f.fma(a, f.polynomial(f.fma(a, a, f.number(-_ERF_MIDDLE)), _ERF), a)
    return f.signed(f.choose("olt", a, _ERF_SPLIT, small, tail), x)
