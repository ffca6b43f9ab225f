"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from ..importing.converter import Converter
from . import (
    activations,
    attention,
    attention_microsoft,
    block_quantized,
    casts,
    convolution,
    cumulative,
    elementwise,
    experts,
    features,
    generation,
    image,
    indexing,
    known,
    linear_algebra,
    linear_models,
    logic,
    losses,
    matmul_nbits,
    normalization,
    padding,
    pooling,
    products,
    quantization,
    quantized_contrib,
    random,
    rearrange,
    recurrent,
    reductions,
    rotary,
    sequences,
    shaping,
    signal,
    signal_windows,
    sorting,
    trees,
    vision,
)
from .context import Context

CONVERTERS: dict[str, Converter[Context]] = {
    **activations.TABLE,
    **attention.TABLE,
    **casts.TABLE,
    **convolution.TABLE,
    **cumulative.TABLE,
    **elementwise.TABLE,
    **image.TABLE,
    **indexing.TABLE,
    **known.TABLE,
    **linear_algebra.TABLE,
    **logic.TABLE,
    **losses.TABLE,
    **normalization.TABLE,
    **padding.TABLE,
    **pooling.TABLE,
    **products.TABLE,
    **quantization.TABLE,
    **random.TABLE,
    **rearrange.TABLE,
    **recurrent.TABLE,
    **reductions.TABLE,
    **rotary.TABLE,
    **sequences.TABLE,
    **shaping.TABLE,
    **signal.TABLE,
    **signal_windows.TABLE,
    **sorting.TABLE,
    **vision.TABLE,
}
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter[Context]] = {
    **activations.MICROSOFT,
    **attention_microsoft.MICROSOFT,
    **block_quantized.MICROSOFT,
    **convolution.MICROSOFT,
    **experts.MICROSOFT,
    **generation.MICROSOFT,
    **indexing.MICROSOFT,
    **linear_algebra.MICROSOFT,
    **matmul_nbits.MICROSOFT,
    **normalization.MICROSOFT,
    **padding.MICROSOFT,
    **pooling.MICROSOFT,
    **products.MICROSOFT,
    **quantized_contrib.TABLE,
    **rearrange.MICROSOFT,
    **rotary.MICROSOFT,
    **sorting.MICROSOFT,
    **vision.MICROSOFT,
}
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

MACHINE_LEARNING: dict[str, Converter[Context]] = {
    **features.TABLE,
    **linear_models.TABLE,
    **trees.TABLE,
}
"""Operators of ai.onnx.ml."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT, "ai.onnx.ml": MACHINE_LEARNING}
"""Domain -> operator -> how it is imported."""


def converter_of(domain: str, op_type: str) -> Converter[Context] | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
