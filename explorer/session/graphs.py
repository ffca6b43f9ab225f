"""The graph of the kernel calls that a model became."""

from __future__ import annotations

from ...planning.artifact import Artifact
from ...planning.graph import graph_plan
from ...provenance.span import leaf_name, leaves
from ..graph_types import entry_type, ref_type
from ..layers import functions, scope_of, snapshot
from ..report import count, some
from .boxes import Box, Read, drawn
from .builder import Builder
from .document import Graph
from .text import calls_of


def call_graph(builder: Builder, artifact: Artifact, program: int) -> Graph:
    """Return the graph of the graph executor; parameters are listed by their readers."""
    plan = graph_plan(artifact)
    graph = plan.graph
    calls = calls_of(builder.session, program)
    arguments = functions(snapshot(artifact, "relay"))["main"].block.args
    boxes: list[Box] = []
    box_of: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        types = [entry_type(graph.entries[entry]) for entry in graph.entries_of(number)]
        if node.name in plan.params:
            continue
        box_of[number] = len(boxes)
        if node.is_argument:
            boxes.append(Box(node.name, "input", builder.set_of(arguments[number].location), types))
            continue
        call = plan.calls[node.name]
        location = artifact.calls[call].location
        behind = [leaf_name(leaf) for leaf in leaves(location)]
        box = Box(node.name.removeprefix("tvmgen_default_"), "node", builder.set_of(location), [some(behind, 3)])
        box.scope, box.call = scope_of(behind[0]) if behind else "", calls[call]
        row = builder.session.calls[calls[call]]
        box.work = row.flops, row.bytes
        params = [ref for ref in node.inputs if graph.nodes[ref.node].name in plan.params]
        box.attributes = [("node", str(number)), ("name", node.name), *node.attrs.items()]
        box.attributes += [(f"output {index}", text) for index, text in enumerate(types)]
        box.attributes += [(graph.nodes[ref.node].name, ref_type(graph, ref)) for ref in params]
        if params:
            size = sum(plan.params[graph.nodes[ref.node].name].nbytes for ref in params)
            box.about.append(f"{count(len(params), 'parameter')}, {size} bytes")
        box.inputs = [
            Read(box_of[ref.node], ref_type(graph, ref), ref.output) for ref in node.inputs if ref.node in box_of
        ]
        boxes.append(box)
    specs = artifact.outputs
    for index, head in enumerate(graph.heads):
        text, source = ref_type(graph, head), box_of.get(head.node)
        box = Box(specs[index].name, "output", boxes[source].set if source is not None else 0, [text])
        box.inputs = [Read(source, text, head.output)] if source is not None else []
        boxes.append(box)
    return drawn("kernel calls", "calls", program, boxes)
