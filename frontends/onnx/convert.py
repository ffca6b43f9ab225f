"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import (
    elementwise,
    image,
    indexing,
    known,
    padding,
    pooling,
    rearrange,
    reductions,
    shaping,
    sorting,
    vision,
    activations,
    attention,
    casts,
    convolution,
    cumulative,
    elementwise,
    indexing,
    known,
    logic,
    normalization,
    padding,
    pooling,
    random,
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
    **casts.TABLE,
    **convolution.TABLE,
    **cumulative.TABLE,
    **elementwise.TABLE,
    **image.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **logic.TABLE,
    **normalization.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **random.TABLE,
    **products.TABLE,
    **recurrent.TABLE,
    **rearrange.TABLE,
    **reductions.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **sorting.TABLE,
    **vision.TABLE,
    **attention.TABLE,
    **rotary.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter] = {
    **activations.MICROSOFT,
    **normalization.MICROSOFT,
}
    **vision.MICROSOFT,
}
"""Operators of com.microsoft."""

DOMAINS: dict[str, dict[str, Converter]] = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
MICROSOFT: dict[str, Converter] = {}
    **convolution.MICROSOFT,
    **products.MICROSOFT,
}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
