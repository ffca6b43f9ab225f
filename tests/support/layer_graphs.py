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


_OP = re.compile(r'\s*(?:(%\w+)(?::(\d+))? = )?"([\w.]+)"\(([^)]*)\)')
_LOCATION = re.compile(r"loc\((.*)\)$")


@dataclass
class _Op:
    """An op of StableHLO, by the names of values that it has in the text."""

    kind: str
    results: list[str]
    operands: list[str]
    callee: str
    location: str


@dataclass
class _Function:
    """A function of StableHLO."""

    arguments: dict[str, str]
    """What the text calls an argument -> its name in Python."""
    ops: list[_Op]


def stablehlo_graph(text: str) -> LayerGraph:
    """Of the text of a program of JAX without loops and branches, of which weights are constants or arguments.

    A constant is called `constant`, the second `constant_1`, in the order in which calls come to them.
    """
    locations = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
    functions = _functions(text.splitlines(), locations)
    graph, constants, taken = LayerGraph(), dict[str, str](), dict[str, int]()

    def numbered(name: str) -> str:
        number = taken[name] = taken.get(name, -1) + 1
        return f"{name}_{number}" if number else name

    def run(function: _Function, arguments: list[str], path: list[str]) -> list[str]:
        """Add the layers of a function, at the path of its call, and say what it returns."""
        values = dict(zip(function.arguments, arguments, strict=True))
        before = ("", "")
        for op in function.ops:
            operands = [values[name] for name in op.operands]
            if op.kind == "func.return":
                return operands
            if op.kind == "stablehlo.constant":
                number = f"_{len(constants)}" if constants else ""
                values[op.results[0]] = constants.setdefault(op.results[0], f"constant{number}")
                continue
            below = _layer_path(op, in_main=not path)
            whole = [*path, *below]
            # Ops at one place, with nothing but constants between them, are one layer.
            if op.location == "unknown" or op.location != before[0]:
                before = op.location, numbered("/".join(whole if below else [*path, op.kind.partition(".")[2]]))
            if op.kind == "func.call":
                values.update(zip(op.results, run(functions[op.callee], operands, whole), strict=True))
                continue
            # A value has a name of its own wherever it is made.
            made = [f"{before[1]}:{len(graph.makes.get(before[1], ()))}" for _ in op.results]
            values.update(zip(op.results, made, strict=True))
            graph.add(before[1], set(operands), set(made))
        raise AssertionError("a function that does not return")

    run(functions["main"], list(functions["main"].arguments.values()), [])
    return graph


def _functions(lines: list[str], locations: Mapping[str, str]) -> dict[str, _Function]:
    """The functions of a text; ops in the regions of others are left out: they say what these do."""
    functions: dict[str, _Function] = {}
    function, waiting, depth = _Function({}, []), list[_Op](), 0
    for line in lines:
        match, ending = _OP.match(line), _LOCATION.search(line)
        location = locations.get(ending[1], ending[1]) if ending else ""
        if line.lstrip().startswith("^bb0") and depth == 2:
            arguments = re.findall(r"(%\w+): [^ ]+ loc\((.*?)\)(?=, %|\):)", line)
            function.arguments.update((name, _argument(name, text)) for name, text in arguments)
        elif match is not None:
            result, count, kind, operands = match.groups()
            results = [f"{result}#{at}" for at in range(int(count))] if count else [result] if result else []
            callee = re.search(r"callee = @(\w+)", line)
            op = _Op(kind, results, re.findall(r"%\w+(?:#\d+)?", operands), callee[1] if callee else "", location)
            if kind == "func.func":
                symbol = re.search(r'sym_name = "(\w+)"', line)
                assert symbol is not None
                function = functions[symbol[1]] = _Function({}, [])
            elif depth == 2:
                assert kind not in ("stablehlo.while", "stablehlo.case"), f"{kind}, which this does not read"
                function.ops.append(op)
            if line.endswith("({"):
                waiting.append(op)
                depth += 1
        elif line.lstrip().startswith("})"):
            # What an op's regions are closed with has its location.
            waiting.pop().location = location
            depth -= 1
    return functions


def _argument(name: str, location: str) -> str:
    """The name of an argument: that of its path in the arguments of the function in Python."""
    return ".".join(re.findall(r"\w+", location)) if location.startswith('"') else name


def _layer_path(op: _Op, *, in_main: bool) -> list[str]:
    """The modules and functions around an op, and its primitive: `"jit(f)/CNN/jit(relu)"` is CNN, relu."""
    match = re.match(r'"([^"]*)"(?!:)', op.location)
    parts = match[1].rstrip(":").split("/") if match else []
    if parts and parts[0].startswith("jit(") and (in_main or len(parts) > 1):
        del parts[0]
    names = [re.sub(r"^(?:\w+\()+|\)+$", "", part) for part in parts]
    return [name for name in names if name not in ("", "jit", "closed_call", "custom_jvp_call")]
