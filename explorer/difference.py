"""The difference of an array from what it should be, whatever the layout it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..support.dtypes import Array

RTOL, ATOL = 1e-3, 1e-6
"""Tolerances: differences up to this part of the reference's largest number, and up to this number, are allowed."""


@dataclass(frozen=True)
class Difference:
    """An array against its reference."""

    error: float
    """The largest absolute difference; inf where one is NaN and the other is not."""
    scale: float
    """The largest absolute number of the reference."""
    index: tuple[int, ...]
    """Where the error is."""
    right: bool

    @property
    def relative(self) -> float:
        """The error as a part of the largest number of the reference."""
        return self.error / self.scale if self.scale else (0.0 if not self.error else float("inf"))

    def __str__(self) -> str:
        return f"{self.error:.3g} absolute, {self.relative:.3g} relative"


def difference(found: Array, expected: Array, rtol: float = RTOL, atol: float = ATOL) -> Difference:
    """Compare arrays of one shape. Differences are measured against the largest number of the reference."""
    a, b = found.astype(np.float64), cast("npt.NDArray[Any]", expected.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        gap = np.where(same, 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max(initial=0.0))
    error = float(gap.max(initial=0.0))
    position = np.unravel_index(int(gap.argmax()), gap.shape) if gap.size else ()
    return Difference(error, scale, tuple(map(int, position)), error <= atol + rtol * scale)
