"""Reads a model and checks it, before anything is converted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto, TensorProto

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...support.errors import FrontendError
from .convert import converter_of
from .opsets import KNOWN, differs, warn_of

_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class Source:
    """A loaded and checked model."""

    model: ModelProto
    file: str
    """The name of the file, without folders; what locations say."""
    folder: Path | None
    """Where external data may lie; None for a model that is in memory only."""
    opset: int
    layers: tuple[str, ...]
    """The name of each node."""


def load(model: ModelProto | bytes | str | os.PathLike[str]) -> Source:
    """Read and check a model; raises FrontendError when it is not one, broken or uses unsupported operators."""
    if isinstance(model, ModelProto):
        return _check(model, "<memory>", None)
    if isinstance(model, bytes):
        return _check(_parse(model, "<memory>"), "<memory>", None)
    path = Path(model)
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FrontendError(f"{path}: expected an ONNX model, got no such file") from error
    except OSError as error:
        raise FrontendError(f"{path}: expected a readable ONNX model, got: {error.strerror}") from error
    return _check(_parse(data, str(path)), path.name, path.parent)


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


def _check(model: ModelProto, file: str, folder: Path | None) -> Source:
    _check_names(model, file)
    nodes = model.graph.node
    if not nodes:
        raise FrontendError(f"{file}: expected a graph with at least one node, got an empty one")
    layers = _layer_names(nodes)
    opset = next((entry.version for entry in model.opset_import if entry.domain in _DOMAINS), None)
    _check_supported(nodes, layers)
    if opset is None:
        raise FrontendError(f"{file}: expected ONNX opset {KNOWN[0]} to {KNOWN[-1]}, got no opset")
    warn_of(opset, file)
    source = Source(model, file, folder, opset, layers)
    _check_meaning(source)
    _check_order(source)
    _check_standard(source)
    return source


def _check_names(model: ModelProto, file: str) -> None:
    """Names that are not UTF-8 come as bytes."""
    graph = model.graph
    names: list[object] = [graph.name, *(entry.domain for entry in model.opset_import)]
    names += [part.name for part in (*graph.input, *graph.output, *graph.initializer)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
    for name in names:
        if not isinstance(name, str):
            raise FrontendError(f"{file}: expected names in UTF-8, got {name!r}")


def _layer_names(nodes: Sequence[NodeProto]) -> tuple[str, ...]:
    """`node.name`, else `<op_type>_<k>`, k counting the unnamed nodes of that type (as in TVM)."""
    unnamed: dict[str, int] = {}
    names: list[str] = []
    for node in nodes:
        if not node.name:
            unnamed[node.op_type] = unnamed.get(node.op_type, -1) + 1
        names.append(node.name or f"{node.op_type}_{unnamed[node.op_type]}")
    return tuple(names)


def _check_supported(nodes: Sequence[NodeProto], layers: Sequence[str], limit: int = 3) -> None:
    """Complain about all unsupported operators at once; at most `limit` nodes of each are spelled."""
    found: dict[str, list[str]] = {}
    for node, layer in zip(nodes, layers, strict=True):
        if converter_of(node.domain, node.op_type) is None:
            name = node.op_type if node.domain in _DOMAINS else f"{node.domain}.{node.op_type}"
            found.setdefault(name, []).append(layer)
    if found:
        parts: list[str] = []
        for name, users in sorted(found.items()):
            more = f" and {len(users) - limit} more" if len(users) > limit else ""
            parts.append(f"{name} ({'node' if len(users) == 1 else 'nodes'} {', '.join(users[:limit])}{more})")
        raise FrontendError(f"The following operators are not supported for frontend ONNX: {', '.join(parts)}")


def _check_meaning(source: Source) -> None:
    """Complain about a node whose operator meant something else in the model's opset."""
    for index, (node, layer) in enumerate(zip(source.model.graph.node, source.layers, strict=True)):
        if (other := differs(node, source.opset)) is not None:
            raise FrontendError(message(node.op_type, *other, layer_location(layer, source.file, index)))


def _check_order(source: Source) -> None:
    """Each node must read what stands before it: inputs, initializers, outputs of earlier nodes."""
    graph = source.model.graph
    known = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    producers = {name: index for index, node in enumerate(graph.node) for name in node.output}
    for index, node in enumerate(graph.node):
        for name in node.input:
            if not name or name in known:
                continue
            if name in producers:
                maker = source.layers[producers[name]]
                expected = "nodes in topological order"
                got = f"'{name}', made by node '{maker}', which is not before it (a cycle, or nodes out of order)"
            else:
                expected = "an input, an initializer or an output of a node"
                got = f"'{name}', which the model does not define"
            where = layer_location(source.layers[index], source.file, index)
            raise FrontendError(message(node.op_type, expected, got, where))
        known.update(node.output)
    for output in graph.output:
        if output.name not in known:
            raise FrontendError(f"{source.file}: expected a definition of the graph output '{output.name}', got none")
    if not graph.output:
        raise FrontendError(f"{source.file}: expected a graph with at least one output, got none")


def _check_standard(source: Source) -> None:
    """Run the checker of the onnx package, without weights: they are checked when they are read."""
    bare = ModelProto(ir_version=source.model.ir_version)
    for entry in source.model.opset_import:
        # A standard newer than the checker's is checked by the newest that it has.
        newest = min(entry.version, onnx.defs.onnx_opset_version()) if entry.domain in _DOMAINS else entry.version
        bare.opset_import.append(onnx.helper.make_opsetid(entry.domain, newest))
    graph, given = bare.graph, source.model.graph
    graph.name = given.name or "main"
    graph.node.extend(given.node)
    graph.input.extend(given.input)
    graph.output.extend(given.output)
    graph.initializer.extend(
        TensorProto(name=tensor.name, data_type=tensor.data_type, dims=[0]) for tensor in given.initializer
    )
    for value in [*graph.input, *graph.output]:
        # Shapes may be missing: those of inputs the user can give, those of outputs are inferred.
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(bare)  # pyright: ignore[reportUnknownMemberType] (its PathLike names no type)
    except (onnx.checker.ValidationError, RuntimeError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise FrontendError(f"{source.file}: expected a model that follows the ONNX standard, got: {text}") from error
