"""A tensor in a line or two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..support.dtypes import Array
from ..support.names import shown

_FIRST = 6


@dataclass(frozen=True)
class TensorText:
    """`conv1: float32[1, 64, 112, 112], 0 to 4.21, mean 0.33`, and the first elements."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    least: float | None
    """The least finite element, like the next two fields; None if there is none."""
    most: float | None
    mean: float | None
    nan: int
    """The number of elements that are NaN."""
    inf: int
    first: tuple[float, ...]

    @staticmethod
    def of(name: str, array: Array) -> TensorText:
        """Return the facts about an array."""
        values = array.astype(np.float64)
        finite = values[np.isfinite(values)]
        statistics = (
            (float(finite.min()), float(finite.max()), float(finite.mean())) if finite.size else (None, None, None)
        )
        bad = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        first = tuple(float(value) for value in values.flat[:_FIRST])
        return TensorText(name, array.shape, array.dtype.name, *statistics, *bad, first)

    def __str__(self) -> str:
        text = f"{shown(self.name)}: {self.dtype}[{', '.join(map(str, self.shape))}]"
        if self.mean is not None:
            text += f", {self.least:.6g} to {self.most:.6g}, mean {self.mean:.6g}"
        for kind, count in (("NaN", self.nan), ("Inf", self.inf)):
            text += f", {count} {kind}" if count else ""
        if self.first:
            more = " .." if np.prod(self.shape) > _FIRST else ""
            text += f"\n  {' '.join(f'{value:.6g}' for value in self.first)}{more}"
        return text
