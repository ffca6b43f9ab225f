"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import (
    activations,
    casts,
    convolution,
    elementwise,
    indexing,
    known,
    layers,
    logic,
    padding,
    pooling,
    quantization,
    quantized_contrib,
    rearrange,
    recurrent,
    reductions,
    sequences,
    shaping,
    sorting,
)
from .converter import Converter

CONVERTERS: dict[str, Converter] = {
    **activations.TABLE,
    **casts.TABLE,
    **convolution.TABLE,
    **elementwise.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **layers.TABLE,
    **logic.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **quantization.TABLE,
    **rearrange.TABLE,
    **reductions.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **recurrent.TABLE,
    **sorting.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter] = {**quantized_contrib.TABLE}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
