"""Reads a model and checks it, before anything is converted.

A violation of the standard that can mean only one thing is repaired with a warning, because peers run such models.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region
from ...support.errors import FrontendError, FrontendWarning
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.files import read_model
from ..importing.unsupported import Call, refuse
from .convert import converter_of, operator_names, spelled, supported
from .expand import Functions, functions_of, has_body
from .exporter_metadata import origin_of
from .host import is_hosted_operator
from .opsets import KNOWN, differs, warn_of
from .program import CONTROL, Builder, canonical, layer_names


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked model."""

    model: ModelProto
    file: str
    """The name of the file, without folders, as in locations."""
    region: Region
    """Its steps."""
    functions: Functions
    builder: Builder


def load(model: ModelProto | bytes | str | os.PathLike[str], custom_ops: CustomOps = NO_CUSTOM_OPS) -> Source:
    """Read and check a model; raises FrontendError if it is no ONNX model, is broken or uses unsupported operators.

    custom_ops: the operators that Python functions compute.
    """
    if isinstance(model, ModelProto):
        return _check(model, "<memory>", None, custom_ops)
    if isinstance(model, bytes):
        return _check(_parse(model, "<memory>"), "<memory>", None, custom_ops)
    path, data = read_model(model, "ONNX")
    return _check(_parse(data, str(path)), path.name, path.parent, custom_ops)


def _parse(data: bytes, file: str) -> ModelProto:
    try:
        model = ModelProto.FromString(data)
    except DecodeError as error:
        raise FrontendError(
            f"{file}: expected an ONNX model, got {len(data)} bytes that are none, or one cut short"
        ) from error
    if not model.HasField("graph") or not model.ir_version:
        raise FrontendError(f"{file}: expected an ONNX model, got {len(data)} bytes without a graph or an IR version")
    return model


def _check(model: ModelProto, file: str, folder: Path | None, custom_ops: CustomOps) -> Source:
    _check_names(model, file)
    graph = model.graph
    if not graph.node:
        raise FrontendError(f"{file}: expected a graph with at least one node, got an empty one")
    if not graph.output:
        raise FrontendError(f"{file}: expected a graph with at least one output, got none")
    opsets = {canonical(entry.domain): entry.version for entry in model.opset_import}
    functions = functions_of(model)
    _check_supported(model, file, opsets, functions, custom_ops)
    if "" not in opsets and all(canonical(node.domain) for node in graph.node):
        # Standard operators, if any, are then in functions, which state their own opset.
        opsets[""] = KNOWN[-1]
    if "" not in opsets:
        raise FrontendError(f"{file}: expected ONNX opset {KNOWN[0]} to {KNOWN[-1]}, got no opset")
    warn_of(opsets[""], file)
    layers = layer_names(graph.node)
    _check_meaning(graph, layers, file, opsets[""])
    if (order := _order(graph, layers, file)) is not None:
        warnings.warn(FrontendWarning(f"{file}: expected nodes in topological order, got others; sorted"), stacklevel=2)
        nodes = [graph.node[index] for index in order]
        model = _without_nodes(model)
        model.graph.node.extend(nodes)
    _check_standard(model, file)
    builder = Builder(file, folder, custom_ops=custom_ops)
    return Source(model, file, builder.region(model.graph, opsets, None, None), functions, builder)


def _without_nodes(model: ModelProto) -> ModelProto:
    """Return a copy whose graph has no nodes yet."""
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.graph.ClearField("node")
    return copy


def _check_names(model: ModelProto, file: str) -> None:
    """Raise FrontendError for names that are not UTF-8, which protobuf returns as bytes."""
    names: list[object] = [entry.domain for entry in model.opset_import]
    graphs = [model.graph, *(inner for node in model.graph.node for inner in _subgraphs(node))]
    for graph in graphs:
        names.append(graph.name)
        names += [part.name for part in (*graph.input, *graph.output, *graph.initializer)]
        for node in graph.node:
            names += [node.name, node.op_type, node.domain, *node.input, *node.output]
    for name in names:
        if not isinstance(name, str):
            raise FrontendError(f"{file}: expected names in UTF-8, got {name!r}")


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs inside a node, at any depth."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
            for inner in attribute.g.node:
                yield from _subgraphs(inner)


def _check_supported(
    model: ModelProto, file: str, opsets: Mapping[str, int], functions: Functions, custom_ops: CustomOps
) -> None:
    """Raise FrontendError about all unsupported operators at once, those of subgraphs and functions included."""
    calls: list[Call] = []

    def visit(nodes: Sequence[NodeProto], outer: str, versions: Mapping[str, int]) -> None:
        for node, name in zip(nodes, layer_names(nodes), strict=True):
            domain, layer = canonical(node.domain), outer + name
            supported_here = (
                custom_ops.covers(*operator_names(domain, node.op_type))
                or converter_of(domain, node.op_type) is not None
                or is_hosted_operator(domain, node.op_type)
                or (not domain and node.op_type in CONTROL)
            )
            if not supported_here and not has_body(node, versions.get(domain, 1), functions):
                calls.append(
                    Call(spelled(domain, node.op_type), layer, next((at[:2] for at in origin_of(node).frames), None))
                )
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    visit(attribute.g.node, f"{layer}/", versions)

    visit(model.graph.node, "", opsets)
    for function in model.functions:
        visit(function.node, f"{function.name}/", {canonical(e.domain): e.version for e in function.opset_import})
    blocked = any(call.operator.startswith(_BLOCKED) for call in calls)
    shared = all(call.operator.rpartition(".")[0] in ("", "com.microsoft") for call in calls)
    library = "onnxruntime" if shared else ""
    refuse(file, "ONNX", calls, supported(), instead=_MADE_FOR_A_MACHINE if blocked else "", library=library)


