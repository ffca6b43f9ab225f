"""The error function's relatives, and those of the gamma function."""

from __future__ import annotations

import numpy as np

from ...dialects.relay import elementwise as ew
from ..importing.terms import Term, absolute, copysign, erf, exp, log, maximum, once, sqrt, where

_ERFC = (
    *(-1.3026537197817094, 6.4196979235649026e-1, 1.9476473204185836e-2, -9.561514786808631e-3, -9.46595344482036e-4),
    *(3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5, -1.624290004647e-6, 1.303655835580e-6),
    *(1.5626441722e-8, -8.5238095915e-8, 6.529054439e-9, 5.059343495e-9, -9.91364156e-10, -2.27365122e-10),
    *(9.6467911e-11, 2.394038e-12, -6.886027e-12, 8.94487e-13, 3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15),
    *(-1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17),
)
"""A Chebyshev series: Press et al., Numerical Recipes, 3rd edition, 6.2.2."""
_ERFC_SINGLE = 12
"""The number of its terms that float32 takes: 1e-8."""


@once
def erfc(x: Term) -> Term:
    """1 - erf(x); where that is small by a series, as the difference would lose all digits."""
    size = absolute(x)
    t = 2.0 / (size + 2.0)
    y = t * 4.0 - 2.0
    terms = _ERFC if x.dtype.itemsize > 4 else _ERFC[:_ERFC_SINGLE]
    last, before = y * terms[-1] + terms[-2], x.number(terms[-1])
    for coefficient in terms[-3:0:-1]:
        last, before = y * last - before + coefficient, last
    tail = t * exp((y * last + terms[0]) * 0.5 - before - x * x)
    # Far out the exponent of the series is infinite less infinite.
    tail = where(size > 40.0, 0.0, tail)
    return where(size < 0.5, -erf(x) + 1.0, where(x < 0.0, -tail + 2.0, tail))


def polynomial(x: Term, coefficients: tuple[float, ...]) -> Term:
    """The value of a polynomial, the coefficient of the highest power first."""
    result = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        result = result * x + coefficient
    return result


_CENTRAL = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


@once
def erf_inverse(x: Term) -> Term:
    """The inverse of the error function, by Giles's two polynomials; of float64 with two steps of Newton's method."""
    w = -((-(x * x)).apply(ew.Log1pOp))
    near = polynomial(w - 2.5, _CENTRAL)
    far = polynomial(sqrt(maximum(w, 5.0)) - 3.0, _TAIL)
    result = where(w < 5.0, near, far) * x
    if x.dtype.itemsize > 4:
        for _ in range(2):
            result = result - (erf(result) - x) * exp(result * result) * (np.pi**0.5 / 2)
    return where(absolute(x).equal(1.0), x * float(np.inf), result)


_G = 7.0
_LANCZOS = (
    *(676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905),
    *(-0.13857109526572012, 9.984369578019572e-06, 1.5056327351493116e-07),
)
_BASE = 0.9999999999998099


def _is_pole(x: Term) -> Term:
    """True for 0 and whole numbers below it."""
    return (x <= 0.0) & x.equal(x.apply(ew.FloorOp))


@once
def log_gamma(x: Term) -> Term:
    """The logarithm of the gamma function's absolute value, by Lanczos's approximation; below 1/2 by reflection."""
    reflected = x < 0.5
    z = where(reflected, -x, x - 1.0)
    series = z.number(_BASE)
    for index, coefficient in enumerate(_LANCZOS):
        series = series + z.number(coefficient) / (z + float(index + 1))
    t = z + (_G + 0.5)
    value = (z + 0.5 - t / (log(z * (1 / (_G + 0.5)) + 1.0) + float(np.log(_G + 0.5)))) * (
        log(z * (1 / (_G + 0.5)) + 1.0) + float(np.log(_G + 0.5))
    )
    value = value + float(np.log(np.sqrt(2 * np.pi))) + log(series)
    fraction = absolute(x) - absolute(x).apply(ew.FloorOp)
    sine = (where(fraction > 0.5, -(fraction - 1.0), fraction) * float(np.pi)).apply(ew.SinOp)
    mirrored = -log(sine) + float(np.log(np.pi)) - value
    endless = x.apply(ew.IsInfOp) | _is_pole(x)
    return where(endless, np.inf, where(reflected, mirrored, value))


@once
def digamma(x: Term, infinite_at_zero: bool = False) -> Term:
    """The derivative of `log_gamma`, by the derivative of the same series; none at poles, but perhaps at 0."""
    reflected = x < 0.5
    z = where(reflected, -x, x - 1.0)
    above, below = z.number(0.0), z.number(_BASE)
    for index, coefficient in enumerate(_LANCZOS):
        term = z.number(coefficient) / (z + float(index + 1))
        below = below + term
        above = above - term / (z + float(index + 1))
    t = z + (_G + 0.5)
    value = log(t) + above / below - z.number(_G) / t
    angle = (x + absolute((x + 0.5).apply(ew.FloorOp))) * float(np.pi)
    mirrored = value - angle.apply(ew.CosOp) / angle.apply(ew.SinOp) * float(np.pi)
    at_pole = where(x.equal(0.0), -copysign(x.number(np.inf), x), np.nan) if infinite_at_zero else x.number(np.nan)
    return where(_is_pole(x), at_pole, where(x.equal(np.inf), x, where(reflected, mirrored, value)))
