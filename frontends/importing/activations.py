"""Activations that relay has no operator for, as arithmetic, which fuses into one kernel."""

from __future__ import annotations

from math import pi, sqrt

from .context import Context
from .terms import Term, absolute, erf, exp, expm1, log1p, maximum, minimum, tanh, where


def gelu(ctx: Context, x: Term, approximate: str) -> Term:
    """The form that an attribute `approximate` asks for."""
    match approximate:
        case "none":
            return gelu_erf(x)
        case "tanh":
            return gelu_tanh(x)
        case other:
            ctx.fail("approximate 'none' or 'tanh'", repr(other))


def gelu_erf(x: Term) -> Term:
    """x times the part of a normal distribution that lies below it."""
    return x * 0.5 * (erf(x * sqrt(0.5)) + 1.0)


def gelu_tanh(x: Term) -> Term:
    """`gelu_erf` by its approximation."""
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * sqrt(2 / pi)) + 1.0)


def logarithm_of_1_and_exp(x: Term) -> Term:
    """log(1 + exp(x)), right where exp(x) is infinite and where it is nothing beside 1."""
    return maximum(x, 0.0) + log1p(exp(-absolute(x)))


def log_sigmoid(x: Term) -> Term:
    """log(sigmoid(x)), right where the sigmoid is 0."""
    return minimum(x, 0.0) - log1p(exp(-absolute(x)))


def elu(x: Term, alpha: float = 1.0) -> Term:
    """x above 0, alpha (exp(x) - 1) below; the minimum keeps an infinite power out of the gradient."""
    return where(x > 0.0, x, expm1(minimum(x, 0.0)) * alpha)


def celu(x: Term, alpha: float = 1.0) -> Term:
    """`elu` whose slope at 0 is 1 for every alpha."""
    return where(x > 0.0, x, expm1(minimum(x, 0.0) / alpha) * alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def selu(x: Term, alpha: float = SELU_ALPHA, scale: float = SELU_SCALE) -> Term:
    return elu(x, alpha) * scale


def hard_shrink(x: Term, bound: float) -> Term:
    """0 within `bound` of 0; NaN stays."""
    return where(absolute(x) <= bound, 0.0, x)


def soft_shrink(x: Term, bound: float) -> Term:
    """Towards 0 by `bound`, to 0 within it; NaN stays."""
    return where(x > bound, x - bound, where(x < -bound, x + bound, x * 0.0))
