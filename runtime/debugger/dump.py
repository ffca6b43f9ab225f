"""The debugger's folder: the graph, every tensor of a run, and its times, in files with TVM's names."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ...support.errors import FrontendError
from ...support.files import replacing
from ..program.graph import Graph
from ..values.tensors import Tensor

GRAPH = "_tvmdbg_graph_dump.json"
TRACE = "_tvmdbg_execution_trace.json"
TENSORS = "output_tensors.params"
LAYERS = "output_tensors.layers.json"
_FOLDER = "_tvmdbg_device_CPU_0"


def tensor_key(node: str, position: int, output: int) -> str:
    """Return the name of a tensor in `output_tensors.params`."""
    return f"{node}____topo-index:{position}____output-num:{output}"


class DumpFolder:
    """The folder `<root>/_tvmdbg_device_CPU_0`, which only its owner can read.

    root: created unless it exists; None: a new temporary folder. Raises FrontendError when it cannot be written.
    """

    path: Path

    def __init__(self, root: str | PathLike[str] | None = None):
        try:
            self.root = Path(tempfile.mkdtemp(prefix="tvmdbg_") if root is None else root)
            self._owns_root = root is None or not self.root.exists()
            self.path = self.root / _FOLDER
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FrontendError(f"{root}: expected a folder to write dumps to, got: {error.strerror}") from error

    def write(self, name: str, data: str | bytes | bytearray) -> Path:
        """Write a file, whole or not at all; raises PipelineError when that fails."""
        path = self.path / name
        with replacing(path) as stream:
            stream.write(data.encode() if isinstance(data, str) else data)
        return path

    def remove(self) -> None:
        """Remove the dumps, and the root if it was created for them."""
        shutil.rmtree(self.root if self._owns_root else self.path, ignore_errors=True)


def graph_dump(graph: Graph) -> str:
    """Return the graph for tools: inputs by name, functions as ops, and shape and dtype of a node's first output."""
    data: dict[str, Any] = json.loads(graph.to_json())
    for position, node in enumerate(data["nodes"]):
        entry = graph.entries[graph.rows[position]] if graph.nodes[position].outputs else None
        node["inputs"] = [graph.nodes[ref.node].name for ref in graph.nodes[position].inputs]
        node["op"] = "param" if graph.nodes[position].is_argument else graph.nodes[position].function
        node.setdefault("attrs", {})["T"] = f"type: {entry.dtype if entry else ''}"
        node["shape"] = list(entry.shape) if entry else []
    return json.dumps(data, indent=4)


def dumped(graph: Graph, tensors: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
    """Return every output of every node, including arguments, under its name in `output_tensors.params`."""
    return {
        tensor_key(graph.nodes[position].name, position, output): array
        for position, outputs in enumerate(tensors)
        for output, array in enumerate(outputs)
    }


def layers_dump(graph: Graph, layers: Mapping[str, Sequence[str]]) -> str:
    """Return JSON: layer -> the keys of the tensors to which it contributes."""
    keys: dict[str, list[str]] = {}
    for position, node in enumerate(graph.nodes):
        for layer in layers.get(node.name, ()):
            keys.setdefault(layer, []).extend(tensor_key(node.name, position, k) for k in range(node.outputs))
    return json.dumps(keys, indent=4, ensure_ascii=False)


def trace_dump(nodes: Sequence[tuple[str, float, Sequence[str]]]) -> str:
    """Return a Chrome trace of nodes (name, seconds and layers) that run one after the other from 0 on."""
    events: list[dict[str, object]] = []
    start = 0.0
    for name, seconds, layers in nodes:
        common = {"tid": 1, "pid": 1, "name": name}
        arguments = {"args": {"layers": list(layers)}} if layers else {}
        events.append({"ts": start * 1e6, **common, "ph": "B", **arguments})
        start += seconds
        events.append({"ts": start * 1e6, **common, "ph": "E"})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, ensure_ascii=False)
