"""Sizes that differ from call to call, as symbols; what has to be equal for the operators is found as they are met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm

from .expr import (
    Size,
    SizeExpr,
    common_range,
    decide,
    evaluate,
    known_ranges,
    range_for,
    same,
    substitute,
    symbol,
    symbols_of,
)
from .intervals import Range
from .terms import names_in, number_of
from .text import identifier


class Unknowns:
    """Extents of which each is a number, or an unknown and a number that is added to it.

    terms: of each extent the number of its unknown, -1 without one, and what is added.
    met: the extents of one case; names: what each may be called.
    """

    def __init__(self, terms: Sequence[tuple[int, int]], met: Sequence[int], names: Sequence[str]):
        called: dict[int, str] = {}
        self.values: dict[str, int] = {}
        """The values of the symbols in that case."""
        for (number, added), extent, name in zip(terms, met, names, strict=True):
            if number >= 0 and number not in called:
                called[number] = identifier(name, self.values)
                self.values[called[number]] = extent - added
        self.sizes: list[Size] = [added if number < 0 else symbol(called[number]) + added for number, added in terms]
        """The extents."""
        self.ranges: dict[str, Range] = {}
        """Between what the symbols have to lie."""
        self.narrowed = False
        """True if sizes are not only as the terms say."""

    @property
    def decided(self) -> bool:
        """Return whether all of them are numbers by now."""
        return not any(isinstance(size, SizeExpr) for size in self.sizes)

    def narrow(self, equal: tuple[Size, Size] | None) -> bool:
        """Take two sizes to be equal, of which nothing tells it, if they are in the case that there is; whether so.

        Where nothing else can be said of them, a symbol is bounded to values for which they are, or are not, as there.
        """
        try:
            return equal is not None and self._take_equal(*equal)
        except ZeroDivisionError:  # a quotient by what is nothing in this case
            return False

    def _take_equal(self, first: Size, second: Size) -> bool:
        """Do the part of `narrow` for two sizes; raises ZeroDivisionError."""
        needed = range_for(first, second)
        if needed is not None:
            name, limits = needed
            common = common_range(self.ranges.get(name, (0, None)), limits)
            if common is not None and common != self.ranges.get(name) and _inside(self.values[name], common):
                self.ranges[name] = common
                self.narrowed = True
                return True
        values = _solved(first, second, self.values) or self._paired(first, second) or self._ones(first, second)
        if values is None:
            if self._of_multiples(first, second) or self._around(first, second):
                return True
            values = self._fixed(first, second)
        if values is None:
            return False
        self.sizes = [substitute(size, values) for size in self.sizes]
        self.narrowed = True
        return True

    def _paired(self, first: Size, second: Size) -> dict[str, Size] | None:
        """For symbols of one size those of another that have their values, if the sizes are equal then."""
        left = [name for name in symbols_of(first) if name not in symbols_of(second)]
        equal: dict[str, Size] = {}
        for name in symbols_of(second):
            other = next((twin for twin in left if self.values[twin] == self.values[name]), None)
            if name not in symbols_of(first) and other is not None:
                left.remove(other)
                equal[name] = symbol(other)
        return equal if equal and same(substitute(first, equal), substitute(second, equal)) else None

    def _ones(self, *sizes: Size) -> dict[str, Size] | None:
        """The number 1 for a symbol that is that, as an extent is that broadcasts."""
        return {str(size): 1 for size in sizes if self.values.get(str(size)) == 1} or None

    def _fixed(self, first: Size, second: Size) -> dict[str, Size] | None:
        """The number for a symbol that makes two sizes equal by itself: an exporter that met a batch of 1 wrote it."""
        for name in sorted(symbols_of(first - second), key=lambda name: self.values[name] != 1):
            values: dict[str, Size] = {name: self.values[name]}
            if same(substitute(first, values), substitute(second, values)):
                return values
        return None

    def _of_multiples(self, first: Size, second: Size) -> bool:
        """Take symbols to be multiples of what they are divided by, if two sizes are equal then: whether so.

        So `32 * (h floordiv 32)` is `h`, as maps of several scales want it that are added up.
        """
        multiples = {
            name: factor * symbol(name)
            for name, factor in _divisors(first - second).items()
            if self.values[name] % factor == 0 and self.ranges.get(name, (0, None)) == (0, None)
        }
        if not multiples or not same(substitute(first, multiples), substitute(second, multiples)):
            return False
        for name, size in multiples.items():
            self.values[name] //= evaluate(size, {name: 1})
        self.sizes = [substitute(size, multiples) for size in self.sizes]
        self.narrowed = True
        return True

    def _around(self, first: Size, second: Size) -> bool:
        """Bound the only symbol of two sizes to values around its own for all of which they are equal, or none.

        Whether it was not yet, and there are others than its own.
        """
        names = symbols_of(first - second)
        if len(names) != 1:
            return False
        (name,), value = names, self.values[names[0]]
        bounds = self.ranges.get(name, (0, None))

        def decided(low: int, high: int | None) -> bool:
            with known_ranges({**self.ranges, name: (low, high)}):
                return decide(first, "==", second) is not None

        high = bounds[1]
        if not decided(value, high):
            high = value + _farthest(lambda step: decided(value, value + step), _FAR if high is None else high - value)
        low = value - _farthest(lambda step: decided(value - step, high), value - (bounds[0] or 0))
        if low == high or (low, high) == bounds:
            return False
        self.ranges[name] = low, high
        self.narrowed = True
        return True


_FAR = 1 << 20
"""The distance from its value at which a symbol is bounded."""


def _farthest(holds: Callable[[int], bool], most: int) -> int:
    """The largest step up to `most` that holds, where each one holds if a larger one does; 0 where none does."""
    step = 1
    while step <= most and holds(step):
        step *= 2
    below, above = step // 2, min(step, most + 1)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if holds(middle) else (below, middle)
    return below


def _inside(value: int, limits: Range) -> bool:
    low, high = limits
    return (low is None or low <= value) and (high is None or value <= high)


def _divisors(size: Size) -> dict[str, int]:
    """Symbol -> the least number that is divided by all numbers by which something with the symbol is divided."""
    divisors: dict[str, int] = {}
    stack = [] if isinstance(size, int) else [size.terms]
    while stack:
        for factors in stack.pop():
            for atom in factors:
                stack += atom.args
                if atom.kind in ("floordiv", "mod") and (divisor := number_of(atom.args[1])):
                    for name in names_in(atom.args[0]):
                        divisors[name] = lcm(divisors.get(name, 1), divisor)
    return divisors


def _solved(first: Size, second: Size, values: Mapping[str, int]) -> dict[str, Size] | None:
    """Return what a symbol has to be for two sizes to be equal, if it is that for `values`."""
    difference = first - second
    for name in symbols_of(difference):
        rest = difference - symbol(name)
        for solution in (-rest, rest + 2 * symbol(name)):
            if (
                not isinstance(solution, SizeExpr)
                or name in symbols_of(solution)
                or evaluate(solution, values) != values[name]
            ):
                continue
            if same(substitute(first, {name: solution}), substitute(second, {name: solution})):
                return {name: solution}
    return None
