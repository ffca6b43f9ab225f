"""The inputs and outputs of a graph, as the model states them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, TensorShapeProto, ValueInfoProto

from ...runtime.values.open_specs import Dimension, OpenSpec
from .tensors import dtype_of


def spec_of(value: ValueInfoProto, what: str) -> OpenSpec:
    """Return what a model says of a value; raises FrontendError, about `what` of its name, for unknown element types.

    Of sequences, optionals and maps only the kind is told; texts are objects.
    """
    tensor, kind = value.type.tensor_type, (value.type.WhichOneof("value") or "tensor_type").removesuffix("_type")
    if tensor.elem_type == TensorProto.STRING:
        dtype: np.dtype[Any] = np.dtype(np.object_)
    else:
        dtype = dtype_of(tensor.elem_type or TensorProto.FLOAT, f"{what} '{value.name}'")
    dims = [_dimension(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None
    return OpenSpec.of(value.name, dims, dtype, kind)


def _dimension(dim: TensorShapeProto.Dimension) -> Dimension:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    # Exporters write these for extents that have nothing in common.
    return None if dim.dim_param in ("", "?", "-1", "None") else dim.dim_param
