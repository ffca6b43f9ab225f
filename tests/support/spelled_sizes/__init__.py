"""Arithmetic with the extents of an input, spelled in each format.

A `Net` has the input `x`, of two open extents and elements of float32. `extents()` are they, `call(name, ..)` computes
of sizes, `vector` and `item` put them together and take them apart, and the other methods make a tensor of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

FORMATS = ("onnx", "stablehlo", "tensorflow", "tflite", "torch")
"""Keras has no words for extents of a call: its layers compute with them unseen."""


def net(form: str) -> Any:
    """Return an empty model of a format."""
    return import_module(f"spelled_sizes.{form}").Net()
