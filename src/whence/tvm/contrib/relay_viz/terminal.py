"""Pictures of Relay as trees of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from whence.contrib.relay_viz.interface import (
    DefaultVizParser,
    Ids,
    Params,
    Plotter,
    VizEdge,
    VizGraph,
    VizNode,
    VizParser,
)
from whence.support.files import write_text
from whence.syntax.relay.expr import Expr


class TermVizParser(VizParser):
    """Nodes by their kinds alone, without details, as a line is short."""

    def __init__(self) -> None:
        self._whole = DefaultVizParser()

    def get_node_edges(self, node: Expr, relay_param: Params, node_to_id: Ids) -> tuple[VizNode | None, list[VizEdge]]:
        whole, edges = self._whole.get_node_edges(node, relay_param, node_to_id)
        return (None if whole is None else VizNode(whole.identity, whole.type_name, "")), edges


class TermGraph(VizGraph):
    """A tree per node that no other uses; what several use is written out once, and named after that."""

    def __init__(self, name: str):
        self._name = name
        self._nodes: dict[str, VizNode] = {}
        self._parts: dict[str, list[str]] = {}
        self._used: set[str] = set()

    def node(self, viz_node: VizNode) -> None:
        self._nodes[viz_node.identity] = viz_node

    def edge(self, viz_edge: VizEdge) -> None:
        self._parts.setdefault(viz_edge.end, []).append(viz_edge.start)
        self._used.add(viz_edge.start)

    def render(self) -> str:
        """The text of the graph."""
        lines, seen = [f"@{self._name}"], set[str]()
        roots = [identity for identity in self._nodes if identity not in self._used]
        pending = [(root, "", number == len(roots) - 1) for number, root in enumerate(roots)][::-1]
        while pending:
            identity, indent, is_last = pending.pop()
            node = self._nodes.get(identity)
            if node is None:
                continue
            again = identity in seen and bool(self._parts.get(identity))
            detail = " ".join(node.detail.split())
            text = f"{node.type_name} {detail}".rstrip() + (f" (as above, node {identity})" if again else "")
            lines.append(f"{indent}{'`' if is_last else '|'}--{text}")
            if again:
                continue
            seen.add(identity)
            parts = self._parts.get(identity, [])
            inner = indent + ("   " if is_last else "|  ")
            pending += [(part, inner, number == len(parts) - 1) for number, part in enumerate(parts)][::-1]
        return "\n".join(lines)


class TermPlotter(Plotter):
    """Prints the graphs, or writes them to a file."""

    def __init__(self, write: Callable[[str], None] = print):
        self._write = write
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        graph = self._name_to_graph[name] = TermGraph(name)
        return graph

    def render(self, filename: str | None) -> None:
        """Print all graphs, or write them to a file. Raises PipelineError where that cannot be written."""
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            self._write(text)
        else:
            write_text(Path(filename), f"{text}\n")
