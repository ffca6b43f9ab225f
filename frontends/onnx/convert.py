"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from . import (
    activations,
    casts,
    convolution,
    cumulative,
    elementwise,
    indexing,
    known,
    layers,
    linear_algebra,
    logic,
    losses,
    normalization,
    padding,
    pooling,
    random,
    rearrange,
    recurrent,
    reductions,
    sequences,
    shaping,
    signal_windows,
    sorting,
)
from .converter import Converter

CONVERTERS: dict[str, Converter] = {
    **activations.TABLE,
    **casts.TABLE,
    **convolution.TABLE,
    **cumulative.TABLE,
    **elementwise.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **layers.TABLE,
    **linear_algebra.TABLE,
    **logic.TABLE,
    **losses.TABLE,
    **normalization.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **random.TABLE,
    **rearrange.TABLE,
    **reductions.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **recurrent.TABLE,
    **signal_windows.TABLE,
    **sorting.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter] = {
    **activations.MICROSOFT,
    **normalization.MICROSOFT,
}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
