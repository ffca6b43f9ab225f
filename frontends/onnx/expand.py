"""Functions: a node that stands for others, by a function of the model or by the standard's own definition of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto

from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from .program import Node, canonical
from .schemas import shown

Functions = Mapping[tuple[str, str], FunctionProto]
"""(domain, name) -> function of the model."""


def functions_of(model: onnx.ModelProto) -> Functions:
    return {(canonical(function.domain), function.name): function for function in model.functions}


def _schema(node: NodeProto, version: int) -> Any:
    """The definition of an operator, whose methods have no types; None when there is none."""
    try:
        return onnx.defs.get_schema(node.op_type, min(version, 10**6), canonical(node.domain))
    except onnx.defs.SchemaError:
        return None


def has_body(node: NodeProto, version: int, functions: Functions) -> bool:
    """Return whether a node can be expanded."""
    if (canonical(node.domain), node.op_type) in functions:
        return True
    schema = _schema(node, version)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def body_of(node: Node, types: Callable[[], Sequence[TypeProto]], functions: Functions) -> FunctionProto | None:
    """The function that a node calls; `types` are those of its inputs, which some definitions depend on."""
    proto, version = node.proto, node.opset
    if (own := functions.get((canonical(proto.domain), proto.op_type))) is not None:
        _check_call(node, own)
        return own
    schema = _schema(proto, version)
    if schema is None:
        return None
    if schema.has_function:
        text: bytes = schema.get_function_with_opset_version(_fitting(schema.function_opset_versions, version))
        return _with_defaults(FunctionProto.FromString(text), schema)
    if schema.has_context_dependent_function:
        chosen = _fitting(schema.context_dependent_function_opset_versions, version)
        given = [one.SerializeToString() for one in types()]
        try:
            text = schema.get_context_dependent_function_with_opset_version(chosen, proto.SerializeToString(), given)
        except (RuntimeError, TypeError, ValueError) as error:
            found = " ".join(str(error).split())
            raise FrontendError(message(proto.op_type, "inputs that the operator takes", found, node.leaf)) from error
        return _with_defaults(FunctionProto.FromString(text), schema) if text else None
    return None


def _check_call(node: Node, function: FunctionProto) -> None:
    """Raise FrontendError for an input or attribute that a function of the model does not have."""
    proto = node.proto
    if len(proto.input) > len(function.input):
        found = f"'{proto.input[len(function.input)]}'"
        raise FrontendError(message(proto.op_type, f"at most {len(function.input)} inputs", found, node.leaf))
    declared = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
    for attribute in proto.attribute:
        if attribute.name not in declared:
            raise FrontendError(message(proto.op_type, f"no attribute '{attribute.name}'", shown(attribute), node.leaf))


def _with_defaults(function: FunctionProto, schema: Any) -> FunctionProto:
    """The function with what the definition says of attributes that a node leaves out."""
    given = {one.name for one in function.attribute_proto}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.type and name not in given:
            function.attribute_proto.add().CopyFrom(attribute.default_value)
    return function


def _fitting(versions: Sequence[int], version: int) -> int:
    """The newest definition that is not newer than the model's opset; else the oldest."""
    return max((v for v in versions if v <= version), default=min(versions))


def expanded(node: NodeProto, function: FunctionProto, prefix: str) -> list[NodeProto]:
    """The nodes of a function's body, its names and attributes replaced by those of the node that calls it.

    prefix: of the names of what is computed inside.
    """
    names = dict.fromkeys(function.input, "") | dict.fromkeys(function.output, "")
    names |= dict(zip(function.input, node.input, strict=False))
    results = {inner: outer for inner, outer in zip(function.output, node.output, strict=False) if outer}
    # An output that is an input as it is cannot be renamed.
    names |= {inner: outer for inner, outer in results.items() if inner not in function.input}
    given = {attribute.name: attribute for attribute in node.attribute}
    attributes = {one.name: one for one in function.attribute_proto} | given
    nodes = [_renamed(inner, names, attributes, prefix) for inner in function.node]
    for inner, outer in results.items():
        if inner in function.input:
            nodes.append(onnx.helper.make_node("Identity", [names[inner]], [outer]))
    # An output that nobody asked for keeps a name of its own.
    return nodes


def _renamed(
    node: NodeProto, names: dict[str, str], attributes: Mapping[str, AttributeProto], prefix: str
) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.ClearField("attribute")
    for name in node.output:
        if name and not names.get(name):
            names[name] = prefix + name
    copy.input[:] = [names.get(name, name) if name else "" for name in node.input]
    copy.output[:] = [names[name] if name else "" for name in node.output]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in attributes:
                added = copy.attribute.add()
                added.CopyFrom(attributes[attribute.ref_attr_name])
                added.name = attribute.name
        else:
            added = copy.attribute.add()
            added.CopyFrom(attribute)
            if attribute.type == AttributeProto.GRAPH:
                _rename_graph(added.g, names, attributes, prefix)
    return copy


def _rename_graph(
    graph: GraphProto, names: dict[str, str], attributes: Mapping[str, AttributeProto], prefix: str
) -> None:
    """Rename values in a subgraph: those it reads from around it get the new names, its own get the prefix."""
    inside = dict(names)
    for value in (*graph.input, *graph.initializer):
        inside[value.name] = prefix + value.name
        value.name = inside[value.name]
    for inner in graph.node:
        for name in inner.output:
            inside.pop(name, None)
    nodes = [_renamed(inner, inside, attributes, prefix) for inner in graph.node]
    graph.ClearField("value_info")  # of the names before
    graph.ClearField("node")
    graph.node.extend(nodes)
    for value in graph.output:
        value.name = inside.get(value.name, value.name)
