"""Reads functions of TensorFlow in memory: their graphs, and the current values of their variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from .graphs import Ref
from .messages import message, parse
from .model_file import ModelFile, Signature, signature_named
from .values import RESOURCE

MEMORY = "<memory>"


def is_of_tensorflow(model: object) -> bool:
    """Return whether an object is a function, a module or a loaded model of TensorFlow."""
    return any(base.__module__.partition(".")[0] == "tensorflow" for base in type(model).__mro__)


def read_object(model: Any, signature: str | None) -> ModelFile:
    """Read a concrete function, a `tf.function` with an input signature, or the result of `tf.saved_model.load`.

    Inputs have the names of arguments. Outputs have the keys of the dict that the function returns, or else the names
    of a saved function: `output_0`, `output_1` and so on. Variables keep their names.

    Raises FrontendError for other objects, and for a `signature` of an object without signatures.
    """
    concrete = _concrete(model, signature)
    graph = parse("GraphDef", concrete.graph.as_graph_def().SerializeToString(), MEMORY)
    values = _captured(graph, concrete)
    captured = {internal.op.name for _, internal in concrete.graph.captures}
    inputs = {tensor.op.name: tensor for tensor in concrete.inputs if tensor.op.name not in captured}
    outputs = dict(zip(_names(concrete.structured_outputs, len(concrete.outputs)), concrete.outputs, strict=True))
    refs = ({name: Ref(t.op.name, t.value_index) for name, t in named.items()} for named in (inputs, outputs))
    infos = ({name: _info(tensor) for name, tensor in named.items()} for named in (inputs, outputs))
    return ModelFile(MEMORY, graph, Signature(*refs, *infos), values)


def _info(tensor: Any) -> Any:
    """Return the TensorInfo of a tensor of a graph."""
    info = message("TensorInfo")
    info.dtype = tensor.dtype.as_datatype_enum
    info.tensor_shape.unknown_rank = tensor.shape.rank is None
    for extent in tensor.shape.as_list() if tensor.shape.rank is not None else ():
        info.tensor_shape.dim.add(size=-1 if extent is None else extent)
    return info


def _concrete(model: Any, signature: str | None) -> Any:
    """Return the concrete function that an object is or has."""
    name = f"{MEMORY}: {type(model).__name__}"
    if isinstance(getattr(model, "signatures", None), Mapping):
        signatures = cast("Mapping[str, Any]", model.signatures)
        return signatures[signature_named(list(signatures), signature, name)]
    if signature is not None:
        raise FrontendError(f"{name}: expected a loaded model, which has signatures, got a function, for {signature!r}")
    if hasattr(model, "captured_inputs") and hasattr(model, "structured_outputs"):
        return model
    if getattr(model, "input_signature", None) is not None:
        return model.get_concrete_function()
    expected = (
        "a concrete function, a tf.function with an input_signature, or what tf.saved_model.load returns (of another "
        "tf.function get_concrete_function(..), of a module one of its functions)"
    )
    raise FrontendError(f"{MEMORY}: expected {expected}, got {type(model).__name__}")


def _captured(graph: Any, concrete: Any) -> dict[str, Array]:
    """Turn captured variables into nodes with their names, and captured tensors into constants.

    Returns the values of variables by name.
    """
    nodes = {node.name: node for node in graph.node}
    variables = {id(variable.handle): variable for variable in concrete.graph.variables}
    names: dict[int, str] = {}
    values: dict[str, Array] = {}
    for external, internal in concrete.graph.captures:
        node = nodes[internal.op.name]
        if node.op != "Placeholder":
            # Small tensors are constants already.
            continue
        if node.attr["dtype"].type != RESOURCE:
            node.op = "Const"
            tensor = node.attr["value"].tensor
            array: Array = np.asarray(external)
            tensor.dtype, tensor.tensor_content = node.attr["dtype"].type, np.ascontiguousarray(array).tobytes()
            for extent in array.shape:
                tensor.tensor_shape.dim.add(size=extent)
            continue
        if id(external) not in variables:
            # The operators that read tables and other resources are refused by name.
            continue
        if id(external) not in names:
            variable = variables[id(external)]
            stem = variable.name.removesuffix(":0")
            name, number = stem, 0
            while name in values:
                number += 1
                name = f"{stem}_{number}"
            names[id(external)], values[name] = name, variable.numpy()
        node.op = "VarHandleOp"
        node.attr["shared_name"].s = names[id(external)].encode()
    return values


def _names(structure: Any, count: int) -> Sequence[str]:
    """Return names for the outputs of a function: the keys of its result, in the order of its flattened values."""
    if isinstance(structure, Mapping):
        keys = sorted(map(str, cast("Mapping[Any, Any]", structure)))
        if len(keys) == count:
            return keys
    return [f"output_{at}" for at in range(count)]
