# pyright: basic
"""Signals: windows over them, and transforms of real images."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning

_IMAGES = np.random.default_rng(8).uniform(-1, 1, (2, 6, 5)).astype(np.float32)


def _window(x: Array, periodic: bool) -> Array:
    """Return Hann's window over the length of x, to which it comes."""
    length = len(x) if periodic else len(x) - 1
    return (x + 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(x)) / length)).astype(np.float32)


def _window_onnx(net: Any, x: Any, periodic: bool) -> Any:
    return net("Add", x, net("HannWindow", net.const(x.shape[0], "int64"), periodic=int(periodic)))


def _window_torch(net: Any, x: Any, periodic: bool) -> Any:
    window = net("aten.hann_window.periodic", window_length=x.shape[0], periodic=periodic)
    return net("aten.add.Tensor", self=x, other=window)


def _transformed(x: Array, lengths: list[int]) -> Array:
    spectrum = np.fft.rfft2(x.astype(np.float64), lengths)
    return np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)


def _transformed_onnx(net: Any, x: Any, lengths: list[int]) -> Any:
    x = net("Unsqueeze", x, net.const([-1], "int64"))
    for at, onesided in ((1, 1), (0, 0)):
        length, axis = (net.const(number, "int64") for number in (lengths[at], at - 3))
        x = net("DFT", x, length, axis, onesided=onesided)
    return x


def _transformed_tflite(net: Any, x: Any, lengths: list[int]) -> Any:
    spectrum = net("RFFT2D", x, net.const(lengths, "int32"), dtypes="complex64", options="Rfft2dOptions")
    parts = (net(name, spectrum, dtypes="float32") for name in ("REAL", "IMAG"))
    return net("PACK", *parts, axis=-1, valuesCount=2)


_LENGTHS = [("as they are", 4, 4), ("filled", 8, 8), ("cut", 4, 2), ("filled and cut", 8, 4)]

TABLE = [
    Meaning("hann_window", _window, [
        Case(f"{length}, {'periodic' if periodic else 'symmetric'}", [np.zeros(length, np.float32)],
             {"periodic": periodic}) for length in (2, 3, 16) for periodic in (True, False)
    ], {"onnx": _window_onnx, "torch": _window_torch}, lost=1.0),
    Meaning("transform_of_images", _transformed, [
        Case(name, [_IMAGES[:, :4, :4] if name == "as they are" else _IMAGES], {"lengths": [rows, columns]})
        for name, rows, columns in _LENGTHS
    ], {"onnx": _transformed_onnx, "tflite": _transformed_tflite}, lost=4.0),
]  # fmt: skip
