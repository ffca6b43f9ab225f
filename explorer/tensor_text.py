"""A tensor in a line or two."""

from __future__ import annotations

import numpy as np

from ..support.dtypes import Array
from ..support.names import shown

_FIRST = 6


def tensor_text(name: str, array: Array) -> str:
    """`conv1: float32[1, 64, 112, 112], 0 to 4.21, mean 0.33`, and the first elements."""
    head = f"{shown(name)}: {array.dtype.name}[{', '.join(map(str, array.shape))}]"
    if not array.size:
        return head
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    if finite.size:
        head += f", {finite.min():.6g} to {finite.max():.6g}, mean {finite.mean():.6g}"
    for kind, count in (("NaN", int(np.isnan(values).sum())), ("Inf", int(np.isinf(values).sum()))):
        head += f", {count} {kind}" if count else ""
    first = " ".join(f"{value:.6g}" for value in values.flat[:_FIRST])
    return f"{head}\n  {first}{' ..' if array.size > _FIRST else ''}"
