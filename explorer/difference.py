"""The difference of an array from what it should be, whatever the layout it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..runtime.layouts import layout_view, parse_layout
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


def in_shape(found: Array, shape: tuple[int, ...], layout: str = "", plain: str = "") -> Array | None:
    """The elements of `found` as an array of `shape`; None where nothing tells how.

    layout: that of `found`, such as `NCHW16c` or `NHWC`, when the array of `shape` is in `plain`, or in `NCHW`. Without
    it, one dimension more stands for blocks of channels at the end.
    """
    if layout and len(parse_layout(layout)) == found.ndim:
        moved = layout_view(found, layout, plain or _channels_first(layout))
        if moved.shape == shape:
            return moved
    if found.shape == shape:
        return found
    if found.ndim == len(shape) + 1 and found.ndim > 2 and found.shape[1] * found.shape[-1] == shape[1]:
        merged = np.moveaxis(found, -1, 2)
        if merged.reshape(merged.shape[0], -1, *merged.shape[3:]).shape == shape:
            return merged.reshape(shape)
    return None


def _channels_first(layout: str) -> str:
    """The axes of a layout in the order N, C, then the others as they stand."""
    letters = [axis.letter for axis in parse_layout(layout) if not axis.factor]
    return "".join(sorted(letters, key=lambda letter: "NC".find(letter) if letter in "NC" else 2))
