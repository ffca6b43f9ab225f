"""Reference values of an ONNX model: every tensor that onnxruntime computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..frontends.onnx.program import layer_names
from ..support.dtypes import Array
from ..support.errors import FrontendError

if TYPE_CHECKING:
    from onnx import ModelProto


def layer_tensors(model: ModelProto) -> dict[str, tuple[str, ...]]:
    """Layer, as the frontend names them -> the names of what the node gives, in order."""
    nodes = model.graph.node
    return {name: tuple(node.output) for name, node in zip(layer_names(nodes), nodes, strict=True)}


def onnxruntime_tensors(model: ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor of a model's graph by name, computed by onnxruntime without its optimisations.

    Raises FrontendError where onnxruntime is not installed, or does not take the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise FrontendError(
            "reference: expected onnxruntime to be installed, or a file of tensors, got none"
        ) from error
    from onnx import ModelProto, ValueInfoProto

    copy = ModelProto()
    copy.CopyFrom(model)
    # Newer versions add what no tensor depends on; an onnxruntime that is older than the file refuses them.
    copy.ir_version = min(copy.ir_version, 10)
    known = {value.name for value in copy.graph.output}
    for node in copy.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                copy.graph.output.append(ValueInfoProto(name=name))
    options = cast(Any, onnxruntime).SessionOptions()
    options.graph_optimization_level = cast(Any, onnxruntime).GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session = cast(Any, onnxruntime).InferenceSession(copy.SerializeToString(), options)
        names = [value.name for value in session.get_outputs()]
        wanted = {value.name for value in session.get_inputs()}
        values = session.run(names, {name: array for name, array in inputs.items() if name in wanted})
    except Exception as error:
        raise FrontendError(f"reference: expected a model that onnxruntime runs, got: {error}") from error
    return dict(zip(names, values, strict=True))
