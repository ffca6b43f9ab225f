"""Turns frames, the form of loops that preceded functions, into While nodes with graphs of their own.

A frame consists of the nodes between Enter, Merge, LoopCond, Switch, NextIteration and Exit nodes: its Merge nodes hold
the values that iterations change, its other Enter nodes the loop's constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...support.errors import FrontendError
from .graphs import Graph, NodeInfo, Ref

ENTER, EXIT, NEXT, MERGE, SWITCH, GOING = "Enter", "Exit", "NextIteration", "Merge", "Switch", "LoopCond"
Frame = tuple[str, ...]
"""The names of the frames that a node is in, from the outermost."""


def without_frames(graph: Graph, file: str) -> Graph:
    """Return a graph in which frames, nested ones too, are While nodes.

    Raises FrontendError for frames that are not loops.
    """
    if not any(node.op == ENTER for node in graph.nodes.values()):
        return graph
    frames = _frames(graph)
    nodes = dict(graph.nodes)
    for frame in dict.fromkeys(frame[:1] for frame in frames.values() if frame):
        inside = {name: graph.nodes[name] for name, node_frames in frames.items() if node_frames[:1] == frame}
        depths = {name: len(frames[name]) for name in inside}
        loop, exits = _loop(graph, frame[0], inside, depths, file)
        for name in inside:
            del nodes[name]
        nodes[loop.name] = loop
        nodes |= {node.name: node for node in exits}
    return replace(graph, nodes=nodes)


def _frames(graph: Graph) -> dict[str, Frame]:
    """Return the frames of each node: those of its deepest input; an Enter adds one, and an Exit ends one."""
    frames: dict[str, Frame] = {}
    users: dict[str, list[str]] = {}
    for node in graph.nodes.values():
        for name in (*(ref.name for ref in node.inputs), *node.controls):
            users.setdefault(name, []).append(node.name)
    waiting = [node.name for node in graph.nodes.values() if node.op == ENTER or not (node.inputs or node.controls)]
    while waiting:
        node = graph.nodes[waiting.pop()]
        predecessors = [name for name in (*(ref.name for ref in node.inputs), *node.controls) if name in graph.nodes]
        frame = max((_after(graph.nodes[name], frames.get(name, ())) for name in predecessors), key=len, default=())
        if node.op == ENTER:
            frame = (*frame, node.attributes["frame_name"].s.decode(errors="replace"))
        if node.name not in frames or len(frame) > len(frames[node.name]):
            frames[node.name] = frame
            waiting += users.get(node.name, [])
    return frames


def _after(node: NodeInfo, frame: Frame) -> Frame:
    return frame[:-1] if node.op == EXIT else frame


def _loop(
    graph: Graph, frame: str, inside: Mapping[str, NodeInfo], depths: Mapping[str, int], file: str
) -> tuple[NodeInfo, list[NodeInfo]]:
    """Return the While node of a frame, and nodes that replace the frame's exits."""
    members = [node for node in inside.values() if depths[node.name] == 1]
    enters = [node for node in members if node.op == ENTER]
    conditions = [node for node in members if node.op == GOING]
    name = _named(graph, frame)
    subject = f"{file}: loop '{name}'"
    if len(conditions) != 1:
        raise FrontendError(f"{subject}: expected one condition, got {len(conditions)}")
    (condition,) = conditions
    enter_names = {node.name for node in enters}
    merges: list[tuple[NodeInfo, Ref, NodeInfo]] = []
    for node in members:
        if node.op != MERGE:
            continue
        initial_refs = [ref for ref in node.inputs if ref.name in enter_names]
        next_nodes = [inside[ref.name] for ref in node.inputs if ref.name in inside and inside[ref.name].op == NEXT]
        if len(initial_refs) == len(next_nodes) == 1:
            merges.append((node, graph.nodes[initial_refs[0].name].inputs[0], next_nodes[0]))
    changing = {ref.name for node, _, _ in merges for ref in node.inputs}
    fixed = [node for node in enters if node.name not in changing]
    arguments = [node.name for node, _, _ in merges] + [node.name for node in fixed]
    values = {Ref(argument): Ref(argument) for argument in arguments}
    for node in members:
        if node.op == SWITCH and node.inputs[1].name == condition.name:
            values[Ref(node.name, 1)] = node.inputs[0]
    carried = [first for _, first, _ in merges] + [node.inputs[0] for node in fixed]
    results = [back.inputs[0] for _, _, back in merges] + [Ref(node.name) for node in fixed]
    cond = part(f"{name}/cond", inside, condition.inputs[:1], values, arguments)
    body = part(f"{name}/body", inside, results, values, arguments)
    outside = list(dict.fromkeys((*cond.captured, *body.captured)))
    body = replace(body, results=(*body.results, *(Ref(argument_of(ref)) for ref in outside)))
    bodies = {
        role: without_frames(replace(cut, arguments=(*arguments, *map(argument_of, outside))), file)
        for role, cut in (("cond", cond), ("body", body))
    }
    loop = NodeInfo(name, "While", (*carried, *outside), (), {}, condition.index, bodies)
    exits: list[NodeInfo] = []
    slots = {node.name: slot for slot, (node, _, _) in enumerate(merges)}
    for node in members:
        if node.op == EXIT:
            switch = inside.get(node.inputs[0].name)
            slot = slots.get(switch.inputs[0].name) if switch is not None and switch.op == SWITCH else None
            if slot is None:
                raise FrontendError(f"{subject}: expected exits of values that iterations change, got '{node.name}'")
            exits.append(NodeInfo(node.name, "Identity", (Ref(name, slot),), (), {}, node.index))
    return loop, exits


def _named(graph: Graph, frame: str) -> str:
    """Return a name for the loop of a frame, the frame's scope."""
    name = frame.removesuffix("/while_context").removesuffix("_context") or frame
    while name in graph.nodes:
        name = f"{name}/loop"
    return name


@dataclass(frozen=True, eq=False)
class Part(Graph):
    """A part of a graph, as a graph of its own."""

    captured: Sequence[Ref] = ()
    """The outer values that it reads, each of which becomes an argument (`argument_of`)."""


def argument_of(ref: Ref) -> str:
    """Return the name of the argument that an outer value becomes."""
    return f"{ref.name}:{ref.slot}" if ref.slot else ref.name


def part(
    name: str, inside: Mapping[str, NodeInfo], roots: Sequence[Ref], values: Mapping[Ref, Ref], arguments: Sequence[str]
) -> Part:
    """Return the graph of the nodes among `inside` that roots need.

    values: a value -> the value to read instead. arguments: the names of the graph's arguments.
    """
    nodes: dict[str, NodeInfo] = {}
    captured: dict[Ref, None] = {}
    argument_names = set(arguments)

    def renamed(ref: Ref) -> Ref:
        ref = values.get(ref, ref)
        if ref.name in argument_names or ref.name in inside:
            return ref
        captured[ref] = None
        return Ref(argument_of(ref))

    results = [renamed(ref) for ref in roots]
    waiting = [ref.name for ref in results]
    while waiting:
        node = inside.get(waiting.pop())
        if node is None or node.name in nodes or node.name in argument_names:
            continue
        inputs = [renamed(ref) for ref in node.inputs]
        nodes[node.name] = replace(node, inputs=inputs)
        waiting += [ref.name for ref in inputs]
    kept = {key: replace(node, controls=[c for c in node.controls if c in nodes]) for key, node in nodes.items()}
    return Part(name, kept, tuple(arguments), results, (), tuple(captured))
