"""Graphs for other tools: Graphviz, Model Explorer, and a drawing of our own.

They are written from the graphs of a session document; `plan_graph` makes that of a compiled model alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from html import escape

from ...planning.graph import GraphPlan
from ...runtime.program.factory import Origin
from ...support.names import shortened, shown
from ..graph_types import entry_type, ref_type
from ..layers import scope_of
from ..layout import LONGEST, cut
from ..report import some
from .boxes import Box, Read, drawn
from .document import Graph

_TOP = 50
"""Pixels above the first row: the title."""
_FILLS = {"output": "#fef7e0", "node": "#e8f0fe", "group": "#e8f0fe"}


def plan_graph(plan: GraphPlan, origins: Mapping[str, Origin], hidden: Collection[str] = ()) -> Graph:
    """Return the graph of kernel calls, laid out. hidden: names of nodes to leave out, as of parameters."""
    boxes: list[Box] = []
    box_of: dict[int, int] = {}
    for number, node in enumerate(plan.graph.nodes):
        if node.name in hidden:
            continue
        origin = origins.get(node.name, Origin())
        types = [entry_type(plan.graph.entries[entry]) for entry in plan.graph.entries_of(number)]
        kind = "constant" if node.name in plan.params else "input" if node.is_argument else "node"
        about = types if node.is_argument else [shortened(some(origin.layers, 4), LONGEST)]
        box = Box(node.name.removeprefix("tvmgen_default_"), kind, 0, about)
        box.scope = _scope(origin)
        attributes = {"name": node.name, "layers": ", ".join(origin.layers), "value of": ", ".join(origin.results)}
        attributes |= {**node.attrs, **{f"output {index}": text for index, text in enumerate(types)}}
        box.attributes = [(key, value) for key, value in attributes.items() if value]
        refs = [ref for ref in node.inputs if ref.node in box_of]
        box.inputs = [Read(box_of[ref.node], ref_type(plan.graph, ref), ref.output) for ref in refs]
        box_of[number] = len(boxes)
        boxes.append(box)
    for index, head in enumerate(plan.graph.heads):
        text = ref_type(plan.graph, head)
        box = Box(f"output {index}", "output", 0, [text])
        box.inputs = [Read(box_of[head.node], text, head.output)] if head.node in box_of else []
        boxes.append(box)
    return drawn("kernel calls", "calls", 0, boxes)


def _scope(origin: Origin) -> str:
    """Return the scope of the layer with the most work."""
    if not origin.layers:
        return ""
    return scope_of(origin.layers[max(range(len(origin.layers)), key=origin.shares.__getitem__)])


def graph_dot(graph: Graph) -> str:
    """DOT: a box per node with its layers, edges with types."""
    nodes, edges = graph.nodes, graph.edges
    lines = ["digraph model {", "  rankdir=TB", '  node [shape=box fontname="sans-serif" fontsize=10]']
    lines.append('  edge [fontname="sans-serif" fontsize=9]')
    for number, (label, about, kind) in enumerate(zip(nodes.label, nodes.about, nodes.kind, strict=True)):
        shape = "" if kind in ("node", "group") else " shape=oval"
        text = f"{label}\n{about}" if about else label
        lines.append(f"  n{number} [label={_quoted(text)}{shape}]")
    for source, target, text in zip(edges.source, edges.target, edges.text, strict=True):
        lines.append(f"  n{source} -> n{target} [label={_quoted(text)}]")
    return "\n".join([*lines, "}", ""])


def node_ids(graph: Graph) -> list[str]:
    """Return the names that other tools know nodes by: their own where they have one that no other has."""
    names = [dict(attributes).get("name", "") for attributes in graph.nodes.attributes]
    times = Counter(names)
    return [name if name and times[name] == 1 else f"n{number}" for number, name in enumerate(names)]


def model_explorer(graphs: Mapping[str, Graph], title: str) -> str:
    """The JSON that Model Explorer opens: graphs by their ids; folders of nodes are the name scopes of their layers."""
    rows = [{"id": name, "nodes": _explorer_nodes(graph)} for name, graph in graphs.items()]
    return json.dumps({"label": title, "graphs": rows}, indent=1)


def _explorer_nodes(graph: Graph) -> list[dict[str, object]]:
    nodes, edges, ids = graph.nodes, graph.edges, node_ids(graph)
    incoming: list[list[dict[str, str]]] = [[] for _ in ids]
    outputs: list[dict[int, str]] = [{} for _ in ids]
    for source, target, text, output in zip(edges.source, edges.target, edges.text, edges.output, strict=True):
        position = str(len(incoming[target]))
        edge = {"sourceNodeId": ids[source], "sourceNodeOutputId": str(output), "targetNodeInputId": position}
        incoming[target].append(edge)
        outputs[source][output] = text
    return [
        {
            "id": ids[number],
            "label": nodes.label[number],
            "namespace": nodes.scope[number],
            "attrs": [{"key": key, "value": value} for key, value in nodes.attributes[number]],
            "incomingEdges": incoming[number],
            "outputsMetadata": [
                {"id": str(output), "attrs": [{"key": "tensor_shape", "value": text}]}
                for output, text in sorted(outputs[number].items())
            ],
        }
        for number in range(len(ids))
        if nodes.kind[number] != "output"
    ]


def graph_svg(graph: Graph, title: str) -> str:
    """An SVG of a graph as it is laid out."""
    nodes, edges = graph.nodes, graph.edges
    right = [x + width / 2 for x, width in zip(nodes.x, nodes.width, strict=True)]
    bottom = [y + height for y, height in zip(nodes.y, nodes.height, strict=True)]
    across, height = max([200, *right]) + 10, _TOP + max(bottom, default=0) + 10
    style = "text{font:10px sans-serif;text-anchor:middle;fill:#222}.b{font-weight:bold}path{fill:none;stroke:#999}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {across:.0f} {height:.0f}"><style>{style}</style>',
        f'<rect width="{across:.0f}" height="{height:.0f}" fill="#fff"/>',
        f'<text class="b" x="{across / 2:.1f}" y="20">{_html(title)}</text><g transform="translate(0 {_TOP})">',
    ]
    for source, target, path in zip(edges.source, edges.target, edges.path, strict=True):
        between = list(zip(path[::2], path[1::2], strict=True))
        way = [(nodes.x[source], bottom[source]), *between, (nodes.x[target], nodes.y[target])]
        parts.append(f'<path d="{_path(way)}"/>')
    for number, (x, y, width) in enumerate(zip(nodes.x, nodes.y, nodes.width, strict=True)):
        about = "\n".join(f"{key}: {value}" for key, value in nodes.attributes[number]) or nodes.label[number]
        parts.append(
            f'<g><title>{_html(about)}</title><rect x="{x - width / 2:.1f}" y="{y:.0f}" width="{width:.1f}" '
            f'height="{nodes.height[number]:.0f}" rx="5" fill="{_FILLS.get(nodes.kind[number], "#e6f4ea")}" '
            f'stroke="#88a"/><text class="b" x="{x:.1f}" y="{y + 14:.0f}">{_html(cut(nodes.label[number]))}</text>'
            f'<text x="{x:.1f}" y="{y + 27:.0f}">{_html(cut(nodes.about[number]))}</text></g>'
        )
    return "\n".join([*parts, "</g></svg>", ""])


def _path(way: Sequence[tuple[float, float]]) -> str:
    """Curves and straight pieces in turn."""
    steps: list[str] = []
    for (a, start), (b, end) in zip(way[::2], way[1::2], strict=True):
        middle = (start + end) / 2
        steps.append(
            f"{'L' if steps else 'M'}{a:.1f},{start:.1f}C{a:.1f},{middle:.1f} {b:.1f},{middle:.1f} {b:.1f},{end:.1f}"
        )
    return "".join(steps)


def _quoted(text: str) -> str:
    safe = "\\n".join(shown(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return f'"{safe}"'


def _html(text: str) -> str:
    return "\n".join(escape(shown(line)) for line in text.splitlines())
