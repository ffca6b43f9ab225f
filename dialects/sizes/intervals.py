"""Between which numbers a polynomial lies, for ranges of its symbols."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import TypeAlias

from .terms import Atom, Factors, Polynomial, common, constant, divided, number_of, plus, times

Range: TypeAlias = tuple[int | None, int | None]
"""Smallest and largest value, both included; None where there is no bound."""
Ranges: TypeAlias = "tuple[tuple[str, Range], ...]"

_SIZE: Range = (0, None)
_RELAXED = 3
"""The number of atoms that are replaced, one after the other, by what bounds them."""


def bounds(terms: Polynomial, ranges: Ranges) -> Range:
    """The range of a polynomial; a symbol that `ranges` lacks is 0 or more."""
    return _bounds(tuple(sorted(terms.items())), ranges, _RELAXED)


@lru_cache(maxsize=1 << 14)
def _bounds(items: tuple[tuple[Factors, int], ...], ranges: Ranges, relaxed: int) -> Range:
    terms: Polynomial = dict(items)
    if (number := number_of(terms)) is not None:
        return number, number
    low, high = _shifted(terms, ranges)
    if (factor := common(list(terms))) and len(terms) > 1:
        outside = _monomial(factor, ranges)
        inside = {rest: c for factors, c in items if (rest := divided(factors, factor)) is not None}
        low, high = _narrower((low, high), _times(outside, _bounds(tuple(sorted(inside.items())), ranges, relaxed)))
    if relaxed and (choices := _choices(terms)) is not None:
        kind, each = choices
        spans = [_bounds(tuple(sorted(choice.items())), ranges, relaxed - 1) for choice in each]
        low, high = _narrower((low, high), _extreme(kind, spans))
    if relaxed and (low is None or high is None or low < 0 <= high):
        for below, above, multiple in _relaxations(terms):
            if (
                below is not None
                and (least := _bounds(tuple(sorted(below.items())), ranges, relaxed - 1)[0]) is not None
            ):
                low = _greater(low, -(-least // multiple))
            if (
                above is not None
                and (most := _bounds(tuple(sorted(above.items())), ranges, relaxed - 1)[1]) is not None
            ):
                high = _less(high, most // multiple)
    return low, high


def _shifted(terms: Polynomial, ranges: Ranges) -> Range:
    """Bounds by counting each atom from its low: then every monomial is 0 or more."""
    spans = {atom: _atom(atom, ranges) for factors in terms for atom in factors}
    lows = {atom: low for atom, (low, _) in spans.items() if low}
    for factors in terms:
        if any(spans[atom][0] is None for atom in factors):
            return _apart(terms, ranges)
    moved: Polynomial = {}
    for factors, coefficient in terms.items():
        term = constant(coefficient)
        for atom in factors:
            term = times(term, plus({(atom,): 1}, constant(lows.get(atom, 0))))
        moved = plus(moved, term)
    low: int | None = moved.get((), 0)
    high: int | None = low
    for factors, coefficient in moved.items():
        top: int | None = 1
        for atom in factors:
            top = _product(top, _difference(spans[atom]))
        if factors and coefficient > 0:
            high = None if high is None or top is None else high + coefficient * top
        elif factors:
            low = None if low is None or top is None else low + coefficient * top
    return low, high


def _difference(span: Range) -> int | None:
    return None if span[0] is None or span[1] is None else span[1] - span[0]


def _apart(terms: Polynomial, ranges: Ranges) -> Range:
    """The sum of the ranges of the terms."""
    low: int | None = 0
    high: int | None = 0
    for factors, coefficient in terms.items():
        a, b = _times(_monomial(factors, ranges), (coefficient, coefficient))
        low = None if low is None or a is None else low + a
        high = None if high is None or b is None else high + b
    return low, high


def _monomial(factors: Factors, ranges: Ranges) -> Range:
    product: Range = (1, 1)
    for atom in factors:
        product = _times(product, _atom(atom, ranges))
    return product


def _times(a: Range, b: Range) -> Range:
    if a == (0, 0) or b == (0, 0):
        return 0, 0
    ends = [_end(x, y, i, j) for i, x in enumerate(a) for j, y in enumerate(b)]
    lows = [end for end in ends if end != _UP]
    highs = [end for end in ends if end != _DOWN]
    low = None if _DOWN in lows else min((end for end in lows if isinstance(end, int)), default=None)
    high = None if _UP in highs else max((end for end in highs if isinstance(end, int)), default=None)
    return low, high


_UP, _DOWN = "up", "down"


def _end(x: int | None, y: int | None, i: int, j: int) -> int | str:
    """The product of the ends `i` and `j` (0 the low one) of two ranges, of which None is without end."""
    if x is not None and y is not None:
        return x * y
    if x == 0 or y == 0:
        return 0
    signs = (-1 if (x is None and i == 0) or (x is not None and x < 0) else 1) * (
        -1 if (y is None and j == 0) or (y is not None and y < 0) else 1
    )
    return _UP if signs > 0 else _DOWN


def _product(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b


def _greater(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _less(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _narrower(a: Range, b: Range) -> Range:
    return _greater(a[0], b[0]), _less(a[1], b[1])


def _atom(atom: Atom, ranges: Ranges) -> Range:
    if not atom.kind:
        return next((span for name, span in ranges if name == atom.text), _SIZE)
    spans = [bounds(arg, ranges) for arg in atom.args]
    if atom.kind in ("min", "max"):
        return _extreme(atom.kind, spans)
    (low, high), (least, most) = spans
    if least is None or (most is not None and most <= 0):
        return None, None
    if least <= 0:
        least = 1  # nothing is divided by 0
        if spans[1][0] != 0:
            return None, None
    if atom.kind == "mod":
        top = None if most is None else most - 1
        return 0, _less(top, high if low is not None and low >= 0 else None)
    return _quotient_low(low, least, most), _quotient_high(high, least, most)


def _extreme(kind: str, spans: list[Range]) -> Range:
    """The range of the min or max of what lies in ranges."""
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    known_lows, known_highs = [n for n in lows if n is not None], [n for n in highs if n is not None]
    if kind == "min":
        return (min(known_lows) if len(known_lows) == len(lows) else None), min(known_highs, default=None)
    return max(known_lows, default=None), (max(known_highs) if len(known_highs) == len(highs) else None)


def _choices(terms: Polynomial) -> tuple[str, list[Polynomial]] | None:
    """Return what a polynomial is the `min` or `max` of, when a min or max is one of its terms."""
    for factors, coefficient in terms.items():
        if len(factors) == 1 and (atom := factors[0]).kind in ("min", "max"):
            rest = {other: c for other, c in terms.items() if other != factors}
            kind = atom.kind if coefficient > 0 else "max" if atom.kind == "min" else "min"
            return kind, [plus(rest, arg, coefficient) for arg in atom.args]
    return None


def _quotient_low(low: int | None, least: int, most: int | None) -> int | None:
    if low is None:
        return None
    if low < 0:
        return low // least
    return 0 if most is None else low // most


def _quotient_high(high: int | None, least: int, most: int | None) -> int | None:
    if high is None:
        return None
    if high >= 0:
        return high // least
    return -1 if most is None else high // most


def _relaxations(terms: Polynomial) -> list[tuple[Polynomial | None, Polynomial | None, int]]:
    """Polynomials nowhere above and nowhere below this one times a number, where an atom gave way to what bounds it."""
    relaxations: list[tuple[Polynomial | None, Polynomial | None, int]] = []
    for factors, coefficient in terms.items():
        if len(factors) != 1 or not (atom := factors[0]).kind:
            continue
        rest = {other: c for other, c in terms.items() if other != factors}
        if atom.kind in ("min", "max"):
            continue
        divisor = number_of(atom.args[1])
        if atom.kind == "floordiv" and divisor is not None and divisor > 0:
            whole = divisor // gcd(divisor, coefficient)
            share = coefficient * whole // divisor
            top = plus({other: c * whole for other, c in rest.items()}, atom.args[0], share)
            bottom = plus(top, constant(1 - divisor), share)
            relaxations.append((bottom, top, whole) if coefficient > 0 else (top, bottom, whole))
    return relaxations
