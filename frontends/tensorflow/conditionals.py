"""Branches as graphs had them before functions: nodes between Switch and Merge become an If node with graphs.

A Switch hands its data to what belongs to one value of its condition, and a Merge takes what came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from .frames import Part, argument_of, part
from .graphs import Graph, NodeInfo, Ref

MERGE, SWITCHES = "Merge", ("Switch", "_SwitchN")
Case: TypeAlias = "tuple[Ref, int]"
"""A condition, and the output of the Switch nodes by it that a value depends on."""


def without_merges(graph: Graph) -> Graph:
    """Return a graph without frames in which conditionals are If or Case nodes, those that its nodes run included.

    Merge nodes of which nobody can say what they choose between stay.
    """
    nodes = {
        name: replace(node, bodies={role: without_merges(body) for role, body in node.bodies.items()})
        if node.bodies
        else node
        for name, node in graph.nodes.items()
    }
    graph = replace(graph, nodes=nodes)
    if not any(node.op in SWITCHES for node in nodes.values()):
        return graph
    cases = _cases(graph)
    groups = _groups(graph, cases)
    nodes = dict(nodes)
    for (condition, _), merges in groups.items():
        choice = _choice(graph, cases, condition, merges, nodes)
        nodes[choice.name] = choice
        for slot, (merge, _) in enumerate(merges):
            nodes[merge.name] = NodeInfo(merge.name, "Identity", (Ref(choice.name, slot),), (), {}, merge.index)
    return replace(graph, nodes=nodes)


def _condition(graph: Graph, ref: Ref) -> Ref:
    """Return what a condition is called where it is computed."""
    while (node := graph.nodes.get(ref.name)) is not None and node.op == "Identity" and node.inputs:
        ref = node.inputs[0]
    return ref


def _ordered(graph: Graph) -> list[NodeInfo]:
    """Return the nodes after those that they depend on."""
    ordered: dict[str, NodeInfo] = {}
    open_: set[str] = set()
    for first in graph.nodes:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            node = graph.nodes.get(name)
            if node is None or name in ordered:
                waiting.pop()
                continue
            before = [*(ref.name for ref in node.inputs), *node.controls]
            left = [earlier for earlier in before if earlier in graph.nodes.keys() - ordered.keys() - open_]
            if left and name not in open_:
                open_.add(name)
                waiting += left
                continue
            open_.discard(name)
            ordered[name] = node
            waiting.pop()
    return list(ordered.values())


def _cases(graph: Graph) -> dict[str, frozenset[Case]]:
    """Return the cases that each node is computed in; of a Switch, those of its inputs."""
    cases: dict[str, frozenset[Case]] = {}
    for node in _ordered(graph):
        parts = [_of(graph, cases, ref) for ref in (*node.inputs, *map(Ref, node.controls))]
        if node.op == MERGE and len(parts) > 1:
            cases[node.name] = parts[0].intersection(*parts[1:])
        else:
            cases[node.name] = frozenset[Case]().union(*parts)
    return cases


def _of(graph: Graph, cases: Mapping[str, frozenset[Case]], ref: Ref) -> frozenset[Case]:
    """Return the cases that a value is there in."""
    own = cases.get(ref.name, frozenset[Case]())
    node = graph.nodes.get(ref.name)
    if node is not None and node.op in SWITCHES and len(node.inputs) == 2:
        return own | {(_condition(graph, node.inputs[1]), ref.slot)}
    return own


def _groups(
    graph: Graph, cases: Mapping[str, frozenset[Case]]
) -> dict[tuple[Ref, int], list[tuple[NodeInfo, dict[int, Ref]]]]:
    """Return the Merge nodes outside of all cases by their condition, and how many such ones each comes after.

    Each with its inputs by the output of the Switch nodes that they depend on.
    """
    groups: dict[tuple[Ref, int], list[tuple[NodeInfo, dict[int, Ref]]]] = {}
    behind: dict[str, dict[Ref, int]] = {}
    for node in _ordered(graph):
        depths: dict[Ref, int] = {}
        for name in (*(ref.name for ref in node.inputs), *node.controls):
            for condition, depth in behind.get(name, {}).items():
                depths[condition] = max(depths.get(condition, 0), depth)
        if node.op == MERGE and not cases[node.name]:
            inputs = [(ref, _of(graph, cases, ref)) for ref in node.inputs]
            shared = [c for c in dict.fromkeys(c for _, of in inputs for c, _ in sorted(of))]
            for condition in shared:
                slots = {slot: ref for ref, of in inputs for c, slot in of if c == condition}
                if len(slots) == len(inputs):
                    depth = depths.get(condition, 0)
                    groups.setdefault((condition, depth), []).append((node, slots))
                    depths[condition] = depth + 1
                    break
        behind[node.name] = depths
    return groups


def _choice(
    graph: Graph,
    cases: Mapping[str, frozenset[Case]],
    condition: Ref,
    merges: Sequence[tuple[NodeInfo, dict[int, Ref]]],
    names: Mapping[str, NodeInfo],
) -> NodeInfo:
    """Return the If node, or the Case node for more than two, of Merge nodes with one condition."""
    switches = {
        Ref(node.name, slot): node.inputs[0]
        for node in graph.nodes.values()
        if node.op in SWITCHES and _condition(graph, node.inputs[1]) == condition
        for slot in merges[0][1]
    }
    name = merges[0][0].name.rpartition("/")[0] or merges[0][0].name
    while name in names:
        name = f"{name}/choice"
    parts: dict[int, Part] = {}
    for slot in sorted(merges[0][1]):
        inside = {n: node for n, node in graph.nodes.items() if (condition, slot) in cases[n]}
        roots = [slots[slot] for _, slots in merges]
        # What a Switch hands on comes from outside, where the Switch stands.
        values = {ref: data for ref, data in switches.items() if ref.slot == slot}
        parts[slot] = part(f"{name}/{slot}", inside, [values.get(ref, ref) for ref in roots], values, ())
    outside = list(dict.fromkeys(ref for cut in parts.values() for ref in cut.captured))
    graphs = [
        without_merges(replace(parts[slot], arguments=tuple(map(argument_of, outside)))) for slot in sorted(parts)
    ]
    inputs = (condition, *outside)
    index = merges[0][0].index
    if len(graphs) == 2 and any(node.op == "Switch" for node in graph.nodes.values()):
        return NodeInfo(name, "If", inputs, (), {}, index, {"then_branch": graphs[1], "else_branch": graphs[0]})
    return NodeInfo(name, "Case", inputs, (), {}, index, {f"branches{at or ''}": g for at, g in enumerate(graphs)})
