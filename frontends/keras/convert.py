"""The table of layers: one row for each class, in a file of its family."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    activations,
    attention,
    conv_lstm,
    convolution,
    core,
    images,
    merging,
    noise,
    normalization,
    operations_elementwise,
    operations_indexing,
    operations_nn,
    operations_parts,
    operations_reduce,
    operations_shape,
    operations_statistics,
    pooling,
    preprocessing,
    recurrent,
    reshaping,
    wrappers,
)
from .rows import Row

_PLAIN: Mapping[str, Row] = {
    **activations.TABLE,
    **attention.TABLE,
    **conv_lstm.TABLE,
    **convolution.TABLE,
    **core.TABLE,
    **images.TABLE,
    **merging.TABLE,
    **noise.TABLE,
    **normalization.TABLE,
    **pooling.TABLE,
    **preprocessing.TABLE,
    **recurrent.TABLE,
    **reshaping.TABLE,
    **wrappers.TABLE,
}
LAYERS: Mapping[str, Row] = {**_PLAIN, **wrappers.wrapped(_PLAIN)}
OPERATIONS: Mapping[str, Row] = {
    **operations_elementwise.TABLE,
    **operations_indexing.TABLE,
    **operations_nn.TABLE,
    **operations_parts.TABLE,
    **operations_reduce.TABLE,
    **operations_shape.TABLE,
    **operations_statistics.TABLE,
}
"""Operations of `keras.ops` that were called outside of layers."""
_ALIASES = {**convolution.ALIASES, **pooling.ALIASES}


def supported() -> list[str]:
    """Return the names of all classes of layers, and of operations behind `keras.ops.`."""
    return [*LAYERS, *_ALIASES, *(f"keras.ops.{name}" for name in OPERATIONS)]


def row_of(kind: str, is_layer: bool) -> Row | None:
    """Return the row of a class of layers, or of an operation; None where there is none."""
    return LAYERS.get(_ALIASES.get(kind, kind)) if is_layer else OPERATIONS.get(kind)
