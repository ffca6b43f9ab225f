"""Functions of one number of 8 bits that are straight lines, or two of them, in integers: `(x * a + b) >> k`.

Vectors of such arithmetic are much faster than loads from a table, and as exact: a line is one only if it gives every
number that the table has. Kernels that round twice, or halves away from 0, have one on each side of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.logic import GreaterEqualOp, RightShiftOp
from ...dialects.relay.numerics import AnyArray
from ...support.dtypes import limits
from ..importing.terms import Term, where

_SHIFTS = range(2, 20)
_LARGEST = 1 << 15
"""Products of numbers of 16 bits are one instruction."""


@dataclass(frozen=True)
class Side:
    """The function before it is rounded: the slopes that fit, and what limits the start for one of them."""

    x: AnyArray
    y: AnyArray
    low: int
    high: int

    def slopes(self) -> tuple[float, float]:
        """The bounds, themselves outside, of the slopes for which there is a start.

        What a line gives before it is rounded is at least y where y is above the lower bound, and less than y + 1 where
        y is below the upper one. Some start does for a slope if it does for each two points.
        """
        dx, dy = self.x[None, :] - self.x[:, None], self.y[None, :] - self.y[:, None]
        later, above, below = dx > 0, self.y > self.low, self.y < self.high
        rises, falls = later & above[None, :] & below[:, None], later & below[None, :] & above[:, None]
        least = np.max((dy[rises] - 1) / dx[rises], initial=-_LARGEST)
        return float(least), float(np.min((dy[falls] + 1) / dx[falls], initial=_LARGEST))

    def start(self, slope: int, bits: int) -> int | None:
        """Of the line of a slope, if there is one."""
        begin, end = (self.y << bits) - self.x * slope, ((self.y + 1) << bits) - 1 - self.x * slope
        least, most = begin[self.y > self.low], end[self.y < self.high]
        if not least.size or not most.size:
            return int(least.max() if least.size else most.min()) if least.size or most.size else 0
        return int(least.max() + most.min()) // 2 if least.max() <= most.min() else None


@dataclass(frozen=True)
class Line:
    """`(x * slope + start) >> bits`, with another start before `bend`, then cut off at bounds."""

    slope: int
    start: int
    before: int
    bend: int
    bits: int

    def numbers(self, x: AnyArray) -> AnyArray:
        return (x * self.slope + np.where(x >= self.bend, self.start, self.before)) >> self.bits

    def term(self, x: Term) -> Term:
        """Of integers that hold what comes between."""
        if self.start == self.before:
            return (x * self.slope + self.start).apply(RightShiftOp, self.bits)
        start = where(x.apply(GreaterEqualOp, self.bend), x.number(self.start), x.number(self.before))
        return (x * self.slope + start).apply(RightShiftOp, self.bits)

    def fits(self, dtype: str, x: AnyArray) -> bool:
        low, high = limits(dtype)
        largest = max(abs(int(n)) for n in (x[0], x[-1])) * abs(self.slope)
        return low <= min(self.start, self.before) - largest and max(self.start, self.before) + largest <= high


@dataclass(frozen=True)
class Lines:
    """A line, or two on the two sides of the bend, cut off at bounds."""

    first: Line
    second: Line | None
    low: int
    high: int

    def numbers(self, x: AnyArray) -> AnyArray:
        numbers = self.first.numbers(x)
        if self.second is not None:
            numbers = np.where(x >= self.first.bend, self.second.numbers(x), numbers)
        return np.clip(numbers, self.low, self.high)

    def value(self, x: Term, numbers: AnyArray, dtype: str) -> SSAValue:
        """Of x, which may hold `numbers`, in another dtype."""
        lines = [self.first] if self.second is None else [self.first, self.second]
        wide = x.to("int16" if all(line.fits("int16", numbers) for line in lines) else "int32")
        result = self.first.term(wide)
        if self.second is not None:
            result = where(wide.apply(GreaterEqualOp, self.first.bend), self.second.term(wide), result)
        return result.clip(float(self.low), float(self.high)).to(dtype).value


def lines_of(x: AnyArray, y: AnyArray, bend: int) -> Lines | None:
    """Return lines that give the number y[i] for each x[i], both int64 and x in order; None if there are none.

    bend: where the second line begins, if one does not do.
    """
    low, high = int(y.min()), int(y.max())
    at = int(np.searchsorted(x, bend))
    sides = [Side(x[part], y[part], low, high) for part in (slice(None, at), slice(at, None)) if len(x[part])]
    for parts in ([Side(x, y, low, high)], sides):
        if (line := _line(parts, bend)) is not None:
            return Lines(line, None, low, high)
    if len(sides) == 1:
        return None
    first, second = (_line([side], bend) for side in sides)
    return None if first is None or second is None else Lines(first, second, low, high)


def _line(sides: list[Side], bend: int) -> Line | None:
    """The line with the fewest bits that both sides of a bend share but for the start."""
    bounds = [side.slopes() for side in sides]
    least, most = max(low for low, _ in bounds), min(high for _, high in bounds)
    for bits in _SHIFTS:
        slope = int(np.floor((least + most) / 2 * (1 << bits) + 0.5))
        if not least < slope / (1 << bits) < most:
            continue
        if abs(slope) >= _LARGEST:
            return None
        starts = [side.start(slope, bits) for side in sides]
        if starts[0] is not None and starts[-1] is not None:
            return Line(slope, starts[-1], starts[0], bend, bits)
    return None
