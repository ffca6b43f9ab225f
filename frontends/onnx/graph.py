"""The format `onnx` of the importer: nodes, their names and types, and functions, which are expanded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx
from onnx import ModelProto, TypeProto

from ...runtime.interpreting.flow import Region, Step
from ..importing.converter import Converter
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.inputs import Inputs
from ..importing.model import Format, Model
from ..importing.python_calls import LibraryCall, PythonCall
from ..importing.results import Results, Stated
from ..importing.tensor import Tensor
from ..importing.unsupported import Call, refusal, source_line
from .context import Context
from .convert import converter_of, operator_names, spelled
from .element_types import check_inputs, check_outputs
from .expand import body_of, expanded
from .inputs import spec_of
from .load import load
from .model_metadata import metadata_of
from .program import Node, canonical, node_of
from .python_calls import of_type, python_call_of, type_of


def open_model(model: ModelProto | bytes | str | os.PathLike[str], custom_ops: CustomOps = NO_CUSTOM_OPS) -> Model:
    """Read and check a model; raises FrontendError if it is no ONNX model, is broken or uses unsupported operators."""
    source = load(model, custom_ops)
    graph, names = source.model.graph, set(source.region.inputs)
    return Model(
        format=FORMAT,
        source=source,
        file=source.file,
        name=graph.name,
        region=source.region,
        inputs=Inputs(source.file, [spec_of(value, "input") for value in graph.input if value.name in names]),
        outputs=[spec_of(value, "output") for value in graph.output],
        metadata=metadata_of(source.model),
        custom_ops=custom_ops,
    )


def _fields(model: Model, node: Node) -> dict[str, Any]:
    return {"node": node.proto, "opset": node.opset, "folder": model.source.builder.folder}


def _label(model: Model, name: str, node: Node) -> str:
    """Return `<layer>.<tensor>`, the label of an input or initializer for a layer that reads it."""
    return f"{node.layer}.{name}"


def _converter(model: Model, node: Node) -> Converter[Context] | None:
    return converter_of(canonical(node.proto.domain), node.proto.op_type)


def _operator_names(node: Node) -> tuple[str, ...]:
    return operator_names(canonical(node.proto.domain), node.proto.op_type)


def _check_types(context: Context) -> Callable[[Results], None]:
    types = check_inputs(context)
    return lambda results: check_outputs(context, results, types)


def _stated(model: Model, step: Step, context: Context, tensors: Mapping[str, Tensor]) -> list[Stated]:
    types: Mapping[str, TypeProto] = model.source.builder.types
    return [of_type(types[name]) if name in types else Stated() for name in step.outputs]


def _library_call(step: Step, context: Context, library: str, call: PythonCall) -> LibraryCall | tuple[Any, ...]:
    from .fallback import library_call

    return library_call(step, context, library, call)


def _expansion(model: Model, step: Step, context: Context, region: Region) -> list[Step] | None:
    """Return the steps of the function that a node calls; None where a library computes it."""
    node = node_of(step)
    check_inputs(context)
    function = body_of(node, partial(_types, step, context.inputs), model.source.functions)
    if function is None and model.custom_ops.fallback is not None:
        return None
    if function is None:
        name = spelled(canonical(node.proto.domain), node.op_type)
        call = Call(name, f"{node.layer}, for these types", source_line(node.leaf))
        raise refusal(model.file, "ONNX", [call], ())
    opsets = {**node.opsets, **{canonical(entry.domain): entry.version for entry in function.opset_import}}
    return model.source.builder.steps(expanded(node.proto, function, f"{node.layer}/"), opsets, node, region)


def _types(step: Step, inputs: Sequence[Tensor | None]) -> list[TypeProto]:
    """Return the ONNX types of the inputs of a node; a left-out input has an empty type."""
    left_out = [None] * (len(step.inputs) - len(inputs))
    return [TypeProto() if tensor is None else _type(tensor) for tensor in (*inputs, *left_out)]


def _type(tensor: Tensor) -> TypeProto:
    if tensor.items is None:
        return type_of(tensor)
    return onnx.helper.make_sequence_type_proto(type_of(tensor.items[0]) if tensor.items else TypeProto())


FORMAT = Format(
    name="onnx",
    context=Context,
    fields=_fields,
    converter=_converter,
    label=_label,
    stated=_stated,
    states_shapes=False,
    check_types=_check_types,
    expansion=_expansion,
    operator_names=_operator_names,
    python_call=python_call_of,
    library_call=_library_call,
)
