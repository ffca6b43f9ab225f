"""Sizes among floats: what a model divides before it rounds, `ceil(n / 2)`.

Floats hold sizes and small fractions as they are. A number divided by whole numbers, once or more, is rounded to the
same size as the exact quotient is. Other products and sums are inexact, and are left to floats.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TypeAlias

from .decisions import compared, truncated
from .expr import Size, SizeExpr, same, size_max, size_min

_MOST = 32
"""Factors are fractions whose parts are smaller: sizes up to half a million times that are exact in float32."""


@dataclass(frozen=True)
class Quotient:
    """A size divided by a number above 1, not rounded yet."""

    dividend: Size
    divisor: int

    def __float__(self) -> float:
        return operator.index(self.dividend) / self.divisor

    @property
    def exact(self) -> bool:
        """Return whether a float has just this value."""
        return self.divisor & (self.divisor - 1) == 0

    @property
    def is_open(self) -> bool:
        """Return whether a call decides it."""
        return isinstance(self.dividend, SizeExpr)


Real: TypeAlias = "Size | Quotient"


def real(number: float) -> Real | None:
    """Return a float as a whole number or a small fraction; None where it is neither."""
    if number != number or abs(number) >= 1 << 24:
        return None
    dividend, divisor = number.as_integer_ratio()
    return quotient(dividend, divisor) if divisor == 1 or max(abs(dividend), divisor) < _MOST else None


def quotient(dividend: Size, divisor: int) -> Real:
    """Return a size divided by a number of at least 1."""
    return dividend // divisor if same(dividend % divisor, 0) else Quotient(dividend, divisor)


def _parts(*values: Real) -> tuple[list[Size], int]:
    """Return the dividends of values over one divisor, and that."""
    divisors = [value.divisor if isinstance(value, Quotient) else 1 for value in values]
    whole = max(divisors)
    if any(whole % divisor for divisor in divisors):
        for divisor in divisors:
            whole *= divisor if whole % divisor else 1
    dividends = [value.dividend if isinstance(value, Quotient) else value for value in values]
    return [size * (whole // divisor) for size, divisor in zip(dividends, divisors, strict=True)], whole


def plus(a: Real, b: Real) -> Real | None:
    """Return a sum; None where floats may not have it."""
    if isinstance(a, Quotient) and isinstance(b, Quotient) and not (a.exact and b.exact):
        return None
    (x, y), divisor = _parts(a, b)
    return quotient(x + y, divisor)


def negated(a: Real) -> Real:
    return Quotient(-a.dividend, a.divisor) if isinstance(a, Quotient) else -a


def minus(a: Real, b: Real) -> Real | None:
    return plus(a, negated(b))


def times(a: Real, b: Real) -> Real | None:
    """Return a product with a small number; None where floats may not have it."""
    if any(isinstance(value, Quotient) and not value.exact for value in (a, b)):
        return None
    (x, y), divisor = _parts(a, b)
    if not any(isinstance(factor, int) and abs(factor) < _MOST * divisor for factor in (x, y)):
        return None
    return quotient(x * y, divisor * divisor)


def divided(a: Real, b: Real) -> Real | None:
    """Return `a / b` for a number above 0; None for another divisor."""
    if isinstance(b, Quotient) and isinstance(b.dividend, int) and b.dividend == 1:
        return times(a, b.divisor)
    if not isinstance(b, int) or not 0 < b < 1 << 24:
        return None
    return quotient(a.dividend, a.divisor * b) if isinstance(a, Quotient) else quotient(a, b)


def greatest(a: Real, b: Real) -> Real:
    (x, y), divisor = _parts(a, b)
    return quotient(size_max(x, y), divisor)


def least(a: Real, b: Real) -> Real:
    (x, y), divisor = _parts(a, b)
    return quotient(size_min(x, y), divisor)


def relation(a: Real, sign: str, b: Real) -> Size:
    """Return whether `a sign b`, as `compared` does of sizes."""
    (x, y), _ = _parts(a, b)
    return compared(x, sign, y)


def floor(a: Real) -> Size:
    return a.dividend // a.divisor if isinstance(a, Quotient) else a


def ceil(a: Real) -> Size:
    return (a.dividend + a.divisor - 1) // a.divisor if isinstance(a, Quotient) else a


def whole(a: Real) -> Size | None:
    """Return the size towards zero."""
    return truncated(a.dividend, a.divisor) if isinstance(a, Quotient) else a
