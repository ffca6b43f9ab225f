"""Reference values of a model: every tensor that onnxruntime computes, or numpy of the module as it was imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp

from ..dialects.relay.core import ReturnOp
from ..dialects.relay.interpret import RunKernel, evaluate_module
from ..frontends.onnx.program import layer_names
from ..provenance.span import leaf_name
from ..support.dtypes import Array
from ..support.errors import FrontendError
from .layers import functions
from .results import last_values

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
    listed = {value.name for value in copy.graph.output}
    for node in copy.graph.node:
        for name in node.output:
            if name and name not in listed:
                listed.add(name)
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


def numpy_tensors(imported: ModuleOp, inputs: Sequence[Array], run_kernel: RunKernel | None = None) -> dict[str, Array]:
    """The value of each layer of a module by the layer's name, its operators done in numpy; inputs in order.

    run_kernel: runs a call of a kernel of tir. Layers that share their name with others are left out.
    Raises FrontendError when the inputs are not the module's.
    """
    module = imported.clone()
    main = functions(module)["main"]
    last = last_values(main)
    named = Counter(map(leaf_name, last))
    values = {leaf_name(leaf): op.results[0] for leaf, op in last.items() if named[leaf_name(leaf)] == 1}
    main.block.erase_op(main.return_op)
    end = ReturnOp(*values.values())
    end.location = main.location
    main.block.add_op(end)
    main.update_type()
    return dict(zip(values, evaluate_module(module, inputs, run_kernel), strict=True))
