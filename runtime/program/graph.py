"""The graph of a static model in TVM's JSON format: nodes that call kernels by name, and the places of their tensors.

    {"nodes": [{"op": "null", "name": "x", "inputs": []},
               {"op": "tvm_op", "name": "relu", "attrs": {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0",
                "func_name": "relu"}, "inputs": [[0, 0, 0]]}],
     "arg_nodes": [0], "heads": [[1, 0, 0]],
     "attrs": {"shape": ["list_shape", [[4], [4]]], "storage_id": ["list_int", [0, 1]],
               "device_index": ["list_int", [1, 1]], "dltype": ["list_str", ["float32", "float32"]]},
     "node_row_ptr": [0, 1, 2]}

An *entry* is one output of a node; `attrs` has a value for each entry, in the order of nodes. Entries with the same
storage id share memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np

from ...support.dtypes import numpy_of

NOP = "__nop"
"""The function of a node whose output is its input, seen with another shape."""
CPU = 1
"""The CPU's device type, in `device_index`."""


class Ref(NamedTuple):
    """An output of a node."""

    node: int
    output: int = 0
    version: int = 0


@dataclass(frozen=True)
class Node:
    """An argument of the graph (`op` null), or a call of a function."""

    op: str
    name: str
    inputs: tuple[Ref, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    @property
    def is_argument(self) -> bool:
        return self.op == "null"

    @property
    def function(self) -> str:
        """The function that it calls; "" for an argument."""
        return self.attrs.get("func_name", "")

    @property
    def outputs(self) -> int:
        return 1 if self.is_argument else int(self.attrs["num_outputs"])


@dataclass(frozen=True)
class Entry:
    """An output of a node: its type and its place."""

    shape: tuple[int, ...]
    dtype: str
    storage: int
    device: int = CPU
    texts: tuple[str, ...] = ()
    """The extents as text if a call decides some of them, for which `shape` has -1."""

    @property
    def numpy(self) -> np.dtype[np.generic]:
        return numpy_of(self.dtype)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.numpy.itemsize


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which they can run."""

    nodes: tuple[Node, ...]
    arguments: tuple[int, ...]
    """The nodes that are inputs and params."""
    heads: tuple[Ref, ...]
    """The outputs of the graph."""
    entries: tuple[Entry, ...]

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The number of the first entry of each node, then the number of entries."""
        return (0, *accumulate(node.outputs for node in self.nodes))

    def entry(self, ref: Ref) -> int:
        """The number of an output of a node."""
        return self.rows[ref.node] + ref.output

    def entries_of(self, node: int) -> range:
        """The numbers of the outputs of a node."""
        return range(self.rows[node], self.rows[node + 1])

    @property
    def calls(self) -> list[int]:
        """The nodes that call something."""
        return [index for index, node in enumerate(self.nodes) if not node.is_argument]

    def storage_sizes(self) -> dict[int, int]:
        """Storage id -> the bytes of the largest entry in it."""
        sizes: dict[int, int] = {}
        for entry in self.entries:
            sizes[entry.storage] = max(sizes.get(entry.storage, 0), entry.nbytes)
        return sizes

    def to_json(self, indent: int | None = None) -> str:
        """Return the graph as JSON with its keys in TVM's order."""
        attrs: dict[str, list[object]] = {
            "shape": ["list_shape", [list(entry.shape) for entry in self.entries]],
            "storage_id": ["list_int", [entry.storage for entry in self.entries]],
            "device_index": ["list_int", [entry.device for entry in self.entries]],
            "dltype": ["list_str", [entry.dtype for entry in self.entries]],
        }
        data: dict[str, object] = {
            "nodes": [_node(node) for node in self.nodes],
            "arg_nodes": list(self.arguments),
            "heads": _refs(self.heads),
            "attrs": attrs,
            "node_row_ptr": list(self.rows),
        }
        separators = (",", ":") if indent is None else None
        return json.dumps(data, indent=indent, separators=separators, ensure_ascii=False)


def _node(node: Node) -> dict[str, object]:
    data: dict[str, object] = {"op": node.op, "name": node.name}
    if not node.is_argument:
        data["attrs"] = dict(node.attrs)
    return data | {"inputs": _refs(node.inputs)}


def _refs(refs: Sequence[Ref]) -> list[list[int]]:
    return [list(ref) for ref in refs]
