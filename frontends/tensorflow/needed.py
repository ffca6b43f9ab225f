"""The nodes of a graph that its results need, in an order in which they can run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

from ...support.errors import FrontendError
from .graphs import Graph, NodeInfo


def needed_nodes(graph: Graph, roots: Sequence[str], acts: Callable[[NodeInfo], bool], file: str) -> list[NodeInfo]:
    """Return the nodes that `roots` need, each after those it depends on.

    acts: whether a node changes variables. Those come before others through control edges, too, and are needed where
    these lead to them; other control edges only order nodes.
    Raises FrontendError for edges that lead nowhere, and for a circle.
    """
    reached = _reached(graph, roots, lambda node: (*(ref.name for ref in node.inputs), *node.controls), file)
    acting = [name for name, node in reached.items() if acts(node)]
    needed = _reached(graph, [*roots, *acting], lambda node: [ref.name for ref in node.inputs], file)
    return [node for node in _in_order(graph, reached, file) if node.name in needed]


def _reached(
    graph: Graph, roots: Iterable[str], before: Callable[[NodeInfo], Iterable[str]], file: str
) -> dict[str, NodeInfo]:
    """Return the nodes that `roots` lead to."""
    reached: dict[str, NodeInfo] = {}
    waiting = [("", root) for root in roots]
    while waiting:
        reader, name = waiting.pop()
        if name in reached or name in graph.argument_set:
            continue
        if name not in graph.nodes:
            where = f"function '{graph.name}'" if graph.name else "the graph"
            what = f"node '{reader}'" if reader else where
            raise FrontendError(f"{file}: {what}: expected inputs that are nodes of {where}, got '{name}'")
        reached[name] = node = graph.nodes[name]
        waiting += [(name, earlier) for earlier in before(node)]
    return reached


def _in_order(graph: Graph, reached: dict[str, NodeInfo], file: str) -> list[NodeInfo]:
    """Return nodes after those that they depend on, else in the order of the file."""
    users: dict[str, list[NodeInfo]] = {name: [] for name in reached}
    left: dict[str, int] = {}
    for node in reached.values():
        before = {ref.name for ref in node.inputs} | set(node.controls)
        before &= reached.keys()
        left[node.name] = len(before)
        for name in before:
            users[name].append(node)
    ready = [(node.index, node.name) for node in reached.values() if not left[node.name]]
    heapq.heapify(ready)
    ordered: list[NodeInfo] = []
    while ready:
        _, name = heapq.heappop(ready)
        ordered.append(reached[name])
        for user in users[name]:
            left[user.name] -= 1
            if not left[user.name]:
                heapq.heappush(ready, (user.index, user.name))
    if len(ordered) < len(reached):
        name = min(name for name, count in left.items() if count)
        raise FrontendError(f"{file}: node '{name}': expected inputs that do not depend on it, got a circle")
    return ordered
