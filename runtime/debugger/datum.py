"""`debug_datum`: the facts about a graph and its last run, under the names of TVM's debug executor."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..program.graph import Graph
from ..values.tensors import Tensor
from .dump import graph_dump


class DebugResult:
    """The nodes of the graph dump, and the tensors and the table of the last run.

    tensors: returns the dumped tensors by key. table: returns the table, sorted by time or not.
    """

    def __init__(self, graph: Graph, tensors: Callable[[], Mapping[str, Tensor]], table: Callable[[bool], str]):
        self._dump: dict[str, Any] = json.loads(graph_dump(graph))
        self._graph = graph
        self._tensors = tensors
        self._table = table

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        return self._dump["nodes"]

    def get_graph_node_shapes(self) -> list[list[int]]:
        """Return the shape of every entry."""
        return [list(entry.shape) for entry in self._graph.entries]

    def get_graph_node_dtypes(self) -> list[str]:
        """Return the dtype of every entry."""
        return [entry.dtype for entry in self._graph.entries]

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """Return the number of outputs of a node of `get_graph_nodes`."""
        return 1 if node["op"] == "param" else int(node["attrs"]["num_outputs"])

    def get_output_tensors(self) -> dict[str, Tensor]:
        """`<node>____topo-index:<i>____output-num:<k>` -> the tensor in the last run; empty before one."""
        return dict(self._tensors())

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """Return the table of the last run."""
        return self._table(sort_by_time)

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        print(self.get_debug_result(sort_by_time))