_BLOCKED = "com.microsoft.nchwc."
_MADE_FOR_A_MACHINE = (
    f"{_BLOCKED}* stands for weights in the order of the processor that onnxruntime optimised the model on: "
    "have it write the model at ORT_ENABLE_EXTENDED"
)


def _check_meaning(graph: GraphProto, layers: Sequence[str], file: str, opset: int) -> None:
    """Raise FrontendError for a node whose operator has another meaning in the model's opset."""
    for index, (node, layer) in enumerate(zip(graph.node, layers, strict=True)):
        if (other := differs(node, opset)) is not None:
            raise FrontendError(message(node.op_type, *other, layer_location(layer, file, index)))


def _reads(node: NodeProto) -> set[str]:
    """Return the names that a node reads: its inputs, and the outer values that its graphs capture."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            inner = attribute.g
            own = {value.name for value in (*inner.input, *inner.initializer)}
            own |= {name for child in inner.node for name in child.output}
            names |= {name for child in inner.node for name in _reads(child)} - own
            names |= {value.name for value in inner.output} - own
    return names


def _order(graph: GraphProto, layers: Sequence[str], file: str) -> list[int] | None:
    """Return a topological order of the nodes; None if they are in one already.

    Raises FrontendError for cycles and undefined names.
    """
    known = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    known |= {tensor.values.name for tensor in graph.sparse_initializer}
    producers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    if missing := [output.name for output in graph.output if output.name not in known | producers.keys()]:
        raise FrontendError(f"{file}: expected a definition of the graph output '{missing[0]}', got none")
    reads = [sorted(_reads(node) - known) for node in graph.node]
    for index, names in enumerate(reads):
        for name in names:
            if name not in producers:
                expected, actual = "an input, an initializer or an output of a node", "which the model does not define"
                where = layer_location(layers[index], file, index)
                raise FrontendError(message(graph.node[index].op_type, expected, f"'{name}', {actual}", where))
    if all(producers[name] < index for index, names in enumerate(reads) for name in names):
        return None
    waiting = {index: {producers[name] for name in names} for index, names in enumerate(reads)}
    order: list[int] = []
    done: set[int] = set()
    while waiting:
        ready = [index for index, needs in waiting.items() if needs <= done]
        if not ready:
            index = min(waiting)
            name = next(name for name in reads[index] if producers[name] not in done)
            producer = layers[producers[name]]
            actual = f"'{name}', made by node '{producer}', which depends on it (a cycle)"
            where = layer_location(layers[index], file, index)
            raise FrontendError(message(graph.node[index].op_type, "nodes without cycles", actual, where))
        order += ready
        done.update(ready)
        for index in ready:
            del waiting[index]
    return order


_NO_INPUTS_OF_INITIALIZERS = 4
"""The IR version since which initializers need not be inputs."""


_BESIDE_THE_STANDARD = {"GroupNormalization": 21, "LayerNormalization": 17, "SimplifiedLayerNormalization": 1 << 31}
"""Operators of the default domain that the checker refuses before an opset, though models use them: onnxruntime's
optimiser writes the last two, and the first is deprecated in opsets 18 to 20."""
_UNCHECKED = "unchecked"


def _check_standard(model: ModelProto, file: str) -> None:
    """Run the checker of the onnx package on the model without its weights, which are checked when they are read."""
    bare = ModelProto(ir_version=max(model.ir_version, _NO_INPUTS_OF_INITIALIZERS))
    domains = {canonical(node.domain) for node in model.graph.node}
    opset = next((entry.version for entry in model.opset_import if not canonical(entry.domain)), 0)
    for entry in model.opset_import:
        # An opset newer than the checker's newest is checked as that one.
        newest = min(entry.version, onnx.defs.onnx_opset_version()) if not canonical(entry.domain) else entry.version
        bare.opset_import.append(onnx.helper.make_opsetid(entry.domain, newest))
        domains.discard(canonical(entry.domain))
    bare.functions.extend(model.functions)
    graph, source = bare.graph, model.graph
    graph.name = source.name or "main"
    graph.node.extend(source.node)
    for node in graph.node:
        if not canonical(node.domain) and opset < _BESIDE_THE_STANDARD.get(node.op_type, 0):
            node.domain = _UNCHECKED
            domains.add(_UNCHECKED)
    bare.opset_import.extend(onnx.helper.make_opsetid(domain, 1) for domain in sorted(domains))
    graph.input.extend(source.input)
    graph.output.extend(source.output)
    graph.initializer.extend(
        TensorProto(name=tensor.name, data_type=tensor.data_type, dims=[0])
        for tensor in (*source.initializer, *(sparse.values for sparse in source.sparse_initializer))
    )
    for value in graph.output:
        if not value.type.WhichOneof("value"):
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for value in [*graph.input, *graph.output]:
        # Shapes may be missing: you can state those of inputs; shapes and types of outputs are inferred.
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(bare)  # pyright: ignore[reportUnknownMemberType] (its PathLike names no type)
    except (onnx.checker.ValidationError, RuntimeError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise FrontendError(f"{file}: expected a model that follows the ONNX standard, got: {text}") from error
