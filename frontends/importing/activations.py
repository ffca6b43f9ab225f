"""Activations that relay has no operator for, as arithmetic, which fuses into one kernel."""

from __future__ import annotations

from math import pi, sqrt

from .context import Context
from .terms import Term, absolute, erf, exp, log1p, maximum, tanh


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
