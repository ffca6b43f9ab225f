"""Sizes that differ from call to call, as symbols; what has to be equal for the operators is found as they are met."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from .size_bounds import Range
from .sizes import RESERVED, Size, SizeExpr, common_range, evaluate, range_for, same, substitute, symbol, symbols_of


class Unknowns:
    """Extents of which each is a number, or an unknown and a number that is added to it.

    terms: of each extent the number of its unknown, -1 without one, and what is added.
    met: the extents of one case; names: what each may be called.
    """

    def __init__(self, terms: Sequence[tuple[int, int]], met: Sequence[int], names: Sequence[str]):
        called: dict[int, str] = {}
        self.values: dict[str, int] = {}
        """Those of the symbols, in that case."""
        for (number, added), extent, name in zip(terms, met, names, strict=True):
            if number >= 0 and number not in called:
                called[number] = _identifier(name, self.values)
                self.values[called[number]] = extent - added
        self.sizes: list[Size] = [added if number < 0 else symbol(called[number]) + added for number, added in terms]
        """The extents."""
        self.ranges: dict[str, Range] = {}
        """Between what the symbols have to lie."""
        self.narrowed = False
        """Whether sizes are not only as the terms say."""

    def narrow(self, equal: tuple[Size, Size] | None) -> bool:
        """Take two sizes to be equal, of which nothing tells it, if they are in the case that there is; whether so."""
        if equal is None:
            return False
        needed = range_for(*equal)
        if needed is not None:
            name, limits = needed
            common = common_range(self.ranges.get(name, (0, None)), limits)
            if common is not None and common != self.ranges.get(name) and _inside(self.values[name], common):
                self.ranges[name] = common
                self.narrowed = True
                return True
        found = _solved(*equal, self.values)
        if found is None:
            return False
        self.sizes = [substitute(size, found) for size in self.sizes]
        self.narrowed = True
        return True


def _identifier(name: str, taken: Mapping[str, int]) -> str:
    plain = re.sub(r"\W", "_", name)
    plain = plain if plain.isidentifier() and plain not in RESERVED else f"_{plain}"
    return next(text for k in count() if (text := f"{plain}_{k}" if k else plain) not in taken)


def _inside(value: int, limits: Range) -> bool:
    low, high = limits
    return (low is None or low <= value) and (high is None or value <= high)


def _solved(first: Size, second: Size, values: Mapping[str, int]) -> dict[str, Size] | None:
    """What a symbol has to be for two sizes to be equal, if it is that for `values`."""
    difference = first - second
    for name in symbols_of(difference):
        rest = difference - symbol(name)
        for found in (-rest, rest + 2 * symbol(name)):
            if not isinstance(found, SizeExpr) or name in symbols_of(found) or evaluate(found, values) != values[name]:
                continue
            if same(substitute(first, {name: found}), substitute(second, {name: found})):
                return {name: found}
    return None
