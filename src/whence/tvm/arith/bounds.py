"""Intervals of integers through operators; an end of `FAR` and beyond is infinite."""

from __future__ import annotations

from collections.abc import Callable

from whence.dialects.affine import FAR
from whence.support.dtypes import bits, is_unsigned

Ends = tuple[int, int]
ALL: Ends = (-FAR, FAR)


def of_dtype(dtype: str) -> Ends:
    """The numbers that a dtype of integers has; those of 64 bits count as infinite."""
    if dtype == "bool":
        return 0, 1
    width = bits(dtype)
    if width >= 64:
        return (0, FAR) if is_unsigned(dtype) else ALL
    return (0, (1 << width) - 1) if is_unsigned(dtype) else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def hull(a: Ends, b: Ends) -> Ends:
    """The least interval with both."""
    return min(a[0], b[0]), max(a[1], b[1])


def met(a: Ends, b: Ends) -> Ends:
    """The numbers that are in both; `b` where there are none."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else b


def of_binary(op: str, a: Ends, b: Ends) -> Ends:
    """Return the interval of the results of an operator, as far as those of its operands tell.

    Divisors are not zero: a program that divides by it has no result.
    """
    rule = _RULES.get(op)
    return ALL if rule is None else _clamped(rule(a, b))


def _clamped(ends: Ends) -> Ends:
    return max(ends[0], -FAR), min(ends[1], FAR)


def _infinite(*ends: Ends) -> bool:
    return any(low <= -FAR or high >= FAR for low, high in ends)


def _product(a: Ends, b: Ends) -> Ends:
    products = [_times(x, y) for x in a for y in b]
    return min(products), max(products)


def _times(x: int, y: int) -> int:
    # An infinite end times 0 is 0: it is no number itself.
    return max(-FAR, min(FAR, x * y))


def _quotient(divide: Callable[[int, int], int]) -> Callable[[Ends, Ends], Ends]:
    def rule(a: Ends, b: Ends) -> Ends:
        # The largest quotients are those by the divisors nearest to 0.
        divisors = [d for d in (b[0], b[1], -1, 1) if d and b[0] <= d <= b[1]]
        if not divisors:
            return ALL
        if _infinite(a) and (b[0] < 0 < b[1]):
            return ALL
        quotients = [
            x if abs(x) >= FAR and d > 0 else -x if abs(x) >= FAR else divide(x, d) for x in a for d in divisors
        ]
        return min(quotients), max(quotients)

    return rule


def truncated(x: int, y: int) -> int:
    """The quotient rounded towards 0."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _floored_rest(a: Ends, b: Ends) -> Ends:
    low, high = (b[0] + 1 if -FAR < b[0] < 0 else min(b[0], 0)), (b[1] - 1 if 0 < b[1] < FAR else max(b[1], 0))
    if b[0] < 0 or a[0] < 0:
        return low, high
    return a if a[1] < b[0] else (0, min(high, a[1]))


def _truncated_rest(a: Ends, b: Ends) -> Ends:
    most = max(abs(b[0]), abs(b[1])) - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _shifted_right(a: Ends, b: Ends) -> Ends:
    if b[0] < 0:
        return ALL
    ends = [x if abs(x) >= FAR else x >> min(y, 64) for x in a for y in b]
    return min(ends), max(ends)


def _shifted_left(a: Ends, b: Ends) -> Ends:
    if b[0] < 0 or b[1] > 64:
        return ALL
    return _product(a, (1 << b[0], 1 << b[1]))


def _and(a: Ends, b: Ends) -> Ends:
    if a[0] >= 0 and b[0] >= 0:
        return 0, min(a[1], b[1])
    if a[0] >= 0 or b[0] >= 0:
        return 0, a[1] if a[0] >= 0 else b[1]
    return ALL


def _or(a: Ends, b: Ends) -> Ends:
    if a[0] < 0 or b[0] < 0 or _infinite(a, b):
        return ALL
    return max(a[0], b[0]), (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def _xor(a: Ends, b: Ends) -> Ends:
    low, high = _or(a, b)
    return (0, high) if low >= 0 else ALL


_RULES: dict[str, Callable[[Ends, Ends], Ends]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "floordiv": _quotient(lambda x, y: x // y),
    "truncdiv": _quotient(truncated),
    "div": _quotient(truncated),
    "floormod": _floored_rest,
    "truncmod": _truncated_rest,
    "shr": _shifted_right,
    "shl": _shifted_left,
    "and": _and,
    "or": _or,
    "xor": _xor,
}
