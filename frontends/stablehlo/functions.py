"""Functions of floats that several operators compute."""

from __future__ import annotations

import numpy as np

from ...dialects.relay import elementwise as ew
from ..importing.terms import Term, absolute, exp, log, maximum, sqrt, where


def exp_minus_one(x: Term) -> Term:
    """exp(x) - 1; near 0 from a hyperbolic tangent, where the difference would lose digits."""
    half = (x * 0.5).apply(ew.TanhOp)
    return where(absolute(x) < 0.5, half * 2.0 / (-half + 1.0), exp(x) - 1.0)


def cube_root(x: Term) -> Term:
    return x.apply(ew.SignOp) * absolute(x).apply(ew.PowerOp, 1 / 3)


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


def erf_inverse(x: Term) -> Term:
    """The inverse of the error function, in single precision, by Giles's two polynomials."""
    w = -((-(x * x)).apply(ew.Log1pOp))
    near = polynomial(w - 2.5, _CENTRAL)
    far = polynomial(sqrt(maximum(w, 5.0)) - 3.0, _TAIL)
    result = where(w < 5.0, near, far) * x
    return where(absolute(x).equal(1.0), x * float(np.inf), result)


_G = 7.0
_LANCZOS = (
    *(676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905),
    *(-0.13857109526572012, 9.984369578019572e-06, 1.5056327351493116e-07),
)
_BASE = 0.9999999999998099


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
    return where(reflected, mirrored, value)


def digamma(x: Term) -> Term:
    """The derivative of `log_gamma`, by the derivative of the same series."""
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
    return where(reflected, mirrored, value)
