"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import (
    activations,
    attention,
    attention_microsoft,
    casts,
    convolution,
    elementwise,
    indexing,
    known,
    layers,
    logic,
    matmul_nbits,
    padding,
    pooling,
    products,
    rearrange,
    recurrent,
    reductions,
    rotary,
    sequences,
    shaping,
    sorting,
)
from .converter import Converter

CONVERTERS: dict[str, Converter] = {
    **activations.TABLE,
    **attention.TABLE,
    **casts.TABLE,
    **convolution.TABLE,
    **elementwise.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **layers.TABLE,
    **logic.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **products.TABLE,
    **rearrange.TABLE,
    **recurrent.TABLE,
    **reductions.TABLE,
    **rotary.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **sorting.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter] = {
    **attention_microsoft.MICROSOFT,
    **convolution.MICROSOFT,
    **matmul_nbits.MICROSOFT,
    **products.MICROSOFT,
    **rotary.MICROSOFT,
}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
