"""The steps of integers for a tensor, by the largest value, a percentile, or the least loss of information."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence.support.dtypes import Array

Floats = NDArray[np.float64]
BINS = 2048
"""The bins of a histogram of magnitudes."""
_FULL = 8
"""The values of a bin, on average, with which the divergence is computed."""


@dataclass
class Magnitudes:
    """The largest magnitude of a tensor in all samples, and then their histogram up to it."""

    largest: float = 0.0
    counts: Floats = field(default_factory=lambda: np.zeros(BINS))

    def widen(self, values: Array) -> None:
        """See the values of a sample for the first time."""
        magnitudes = cast("Floats", np.abs(cast("Any", values)))
        self.largest = max(self.largest, float(magnitudes.max(initial=0)))

    def count(self, values: Array) -> None:
        """See the values of a sample for the second time."""
        if self.largest:
            self.counts += np.histogram(np.abs(values), BINS, (0.0, self.largest))[0]

    def percentile(self, share: float = 0.99999) -> float:
        """Return the magnitude up to which a share of the values lie."""
        total = self.counts.cumsum()
        below = int((total < share * float(total[-1])).sum())
        return self.largest * (min(below, BINS - 1) + 1) / BINS

    def least_divergence(self, levels: int) -> float:
        """Return the magnitude for which values that are cut off there, in `levels` steps, lose the least information.

        The loss is the Kullback-Leibler divergence of the histogram from that of the steps, as in TensorRT (Migacz,
        8-bit inference with TensorRT, 2017).
        """
        counts = self.counts
        # Bins with few values each say little about how these are distributed.
        while len(counts) >= 2 * levels and counts.sum() < _FULL * len(counts):
            counts = counts.reshape(-1, 2).sum(1)
        losses = [_divergence(counts, bins, levels) for bins in range(levels, len(counts) + 1)]
        return self.largest * (levels + int(np.argmin(losses))) / len(counts)


def _divergence(counts: Floats, bins: int, levels: int) -> float:
    """Return the divergence of the first bins, the last with all that is cut off, from `levels` equal parts of them."""
    kept = counts[:bins]
    reference = kept.copy()
    reference[-1] += counts[bins:].sum()
    starts = np.arange(levels) * bins // levels
    sums, filled = np.add.reduceat(kept, starts), np.add.reduceat((kept > 0).astype(float), starts)
    means = np.divide(sums, filled, out=np.zeros(levels), where=filled > 0)
    spread = np.repeat(means, np.diff(starts, append=bins)) * (kept > 0)
    here = reference > 0
    p = reference / reference.sum() if reference.any() else reference
    q = spread / spread.sum() if spread.any() else spread
    # What is cut off may lie in a bin that is empty without it.
    return float((p[here] * np.log(p[here] / np.maximum(q[here], 1e-12))).sum())


def weight_steps(weight: Array, mode: str, bits: int, per_channel: bool) -> tuple[Array, Array]:
    """Return the integers (int8) of a weight and their scale (float32): one, or one for each index of axis 0.

    mode: "max", where the largest magnitude is the largest integer, or "power2", where scales are powers of 2.
    """
    most = 2 ** (bits - 1) - 1
    axes: Any = tuple(range(1, weight.ndim)) if per_channel else None
    largest = np.maximum(np.abs(weight).max(axis=axes), np.finfo(np.float32).tiny * 2**bits)
    scale = np.exp2(np.ceil(np.log2(largest / (most + 1)))) if mode == "power2" else largest / most
    scale = np.asarray(scale, np.float32)
    spread = scale.reshape(-1, *(1,) * (weight.ndim - 1)) if per_channel else scale
    steps: Any = np.round(weight.astype(np.float32) / spread)
    return np.clip(steps, -most, most).astype(np.int8), scale
