"""Windows of signals, and the weights of mel spectrograms: constants where their sizes are known."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay.elementwise import FloorOp, PowerOp
from ...dialects.sizes import decide, symbols_of
from ...support.dtypes import Array
from ..importing.attributes import Element, Flag
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, places, where
from ..meanings.signal import cosine_window
from .context import Context


def mel_weight_matrix(
    ctx: Context, bins: int, length: int, sample_rate: float, low: float, high: float, dtype: np.dtype[Any]
) -> Term | Array:
    """(bins of the spectrum, mel bins): each column rises from its left edge to its centre, and falls to its right."""
    rate = int(sample_rate)
    for size in (bins, length):
        ctx.require_least(size, 1, f"whether {size} is at least 1")
    if any(decide(1, "<=", one) is False for one in (bins, length, rate)):
        ctx.fail("bins, length and sample rate of at least 1", f"{bins}, {length} and {rate}")
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in (low, high))
    if symbols_of(bins) or symbols_of(length):
        return _open_mel(ctx, bins, length, rate, lowest, highest).to(dtype)
    mel = lowest + np.arange(bins + 2) * (highest - lowest) / (bins + 2)
    edges = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate).astype(np.int64)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    spectrum = np.arange(length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = (spectrum - left) / (centre - left), (right - spectrum) / (right - centre)
    weights = np.where((left <= spectrum) & (spectrum < centre), rising, 0.0)
    weights = np.where((centre < spectrum) & (spectrum < right), falling, weights)
    return np.where(spectrum == centre, 1.0, weights).astype(dtype)


def _open_mel(ctx: Context, bins: int, length: int, rate: int, lowest: float, highest: float) -> Term:
    """The weights where the call decides how many there are, in float64."""

    def edge(number: int) -> Term:
        at = places(ctx, bins, 2, 1, "float64", number)
        power = at.number(10).apply(PowerOp, (at * (highest - lowest) / at.number(bins + 2) + lowest) / 2595)
        return (at.number(length + 1) * 700 * (power - 1) / rate).apply(FloorOp)

    left, centre, right = map(edge, range(3))
    spectrum = places(ctx, length // 2 + 1, 2, 0, "float64")
    rising, falling = (spectrum - left) / (centre - left), (right - spectrum) / (right - centre)
    weights = where(spectrum < right, falling, 0.0)
    weights = where(spectrum < centre, where(spectrum < left, 0.0, rising), weights)
    return where(spectrum.equal(centre), 1.0, weights)


_DTYPE = Element(np.dtype(np.float32), name="output_datatype")


def _window(*shares: float) -> Converter[Any]:
    return row(partial(cosine_window, shares), "size:size", dtype=_DTYPE, periodic=Flag(True))


TABLE = {
    "BlackmanWindow": _window(0.42, -0.5, 0.08),
    "HammingWindow": _window(25 / 46, -21 / 46),
    "HannWindow": _window(0.5, -0.5),
    "MelWeightMatrix": row(
        mel_weight_matrix,
        "num_mel_bins:size dft_length:size sample_rate:number lower_edge_hertz:number upper_edge_hertz:number",
        dtype=_DTYPE,
    ),
}
