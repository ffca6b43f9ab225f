"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import (
    activations,
    casts,
    convolution,
    elementwise,
    image,
    indexing,
    known,
    layers,
    logic,
    padding,
    pooling,
    rearrange,
    recurrent,
    reductions,
    sequences,
    shaping,
    signal,
    sorting,
    vision,
)
from .converter import Converter

CONVERTERS: dict[str, Converter] = {
    **activations.TABLE,
    **casts.TABLE,
    **convolution.TABLE,
    **elementwise.TABLE,
    **image.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **layers.TABLE,
    **logic.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **rearrange.TABLE,
    **reductions.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **signal.TABLE,
    **recurrent.TABLE,
    **sorting.TABLE,
    **vision.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter] = {
    **indexing.MICROSOFT,
    **rearrange.MICROSOFT,
    **sorting.MICROSOFT,
    **vision.MICROSOFT,
}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

DOMAINS: dict[str, dict[str, Converter]] = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
