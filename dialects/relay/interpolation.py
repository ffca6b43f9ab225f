"""The resizing of axes whose extents only a call may know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ...runtime.interpreting.images import AxisResizing
from ..sizes import Size, SizeExpr, ceil_div, same, size_max


@dataclass(frozen=True)
class Resizing(AxisResizing):
    """The way one axis is resized, where extents may be sizes that only a call knows."""

    ratio: tuple[int, int] | None = None
    """The scale as a ratio of two sizes; None for that of the new extent to the old one."""

    @property
    def open(self) -> bool:
        """Return whether only a call knows the extents."""
        return isinstance(self.extent, SizeExpr) or isinstance(self.size, SizeExpr)

    @property
    def identical(self) -> bool:
        """Return whether the axis stays as it is."""
        return same(self.size, self.extent) and self.scale in (None, 1) and self.ratio is None and self.whole

    @property
    def before(self) -> Size:
        """Return how many of the elements that count lie left of a coordinate, at most; as many lie to the right."""
        if not self.antialias or not self.reach:
            return self.reach
        if self.scale is not None:
            return math.ceil(self.reach / min(self.scale, 1.0))
        more, less = self.ratio or (self.size, self.extent)
        return size_max(ceil_div(self.reach * less, size_max(more, 1)), self.reach)


def quotient(size: int, extent: int) -> float | None:
    """The scale that makes an extent a size; None where only a call knows it."""
    if isinstance(size, SizeExpr) or isinstance(extent, SizeExpr):
        times = size // extent if isinstance(size, SizeExpr) and isinstance(extent, SizeExpr) else None
        return float(times) if isinstance(times, int) and same(extent * times, size) else None
    return size / max(1, extent)


def scaled(extent: int, scale: float) -> int:
    """The whole part of the product with a scale that a float32 holds; the extent may be one that only a call knows."""
    ratio = Fraction(scale)
    return extent * ratio.numerator // ratio.denominator
