"""Variables that a graph changes: where each is a handle, found before steps are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .graphs import Graph, NodeInfo, Ref
from .restored import HANDLES, Key, variable_key

ADDING = ("AssignAddVariableOp", "AssignSubVariableOp", "AssignAdd", "AssignSub")
UPDATES = ("AssignVariableOp", "Assign", *ADDING)
"""Operators that give a variable, input 0, a value."""
_FIRST = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1}
"""Where what a node hands to the graphs that it runs begins among its inputs."""
_LOOPS = ("While", "StatelessWhile")


def changing(graph: Graph, bodies: Callable[[NodeInfo], Mapping[str, Graph]]) -> set[Graph]:
    """Return which of a graph and those that it runs give a variable a value, or run one that does."""
    waiting, runners = [graph], {graph: list[Graph]()}
    while waiting:
        current = waiting.pop()
        for node in current.nodes.values():
            for body in bodies(node).values():
                if body not in runners:
                    runners[body] = []
                    waiting.append(body)
                runners[body].append(current)
    waiting = [g for g in runners if any(node.op in UPDATES for node in g.nodes.values())]
    graphs = set(waiting)
    while waiting:
        outer = [g for g in runners[waiting.pop()] if g not in graphs]
        graphs.update(outer)
        waiting += outer
    return graphs


def written(
    graph: Graph, bound: Mapping[str, Key], bodies: Callable[[NodeInfo], Mapping[str, Graph]]
) -> dict[Key, None]:
    """Return the variables that a graph and those it runs give values, in order, for the handles that it is given."""
    keys_written: dict[Key, None] = {}
    waiting: list[tuple[Graph, Mapping[str, Key]]] = [(graph, bound)]
    seen: set[tuple[Graph, frozenset[tuple[str, Key]]]] = set()
    while waiting:
        current, handles = waiting.pop()
        if (current, frozenset(handles.items())) in seen:
            continue
        seen.add((current, frozenset(handles.items())))
        for node in current.nodes.values():
            keys = [_key(current, handles, ref) for ref in node.inputs]
            if node.op in UPDATES and keys and keys[0] is not None:
                keys_written[keys[0]] = None
            for inner in bodies(node).values():
                handed = zip(inner.arguments, keys[_FIRST.get(node.op, 0) :], strict=False)
                waiting.append((inner, {name: key for name, key in handed if key is not None}))
    return keys_written


def _key(graph: Graph, handles: Mapping[str, Key], ref: Ref) -> Key | None:
    """Return the variable that an edge stands for."""
    for _ in range(len(graph.nodes) + 1):
        if ref.name in handles:
            return handles[ref.name]
        node = graph.nodes.get(ref.name)
        if node is None:
            return None
        if node.op in HANDLES:
            return variable_key(node)
        if node.op in _LOOPS and ref.slot < len(node.inputs):
            ref = node.inputs[ref.slot]
        elif node.op == "Identity" and node.inputs:
            ref = node.inputs[0]
        else:
            return None
    return None
