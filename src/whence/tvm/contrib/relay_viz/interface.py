"""Nodes and edges of pictures of Relay, and the parts that a user may replace: parsers, graphs and plotters."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from whence.syntax.relay.expr import Call, Constant, Expr, Function, GlobalVar, Op, TupleGetItem, Var
from whence.syntax.relay.nodes import children

Params: TypeAlias = Mapping[str, Any]
"""Arrays by the names of arguments."""
Ids: TypeAlias = Mapping[Expr, str]
"""Expression -> the name of its node."""


@dataclass(frozen=True)
class VizNode:
    """A node of a picture."""

    identity: str
    type_name: str
    """Its kind, in a few words."""
    detail: str
    """More about it, in lines."""


@dataclass(frozen=True)
class VizEdge:
    """An edge of a picture, from a part to the expression that uses it."""

    start: str
    """The name of a node."""
    end: str


class VizParser(abc.ABC):
    """Says how an expression is drawn."""

    @abc.abstractmethod
    def get_node_edges(self, node: Expr, relay_param: Params, node_to_id: Ids) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of an expression, None for none, and the edges to it."""


class VizGraph(abc.ABC):
    """The picture of a function."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(abc.ABC):
    """Draws the graphs of a module."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """The graph of a function, still empty."""

    @abc.abstractmethod
    def render(self, filename: str | None) -> None:
        """Draw all graphs, to a file or elsewhere."""


class DefaultVizParser(VizParser):
    """A node per expression but for operators, which their calls name; attributes, shapes and dtypes are details."""

    def get_node_edges(self, node: Expr, relay_param: Params, node_to_id: Ids) -> tuple[VizNode | None, list[VizEdge]]:
        identity = node_to_id[node]
        parts = [part for part in children(node) if not isinstance(part, Op)]
        edges = [VizEdge(node_to_id[part], identity) for part in parts]
        match node:
            case Op():
                return None, []
            case Var(name_hint=str(name)):
                kind = "Param" if name in relay_param else "Var"
                return VizNode(identity, f"{kind}({name})", _type(node.type_annotation)), []
            case GlobalVar(name_hint=str(name)):
                return VizNode(identity, f"GlobalVar({name})", ""), []
            case Constant():
                array = node.data
                value = f"value: {array}\n" if array.ndim == 0 else ""
                return VizNode(identity, "Const", f"{value}{_shape(array.shape, array.dtype)}"), []
            case Call(op=Op() as operator):
                return VizNode(identity, f"Call {operator.name}", _attributes(node)), edges
            case Function():
                composite = (node.attrs or {}).get("Composite", "") if node.attrs else ""
                return VizNode(identity, f"Func {composite}".strip(), _parameters(node)), edges
            case TupleGetItem():
                return VizNode(identity, f"TupleGetItem({node.index})", ""), edges
            case _:
                return VizNode(identity, type(node).__name__, ""), edges


def _attributes(call: Call) -> str:
    attributes = call.attrs
    names = attributes.keys() if attributes else ()
    return "\n".join(f"{name}: {attributes[name]}" for name in names)


def _parameters(function: Function) -> str:
    return f"params: {', '.join(var.name_hint for var in function.params)}" if function.params else ""


def _type(annotation: Any) -> str:
    shape = getattr(annotation, "shape", None)
    return "" if shape is None else _shape(shape, annotation.dtype)


def _shape(shape: Any, dtype: Any) -> str:
    return f"shape: ({', '.join(map(str, shape))})\ndtype: {dtype}"
