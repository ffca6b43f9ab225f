"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import casts, elementwise, known, layers, padding, pooling, quantization, quantized_contrib, reductions, shaping
from .converter import Converter

CONVERTERS: dict[str, Converter] = {
    **casts.TABLE,
    **elementwise.TABLE,
    **known.TABLE,
    **layers.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **quantization.TABLE,
    **reductions.TABLE,
    **shaping.TABLE,
}
"""Operators of the default domain."""

DOMAINS: dict[str, dict[str, Converter]] = {
    "": CONVERTERS,
    "ai.onnx": CONVERTERS,
    "com.microsoft": {**quantized_contrib.TABLE},
}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
