"""Windows of signals, and the weights of mel spectrograms: constants where their sizes are known."""

from __future__ import annotations

from functools import reduce

import numpy as np
from onnx import TensorProto

from ...dialects.relay.elementwise import FloorOp, PowerOp
from ...dialects.sizes import decide, size_max, symbols_of
from ..importing.converter import Converter, Result
from ..importing.terms import Term, cos, places, where
from .context import Context
from .tensors import dtype_of


def _dtype(ctx: Context) -> np.dtype[np.generic]:
    code = ctx.int("output_datatype", TensorProto.FLOAT)
    return dtype_of(code, f"{ctx.node.op_type} '{ctx.node.output[0]}'")


def cosine_window(*shares: float) -> Converter[Context]:
    """The converter of a window: the sum of cosines of 0, 1, .. periods over its length, of these shares."""

    def convert(ctx: Context) -> Result:
        size, dtype = ctx.size(0, "a size"), _dtype(ctx)
        if decide(0, "<=", size) is False:
            ctx.fail("a size of at least 0", str(size))
        length = size if ctx.int("periodic", 1) else size - 1
        if symbols_of(size):
            at = places(ctx, size, dtype="float64")
            turns = at / at.number(size_max(length, 1))
            waves = [cos(turns * (2 * np.pi * periods)) * share for periods, share in enumerate(shares) if periods]
            return (reduce(Term.__add__, waves) + shares[0]).to(dtype).value
        ctx.fits((size,), dtype)
        turns = np.arange(size) / max(length, 1)
        cosines = [share * np.cos(2 * np.pi * periods * turns) for periods, share in enumerate(shares)]
        return np.sum(cosines, axis=0).astype(dtype)

    return Converter(convert)


def mel_weight_matrix(ctx: Context) -> Result:
    """(bins of the spectrum, mel bins): each column rises from its left edge to its centre, and falls to its right."""
    bins, length = ctx.size(0, "bins"), ctx.size(1, "a length")
    rate, *ends = (ctx.single(2 + i, what) for i, what in enumerate(("a sample rate", *["an edge in hertz"] * 2)))
    for size in (bins, length):
        ctx.require_least(size, 1, f"whether {size} is at least 1")
    if any(decide(1, "<=", one) is False for one in (bins, length, int(rate))):
        ctx.fail("bins, length and sample rate of at least 1", f"{bins}, {length} and {int(rate)}")
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in ends)
    if symbols_of(bins) or symbols_of(length):
        return _open_mel(ctx, bins, length, int(rate), lowest, highest).to(_dtype(ctx)).value
    rate = int(rate)
    mel = lowest + np.arange(bins + 2) * (highest - lowest) / (bins + 2)
    edges = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate).astype(np.int64)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    spectrum = np.arange(length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = (spectrum - left) / (centre - left), (right - spectrum) / (right - centre)
    weights = np.where((left <= spectrum) & (spectrum < centre), rising, 0.0)
    weights = np.where((centre < spectrum) & (spectrum < right), falling, weights)
    return np.where(spectrum == centre, 1.0, weights).astype(_dtype(ctx))


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


TABLE = {
    "BlackmanWindow": cosine_window(0.42, -0.5, 0.08),
    "HammingWindow": cosine_window(25 / 46, -21 / 46),
    "HannWindow": cosine_window(0.5, -0.5),
    "MelWeightMatrix": Converter(mel_weight_matrix),
}
