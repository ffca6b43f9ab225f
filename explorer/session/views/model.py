"""The view of graphs: nodes in order, with what they read."""

from __future__ import annotations

from collections import defaultdict

from ....support.names import shown
from ...report import count, percent, some, table
from ..document import Graph, Session
from .choice import Choice, missing, names_of
from .overview import call_seconds


def model(session: Session, choice: Choice) -> str:
    """The graphs of the model and of kernel calls: a line per node, with its inputs, layers, and share of the time."""
    if not session.graphs:
        raise missing(session, "graphs")
    level = {"model": "model", "relay": "calls", "calls": "calls"}.get(choice.level or "", choice.level)
    return "\n".join(_graph(session, graph) for graph in session.graphs if level in (None, graph.level))


def _graph(session: Session, graph: Graph) -> str:
    nodes, inputs = graph.nodes, defaultdict[int, list[str]](list)
    for source, target in zip(graph.edges.source, graph.edges.target, strict=True):
        inputs[target].append(f"%{source}")
    shares = shares_of_nodes(session, graph)
    rows = [
        (
            f"%{n}",
            nodes.kind[n],
            nodes.label[n],
            nodes.scope[n],
            some(inputs[n]),
            nodes.about[n],
            names_of(session, session.sets[nodes.set[n]] if nodes.set[n] >= 0 else (), 3),
            percent(shares[n]) if shares else "",
        )
        for n in range(len(nodes.label))
    ]
    title = f"{graph.level} {shown(graph.title)}: {count(len(rows), 'node')}, {count(len(graph.edges.source), 'edge')}"
    return f"{title}\n{table(rows, ('', 'kind', 'node', 'scope', 'reads', 'type', 'layers', 'time'))}"


def shares_of_nodes(session: Session, graph: Graph) -> list[float]:
    """Return the part of the measured time of each node: of a call its own, of layers theirs; empty without times."""
    spent = call_seconds(session)
    total = sum(spent.values())
    if not total:
        return []
    layers: dict[int, float] = defaultdict(float)
    for times in session.times:
        for layer, part, _ in times.layers:
            layers[layer] += part
    if graph.level == "calls":
        return [spent[call] / total if call >= 0 else 0.0 for call in graph.nodes.call]
    kinds = session.layers.kind
    own = [{row for row in session.sets[k] if kinds[row] == "layer"} if k >= 0 else set[int]() for k in graph.nodes.set]
    return [sum(layers[row] for row in rows) / total for rows in own]
