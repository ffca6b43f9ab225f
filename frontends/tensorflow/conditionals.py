"""Turns branches in the form that preceded functions, nodes between Switch and Merge, into If nodes with graphs.

A Switch passes its data to the nodes of the branch that its condition chooses, and a Merge returns the branch's value.
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
    """Return a graph without frames in which conditionals are If or Case nodes, in the graphs that its nodes run, too.

    Merge nodes whose conditions are unclear stay.
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
    """Return the value of a condition before Identity nodes."""
    while (node := graph.nodes.get(ref.name)) is not None and node.op == "Identity" and node.inputs:
        ref = node.inputs[0]
    return ref


def _ordered(graph: Graph) -> list[NodeInfo]:
    """Return the nodes in topological order."""
    ordered: dict[str, NodeInfo] = {}
    started: set[str] = set()
    for start in graph.nodes:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            node = graph.nodes.get(name)
            if node is None or name in ordered:
                waiting.pop()
                continue
            predecessors = [*(ref.name for ref in node.inputs), *node.controls]
            pending = [earlier for earlier in predecessors if earlier in graph.nodes.keys() - ordered.keys() - started]
            if pending and name not in started:
                started.add(name)
                waiting += pending
                continue
            started.discard(name)
            ordered[name] = node
            waiting.pop()
    return list(ordered.values())


def _cases(graph: Graph) -> dict[str, frozenset[Case]]:
    """Return the cases in which each node is computed; a Switch is computed in those of its inputs."""
    cases: dict[str, frozenset[Case]] = {}
    for node in _ordered(graph):
        parts = [_of(graph, cases, ref) for ref in (*node.inputs, *map(Ref, node.controls))]
        if node.op == MERGE and len(parts) > 1:
            cases[node.name] = parts[0].intersection(*parts[1:])
        else:
            cases[node.name] = frozenset[Case]().union(*parts)
    return cases


def _of(graph: Graph, cases: Mapping[str, frozenset[Case]], ref: Ref) -> frozenset[Case]:
    """Return the cases in which a value exists."""
    node_cases = cases.get(ref.name, frozenset[Case]())
    node = graph.nodes.get(ref.name)
    if node is not None and node.op in SWITCHES and len(node.inputs) == 2:
        return node_cases | {(_condition(graph, node.inputs[1]), ref.slot)}
    return node_cases


def _groups(
    graph: Graph, cases: Mapping[str, frozenset[Case]]
) -> dict[tuple[Ref, int], list[tuple[NodeInfo, dict[int, Ref]]]]:
    """Return the Merge nodes outside of all cases, by their condition and depth among the Merge nodes with it.

    Each node comes with its inputs by the output of the Switch nodes that they depend on.
    """
    groups: dict[tuple[Ref, int], list[tuple[NodeInfo, dict[int, Ref]]]] = {}
    depths_of: dict[str, dict[Ref, int]] = {}
    for node in _ordered(graph):
        depths: dict[Ref, int] = {}
        for name in (*(ref.name for ref in node.inputs), *node.controls):
            for condition, depth in depths_of.get(name, {}).items():
                depths[condition] = max(depths.get(condition, 0), depth)
        if node.op == MERGE and not cases[node.name]:
            inputs = [(ref, _of(graph, cases, ref)) for ref in node.inputs]
            conditions = [c for c in dict.fromkeys(c for _, input_cases in inputs for c, _ in sorted(input_cases))]
            for condition in conditions:
                slots = {slot: ref for ref, input_cases in inputs for c, slot in input_cases if c == condition}
                if len(slots) == len(inputs):
                    depth = depths.get(condition, 0)
                    groups.setdefault((condition, depth), []).append((node, slots))
                    depths[condition] = depth + 1
                    break
        depths_of[node.name] = depths
    return groups


def _choice(
    graph: Graph,
    cases: Mapping[str, frozenset[Case]],
    condition: Ref,
    merges: Sequence[tuple[NodeInfo, dict[int, Ref]]],
    names: Mapping[str, NodeInfo],
) -> NodeInfo:
    """Return the If node, or the Case node for more than two branches, of Merge nodes with one condition."""
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
        # The data that a Switch passes on come from outside of the branch.
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
