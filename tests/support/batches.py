"""Networks of the zoo for several rows, which exporters and scripts write for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Arrays = dict[str, NDArray[Any]]


def rows_of(model: onnx.ModelProto, rows: int | str) -> onnx.ModelProto:
    """Return a model of one row for `rows` ones, or for as many as a call brings.

    What is reshaped keeps its rows: the 1 that such a shape begins with becomes 0. Only for networks in which every
    such shape begins with the batch.
    """
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for value in wide.graph.input:
        dimension = value.type.tensor_type.shape.dim[0]
        if isinstance(rows, str):
            dimension.dim_param = rows
        else:
            dimension.dim_value = rows
    for value in wide.graph.output:
        value.type.tensor_type.ClearField("shape")
    shapes = {node.input[1] for node in wide.graph.node if node.op_type == "Reshape"}
    for tensor in wide.graph.initializer:
        extents = numpy_helper.to_array(tensor)
        if tensor.name in shapes and extents.ndim and extents.size > 1 and extents[0] == 1:
            kept = np.concatenate([[0], extents[1:]])
            tensor.CopyFrom(numpy_helper.from_array(kept.astype(extents.dtype), tensor.name))
    return wide


def rows_like(inputs: Mapping[str, NDArray[Any]], rows: int) -> Arrays:
    """Return inputs of `rows` rows: those of one, and the same numbers in other orders."""
    rng = np.random.default_rng(1)
    return {
        name: np.concatenate([values, *(rng.permuted(values) for _ in range(rows - 1))])
        for name, values in inputs.items()
    }
