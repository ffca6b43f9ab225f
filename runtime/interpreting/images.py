"""Images in other sizes: the elements of an axis, with their weights, that make each element of a resized one.

As in ONNX. Coordinates are float64; a weight is that of the neighbours of a coordinate, edges repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

AnyArray: TypeAlias = NDArray[Any]

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


@dataclass(frozen=True)
class AxisResizing:
    """The way one axis is resized."""

    extent: int
    size: int
    """The new extent."""
    scale: float | None
    """The scale that coordinates are computed with; None for the ratio, which only a call knows."""
    method: str = "linear"
    mode: str = "half_pixel"
    rounding: str = ""
    alpha: float = -0.5
    exclude: bool = False
    """True if neighbours outside have no weight, instead of that of the edge."""
    antialias: bool = False
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def identical(self) -> bool:
        """Return whether the axis stays as it is."""
        return self.size == self.extent and self.scale in (None, 1) and self.whole

    @property
    def whole(self) -> bool:
        """Return whether the whole axis is resized, not a part of it."""
        return self.mode != "tf_crop_and_resize" or self.roi == (0.0, 1.0)

    @property
    def rounds(self) -> str:
        """Return the rounding that finds the nearest element."""
        return self.rounding or ("round" if self.mode == "align_corners" else "floor")

    @property
    def reach(self) -> int:
        """Return how far from a coordinate elements count where the axis does not get smaller."""
        return {"nearest_neighbor": 0, "linear": 1, "cubic": 2}[self.method]

    def coordinates(self) -> AnyArray:
        """Return the coordinate of each new element among the old ones."""
        assert self.scale is not None
        x = np.arange(self.size).astype(np.float64)
        length = self.scale * self.extent
        match self.mode:
            case "align_corners":
                return np.zeros_like(x) if length == 1 else x * (self.extent - 1) / (length - 1)
            case "asymmetric":
                return x / self.scale
            case "tf_crop_and_resize":
                first, last = (end * (self.extent - 1) for end in self.roi)
                return (first + last) / 2 + x * 0 if length == 1 else first + x * (last - first) / (length - 1)
            case "pytorch_half_pixel" if length == 1:
                return np.zeros_like(x)
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale
            case "half_pixel_symmetric":
                offset = self.extent / 2 * (1 - self.size / length)
                return offset + (x + 0.5) / self.scale - 0.5
            case _:
                return (x + 0.5) / self.scale - 0.5

    def outside(self) -> AnyArray:
        """Return a mask of the new elements outside the old ones, which have the extrapolation value."""
        at = self.coordinates()
        return ((at < 0) | (at > self.extent - 1)) & (self.mode == "tf_crop_and_resize")

    def table(self) -> tuple[AnyArray, AnyArray]:
        """Return neighbours (int64) and weights (float64), both (taps, size)."""
        at = self.coordinates()
        # A coordinate on an element is that on the right of a pair.
        left = np.ceil(at) - 1
        ratio = at - left
        if self.method == "nearest_neighbor":
            places = (left + self._nearest(ratio))[None]
            return np.clip(places, 0, self.extent - 1).astype(np.int64), np.ones_like(places)
        shrink = min(self.scale or 1.0, 1.0) if self.antialias else 1.0
        first = math.floor(-self.reach / shrink) + 1
        taps = np.arange(first, 2 - first)[:, None]
        weights = self.kernel(np.abs((taps - ratio) * shrink))
        places = left + taps
        if self.antialias:
            weights = weights / weights.sum(axis=0)
        if self.exclude:
            weights = np.where((places < 0) | (places >= self.extent), 0, weights)
            weights = weights / weights.sum(axis=0)
        used = weights.any(axis=1)
        return np.clip(places, 0, self.extent - 1).astype(np.int64)[used], weights[used]

    def _nearest(self, ratio: AnyArray) -> AnyArray:
        """Return 0 for the left one of a pair, 1 for the right one."""
        right: dict[str, Callable[[], Any]] = {
            "floor": lambda: ratio == 1,
            "ceil": lambda: ratio > 0,
            "round_prefer_floor": lambda: ratio > 0.5,
            "round": lambda: ratio >= 0.5,
            "round_prefer_ceil": lambda: ratio >= 0.5,
        }
        return right[self.rounds]()

    def kernel(self, distance: AnyArray) -> AnyArray:
        """Return the weight at a distance from the coordinate."""
        if self.method == "linear":
            return np.clip(1 - distance, 0, 1)
        a, d = self.alpha, distance
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))


def scaled_sizes(extents: Sequence[int], scales: Sequence[float]) -> list[int]:
    """Return the extents of axes that get so many times as large, rounded."""
    return [e * int(s) if s.is_integer() else round(e * s) for e, s in zip(extents, scales, strict=True)]


def selects(how: Sequence[AxisResizing]) -> bool:
    """Return whether each element of a resized image is one of the image."""
    return all(resizing.method == "nearest_neighbor" and resizing.mode != "tf_crop_and_resize" for resizing in how)


def resized(
    x: AnyArray, axes: Sequence[int], how: Sequence[AxisResizing], extrapolation: float, dtype: np.dtype[Any]
) -> AnyArray:
    """Return an array of a dtype with axes resized one after the other, in floats as wide as float32 or its own.

    extrapolation: the number outside of the image. Integers are rounded towards zero.
    """
    if selects(how):
        for axis, resizing in zip(axes, how, strict=True):
            x = x.take(resizing.table()[0][0], axis)
        return x.astype(dtype, copy=False)
    wide: AnyArray = x if x.dtype.name in ("float32", "float64") else x.astype(np.float32)
    for axis, resizing in sorted(zip(axes, how, strict=True), key=lambda pair: -pair[0]):
        if resizing.identical:
            continue
        places, weights = resizing.table()
        shape = [1] * x.ndim
        shape[axis] = resizing.size
        total: Any = 0
        for p, w in zip(places, weights.astype(wide.dtype), strict=True):
            total = total + wide.take(p, axis) * w.reshape(shape)
        wide = total
        wide = np.where(resizing.outside().reshape(shape), wide.dtype.type(extrapolation), wide)
    return (np.trunc(wide) if dtype.kind in "biu" else wide).astype(dtype, copy=False)
