"""Pictures of Relay modules, by TVM's names: in the terminal, or as DOT.

>>> relay_viz.RelayVisualizer(mod, params).render()
>>> relay_viz.RelayVisualizer(mod, params, relay_viz.DotPlotter(), relay_viz.DotVizParser()).render("net")
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.contrib.relay_viz.dot import DotGraph as DotGraph
from whence.contrib.relay_viz.dot import DotPlotter as DotPlotter
from whence.contrib.relay_viz.dot import DotVizParser as DotVizParser
from whence.contrib.relay_viz.interface import DefaultVizParser as DefaultVizParser
from whence.contrib.relay_viz.interface import Params, Plotter, VizParser
from whence.contrib.relay_viz.interface import VizEdge as VizEdge
from whence.contrib.relay_viz.interface import VizGraph as VizGraph
from whence.contrib.relay_viz.interface import VizNode as VizNode
from whence.contrib.relay_viz.terminal import TermGraph as TermGraph
from whence.contrib.relay_viz.terminal import TermPlotter as TermPlotter
from whence.contrib.relay_viz.terminal import TermVizParser as TermVizParser
from whence.relay.module import IRModule
from whence.support.doors import doors
from whence.syntax.relay.expr import Expr
from whence.syntax.relay.nodes import post_order


@doors()
class RelayVisualizer:
    """A module as graphs, one per function.

    relay_param: arrays of arguments of `@main` by name, which are drawn as parameters. plotter: draws the graphs;
    parser: says what the node and the edges of an expression are. By default these are for the terminal.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Params | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ):
        self._plotter = plotter if plotter is not None else TermPlotter()
        self._parser = parser if parser is not None else TermVizParser()
        self._params: Params = relay_param if relay_param is not None else {}
        for var, function in relay_mod.functions.items():
            graph = self._plotter.create_graph(var.name_hint)
            ids: dict[Expr, str] = {}
            for node in post_order(function):
                ids.setdefault(node, str(len(ids)))
            self._draw(graph, ids)

    def render(self, filename: str | None = None) -> None:
        """Draw all graphs, to a file, or where the plotter does by default."""
        self._plotter.render(filename)

    def _draw(self, graph: VizGraph, ids: Mapping[Expr, str]) -> None:
        """Give a graph its nodes, and then its edges."""
        edges: list[VizEdge] = []
        for expression in ids:
            node, more = self._parser.get_node_edges(expression, self._params, ids)
            if node is not None:
                graph.node(node)
            edges += more
        for edge in edges:
            graph.edge(edge)
