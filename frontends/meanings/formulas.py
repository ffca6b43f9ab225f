"""Functions of numbers that relay has no operator for, as arithmetic: for all formats, infinities and NaN included."""

from __future__ import annotations

from math import log as logarithm
from math import pi

import numpy as np

from ...dialects.relay import division, elementwise, logic
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ..importing.terms import Term, copysign, exp, is_nan, log, log1p, maximum, minimum, once, where


def degrees(x: Term) -> Term:
    return x * (180 / pi)


def radians(x: Term) -> Term:
    return x * (pi / 180)


@once
def log_add_exp(a: Term, b: Term) -> Term:
    """log(exp(a) + exp(b)), by the larger one and the difference, so that nothing overflows on the way."""
    larger, smaller = maximum(a, b), minimum(a, b)
    return where(a.equal(b), larger + logarithm(2), larger + log1p(exp(smaller - larger)))


@once
def log_add_exp2(a: Term, b: Term) -> Term:
    """`log_add_exp` to the base of 2."""
    larger, smaller = maximum(a, b), minimum(a, b)
    both = larger + log1p(exp((smaller - larger) * logarithm(2))) * (1 / logarithm(2))
    return where(a.equal(b), larger + 1.0, both)


def truncated_quotient(a: Term, b: Term) -> Term:
    """The quotient rounded towards zero."""
    return (a / b).apply(elementwise.TruncOp) if is_float(a.dtype) else a / b


@once
def floored_quotient(a: Term, b: Term) -> Term:
    """The quotient that belongs to `floored_remainder`, as Python's `//`: a whole number, of integers and of floats.

    `floor(a / b)`, which relay.floor_divide is, may be one more, as the quotient is rounded, and is 0 for 1 / -inf.
    """
    if not is_float(a.dtype):
        return a.apply(division.FloorDivideOp, b)
    rest = a.apply(division.TruncModOp, b)
    quotient = (a - rest) / b
    apart = (b < 0.0).apply(logic.LogicalXorOp, rest < 0.0)
    quotient = where(rest.apply(logic.NotEqualOp, 0.0) & apart, quotient - 1.0, quotient)
    whole = quotient.apply(elementwise.FloorOp)
    whole = where((quotient - whole) > 0.5, whole + 1.0, whole)
    plain = a / b
    return where(b.equal(0.0), plain, where(quotient.equal(0.0), copysign(quotient.number(0.0), plain), whole))


def floored_remainder(a: Term, b: Term) -> Term:
    """The rest of a division downwards, with the sign of the divisor."""
    return a.apply(division.FloorModOp, b)


def quotient_or_zero(a: Term, b: Term) -> Term:
    """a / b; 0 where `b` is 0, whatever `a` is."""
    none = b.equal(0.0)
    return where(none, 0.0, a / where(none, 1.0, b))


def signed(x: Term) -> Term:
    """True where the sign is set: of numbers below 0, and of -0 and NaN with a sign."""
    if not is_float(x.dtype):
        return (x.to("int64") if x.dtype.kind == "b" else x) < 0
    return copysign(x.apply(elementwise.OnesLikeOp), x) < 0.0


def step(x: Term, at_zero: Term) -> Term:
    """0 below 0 and 1 above, in between a value; NaN stays."""
    beside = where(x < 0.0, 0.0, where(x > 0.0, 1.0, x))
    return where(x.equal(0.0), at_zero, beside)


def of_numbers(op: type[Operator], a: Term, b: Term) -> Term:
    """The larger or the smaller one; beside NaN the number."""
    if not is_float(a.dtype):
        return a.apply(op, b)
    return where(is_nan(a), b, where(is_nan(b), a, a.apply(op, b)))


def next_after(x: Term, y: Term) -> Term:
    """The float beside `x` on the way to `y`, by its bits, which count up away from 0."""
    integer = f"int{8 * x.dtype.itemsize}"
    bits = x.apply(elementwise.ReinterpretOp, dtype=integer)
    inward = (y > x).apply(logic.LogicalXorOp, x > 0.0)
    least = where(y > 0.0, bits.number(1), int(np.iinfo(integer).min) + 1)
    moved = where(x.equal(0.0), least, where(inward, bits - 1, bits + 1))
    beside = moved.apply(elementwise.ReinterpretOp, dtype=x.dtype.name)
    return where(x.equal(y), y, where(is_nan(x) | is_nan(y), np.nan, beside))


@once
def ldexp(x: Term, exponent: Term) -> Term:
    """x times a power of 2, which may overflow before."""
    return x * exponent.number(2.0).apply(elementwise.PowerOp, exponent)


@once
def sinc(x: Term) -> Term:
    """sin(pi x) / (pi x), and 1 where that is 0 / 0, as the product may be of a small x, too."""
    angle = x * pi
    none = angle.equal(0.0)
    return where(none, 1.0, angle.apply(elementwise.SinOp) / where(none, 1.0, angle))


@once
def times_log(x: Term, y: Term, nan: bool) -> Term:
    """x log(y); 0 where `x` is 0, whatever `y` is, or with `nan` whatever number."""
    return _where_not_zero(x, y, x * log(y), nan)


@once
def times_log1p(x: Term, y: Term, nan: bool) -> Term:
    """x log(1 + y); 0 as in `times_log`."""
    return _where_not_zero(x, y, x * log1p(y), nan)


def _where_not_zero(x: Term, y: Term, product: Term, nan: bool) -> Term:
    none = x.equal(0.0)
    if nan:
        none = none & ~is_nan(y)
    return where(none, 0.0, product)
