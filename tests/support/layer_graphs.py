"""The layers of a model file and what flows between them, read from the file by other means than the compiler's.

Each reader gives a `LayerGraph`: what each layer reads and makes, by the names of tensors, weights included.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import onnx
from tflite_builder import tflite

from whence.frontends.tensorflow.messages import parse


@dataclass
class LayerGraph:
    """The layers of a model."""

    reads: dict[str, set[str]] = field(default_factory=dict[str, "set[str]"])
    """Layer -> the names of the tensors and weights that it reads."""
    makes: dict[str, set[str]] = field(default_factory=dict[str, "set[str]"])
    """Layer -> the names of the tensors that it makes."""

    def add(self, layer: str, reads: set[str], makes: set[str]) -> None:
        self.reads.setdefault(layer, set()).update(reads)
        self.makes.setdefault(layer, set()).update(makes)

    def readers(self, tensor: str) -> set[str]:
        """The layers that read a tensor or weight; that of a weight called `<layer>.<weight>` is said by its name."""
        return {layer for layer, names in self.reads.items() if tensor in names or tensor.startswith(f"{layer}.")}

    def downstream(self, layers: set[str]) -> set[str]:
        """These layers and all that something they make goes into, near or far."""
        takers: dict[str, set[str]] = {}
        for layer, names in self.reads.items():
            for name in names:
                takers.setdefault(name, set()).add(layer)
        reached, waiting = set(layers), list(layers)
        while waiting:
            for tensor in self.makes[waiting.pop()]:
                new = takers.get(tensor, set[str]()) - reached
                reached |= new
                waiting += new
        return reached


def onnx_graph(path: Path) -> LayerGraph:
    """Of nodes with names."""
    graph = LayerGraph()
    for node in onnx.ModelProto.FromString(path.read_bytes()).graph.node:
        graph.add(node.name, set(node.input) - {""}, set(node.output) - {""})
    return graph


def tflite_graph(path: Path) -> LayerGraph:
    """Of the first subgraph; a layer is called after its outputs."""
    main: Any = tflite.ModelT.InitFromObj(tflite.Model.GetRootAsModel(path.read_bytes(), 0)).subgraphs[0]
    names = [tensor.name.decode() for tensor in main.tensors]
    graph = LayerGraph()
    for operator in main.operators:
        made = [names[at] for at in operator.outputs]
        graph.add(", ".join(made), {names[at] for at in operator.inputs if at >= 0}, set(made))
    return graph


def torch_graph(path: Path) -> LayerGraph:
    """Of an exported program; weights have the names that the module has for them."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("models/model.json"))
        module = json.loads(archive.read(name))["graph_module"]
    targets: dict[str, str] = {}
    for spec in module["signature"]["input_specs"]:
        ((_, entry),) = spec.items()
        target = next((entry[key] for key in ("parameter_name", "buffer_name") if key in entry), None)
        if target is not None:
            targets[entry["arg"]["name"]] = target
    graph = LayerGraph()
    for node in module["graph"]["nodes"]:
        stack = node["metadata"].get("nn_module_stack", "")
        owner = stack.split(";")[-1].split(",")[1] if stack else ""
        layer = f"{owner}/{node['name']}" if owner else node["name"]
        reads = {targets.get(name, name) for name in _named([entry["arg"] for entry in node["inputs"]])}
        graph.add(layer, reads, set(_named(node["outputs"])))
    return graph


def _named(nest: Any) -> Iterator[str]:
    """The names of the tensors in a part of a program's document."""
    if isinstance(nest, list):
        for item in cast("list[Any]", nest):
            yield from _named(item)
    elif isinstance(nest, dict):
        for key, item in cast("dict[str, Any]", nest).items():
            if key in ("as_tensor", "as_tensors"):
                entries = cast("list[Any]", item) if isinstance(item, list) else [item]
                yield from (entry["name"] for entry in entries)
            elif key == "as_name" and isinstance(item, str):
                yield item
            else:
                yield from _named(item)


def tensorflow_graph(data: bytes) -> LayerGraph:
    """Of a GraphDef without functions; what reads a variable or passes a weight on is no layer."""
    graph = LayerGraph()
    nodes: Mapping[str, Any] = {node.name: node for node in parse("GraphDef", data, "graph").node}

    def origin(text: str) -> str:
        name = re.sub(r":\d+$", "", text)
        passed = name
        while nodes[passed].op == "Identity":
            passed = re.sub(r":\d+$", "", nodes[passed].input[0])
        return passed if nodes[passed].op == "Const" else name

    for name, node in nodes.items():
        if node.op not in ("Const", "Placeholder", "NoOp") and nodes[origin(name)].op != "Const":
            graph.add(name, {origin(text) for text in node.input if not text.startswith("^")}, {name})
    return graph


def keras_graph(path: Path) -> LayerGraph:
    """Of a .keras archive without models inside; a weight is called `<layer>.<weight>` and read by its layer."""
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))["config"]
        graph = LayerGraph()
        before = ""
        for entry in config["layers"]:
            name = entry["config"]["name"]
            inbound = entry.get("inbound_nodes")
            reads = set(_histories(inbound)) if inbound is not None else {before}
            if entry["class_name"] != "InputLayer":
                graph.add(name, reads, {name})
            before = name
    return graph


def _histories(nest: Any) -> Iterator[str]:
    if isinstance(nest, list):
        for item in cast("list[Any]", nest):
            yield from _histories(item)
    elif isinstance(nest, dict):
        entries = cast("dict[str, Any]", nest)
        if "keras_history" in entries:
            yield entries["keras_history"][0]
        else:
            for item in entries.values():
                yield from _histories(item)
