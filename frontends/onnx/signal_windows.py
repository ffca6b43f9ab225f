"""Windows of signals, and the weights of mel spectrograms: values of sizes that are known."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...support.dtypes import Array
from ..importing.converter import Converter
from .context import Context
from .tensors import dtype_of


def _number(ctx: Context, index: int, what: str) -> float:
    array = ctx.array(index, what)
    if array.size != 1:
        ctx.fail(f"{what} as one number", f"shape {list(array.shape)}")
    return float(array.item())


def _dtype(ctx: Context) -> np.dtype[np.generic]:
    code = ctx.int("output_datatype", TensorProto.FLOAT)
    return dtype_of(code, f"{ctx.node.op_type} '{ctx.node.output[0]}'")


def cosine_window(*shares: float) -> Converter[Context]:
    """The converter of a window: the sum of cosines of 0, 1, .. periods over its length, of these shares."""

    def convert(ctx: Context) -> Array:
        size = int(_number(ctx, 0, "a size"))
        if size < 0:
            ctx.fail("a size of at least 0", str(size))
        dtype = _dtype(ctx)
        ctx.fits((size,), dtype)
        length = size if ctx.int("periodic", 1) else size - 1
        turns = np.arange(size) / max(length, 1)
        cosines = [share * np.cos(2 * np.pi * periods * turns) for periods, share in enumerate(shares)]
        return np.sum(cosines, axis=0).astype(dtype)

    return Converter(convert)


def mel_weight_matrix(ctx: Context) -> Array:
    """(bins of the spectrum, mel bins): each column rises from its left edge to its centre, and falls to its right."""
    bins, length, rate = (int(_number(ctx, i, what)) for i, what in enumerate(("bins", "a length", "a sample rate")))
    ends = [_number(ctx, index, "an edge in hertz") for index in (3, 4)]
    if bins < 1 or length < 1 or rate < 1:
        ctx.fail("bins, length and sample rate of at least 1", f"{bins}, {length} and {rate}")
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in ends)
    mel = lowest + np.arange(bins + 2) * (highest - lowest) / (bins + 2)
    edges = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate).astype(np.int64)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    spectrum = np.arange(length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = (spectrum - left) / (centre - left), (right - spectrum) / (right - centre)
    weights = np.where((left <= spectrum) & (spectrum < centre), rising, 0.0)
    weights = np.where((centre < spectrum) & (spectrum < right), falling, weights)
    return np.where(spectrum == centre, 1.0, weights).astype(_dtype(ctx))


TABLE = {
    "BlackmanWindow": cosine_window(0.42, -0.5, 0.08),
    "HammingWindow": cosine_window(25 / 46, -21 / 46),
    "HannWindow": cosine_window(0.5, -0.5),
    "MelWeightMatrix": Converter(mel_weight_matrix),
}
