"""Pictures of Relay for Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from whence.contrib.relay_viz.interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode
from whence.explorer.schedule.dot import digraph, draw, statement
from whence.support.errors import PipelineError, expectation
from whence.support.files import replacing, write_text

DotVizParser = DefaultVizParser
"""The parser for these pictures: a node has room for details."""
Attributes = Mapping[str, str]
_FORMATS = ("svg", "png", "pdf")


class DotGraph(VizGraph):
    """A directed graph in the language of Graphviz.

    graph_attr, node_attr, edge_attr: attributes of Graphviz; get_node_attr: further ones of a node.
    """

    def __init__(
        self,
        name: str,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
    ):
        self._name = name
        self._graph, self._edge = dict(graph_attr or {}), dict(edge_attr or {})
        self._node = {"shape": "box", **(node_attr or {})}
        self._own = get_node_attr
        self._statements: list[str] = []

    def node(self, viz_node: VizNode) -> None:
        label = "\\n".join([viz_node.type_name, *viz_node.detail.splitlines()]).replace('"', "'")
        own = dict(self._own(viz_node)) if self._own is not None else {}
        self._statements.append(statement(f"n{viz_node.identity}", **{"label": label, **self._node, **own}))

    def edge(self, viz_edge: VizEdge) -> None:
        self._statements.append(statement(f"n{viz_edge.start} -> n{viz_edge.end}", **self._edge))

    @property
    def digraph(self) -> str:
        """The graph as text of Graphviz."""
        return digraph(self._name, self._statements, **self._graph)


class DotPlotter(Plotter):
    """Writes a file per function: `NAME_FUNCTION.pdf`, or only the text, `.dot`.

    Attributes as `DotGraph`. render_kwargs: `format`: svg, png or pdf. Raises PipelineError for another one.
    """

    def __init__(
        self,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
        render_kwargs: Mapping[str, object] | None = None,
    ):
        self._attributes = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._format = str((render_kwargs or {}).get("format", "pdf"))
        if self._format not in _FORMATS:
            raise PipelineError(expectation("DotPlotter", f"format {', '.join(_FORMATS)}", self._format))
        self._name_to_graph: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        graph = self._name_to_graph[name] = DotGraph(name, *self._attributes)
        return graph

    def render(self, filename: str | None) -> None:
        """Write the text and, with Graphviz, the picture of each function. Raises PipelineError for a bad file.

        filename: the begin of their names, by default `relay`.
        """
        for name, graph in self._name_to_graph.items():
            begin = f"{filename or 'relay'}_{name}"
            write_text(Path(f"{begin}.dot"), graph.digraph)
            if (image := draw(graph.digraph, self._format)) is not None:
                with replacing(Path(f"{begin}.{self._format}")) as stream:
                    stream.write(image)
