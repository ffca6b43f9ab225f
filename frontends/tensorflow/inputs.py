"""The inputs and outputs of a model, as placeholders or the signature state them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.values.open_specs import Dimension, OpenSpec
from .graphs import NodeInfo
from .values import dtype_of, extents_of

SHAPES = "_output_shapes"
"""Where graphs that were written with all shapes have those of a node's outputs."""


def stated(name: str, info: Any, what: str) -> OpenSpec:
    """Return the input or output that a TensorInfo describes."""
    return _spec(name, extents_of(info.tensor_shape), dtype_of(info.dtype, what))


def input_of(name: str, node: NodeInfo, what: str) -> OpenSpec:
    """Return the input that a placeholder is."""
    shape: tuple[int, ...] | None = None
    attributes = node.attributes
    number = attributes["dtype"].type if "dtype" in attributes else 0
    if "shape" in attributes:
        shape = extents_of(attributes["shape"].shape)
        if shape == () and SHAPES in attributes:
            # Old graphs leave the shape out that way.
            shape = None
    if shape is None and SHAPES in attributes and len(attributes[SHAPES].list.shape):
        shape = extents_of(attributes[SHAPES].list.shape[0])
    return _spec(name, shape, dtype_of(number, what))


def _spec(name: str, shape: tuple[int, ...] | None, dtype: np.dtype[Any]) -> OpenSpec:
    dims: list[Dimension] | None = None if shape is None else [None if extent < 0 else extent for extent in shape]
    return OpenSpec.of(name, dims, dtype)
