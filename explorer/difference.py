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
    """The index of the error."""
    right: bool
    steps: int = 0
    """The number of elements that differ, of quantised values; 0 of others."""

    @property
    def relative(self) -> float:
        """The error as a part of the largest number of the reference."""
        return self.error / self.scale if self.scale else (0.0 if not self.error else float("inf"))

    def __str__(self) -> str:
        if self.steps:
            elements = "1 element" if self.steps == 1 else f"{self.steps} elements"
            return f"{self.error:.0f} step{'s' if self.error > 1 else ''} in {elements}"
        return f"{self.error:.3g} absolute, {self.relative:.3g} relative"


def is_quantised(array: Array) -> bool:
    """Return whether an array has integers of 8 or 16 bits, which stand for steps of a scale."""
    return array.dtype.kind in "iu" and array.dtype.itemsize < 4


def tolerance(expected: Array, scale: float, rtol: float = RTOL, atol: float = ATOL, *, step: bool = False) -> float:
    """Return how far from a reference, whose largest number is `scale`, values may be; step: quantised ones by one."""
    return 1.0 if step and is_quantised(expected) else atol + rtol * scale


def difference(
    actual: Array, expected: Array, rtol: float = RTOL, atol: float = ATOL, *, step: bool = False
) -> Difference:
    """Compare arrays of one shape. Differences are measured against the largest number of the reference.

    step: whether quantised values may differ by one, as runtimes round halves differently.
    """
    a, b = actual.astype(np.float64), cast("npt.NDArray[Any]", expected.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        gap = np.where(same, 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max(initial=0.0))
    error = float(gap.max(initial=0.0))
    position = np.unravel_index(int(gap.argmax()), gap.shape) if gap.size else ()
    right = error <= tolerance(expected, scale, rtol, atol, step=step)
    steps = int(np.count_nonzero(gap)) if is_quantised(expected) else 0
    return Difference(error, scale, tuple(map(int, position)), right, steps)
