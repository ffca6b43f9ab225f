"""The graph of a compiled model for other tools: Graphviz, Model Explorer, and a drawing of our own."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..runtime.factory import Origin
from ..runtime.graph import Entry, Graph, Ref
from ..support.names import shortened, shown
from .layers import scope_of
from .layout import HEIGHT, LONGEST, STEP, box_width, cut, layered
from .report import some

_TOP = 50
"""Pixels above the first row: the title."""


@dataclass(frozen=True)
class _Drawn:
    """A node as it is shown."""

    number: int
    title: str
    about: str
    inputs: tuple[Ref, ...]
    output: bool
    """True if the model gives one of its outputs."""


def graph_dot(graph: Graph, origins: Mapping[str, Origin], hidden: Collection[str] = ()) -> str:
    """DOT: a box per node with its layers, edges with types. hidden: names of nodes to leave out, as of parameters."""
    lines = ["digraph model {", "  rankdir=TB", '  node [shape=box fontname="sans-serif" fontsize=10]']
    lines.append('  edge [fontname="sans-serif" fontsize=9]')
    for box in _drawn(graph, origins, hidden):
        shape = "" if box.inputs else " shape=oval"
        label = _quoted(f"{box.title}\n{box.about}" if box.about else box.title)
        lines.append(f"  n{box.number} [label={label}{shape}]")
        for ref in box.inputs:
            lines.append(f"  n{ref.node} -> n{box.number} [label={_quoted(ref_type(graph, ref))}]")
    for number, head in enumerate(graph.heads):
        lines.append(f"  out{number} [label={_quoted(f'output {number}')} shape=oval]")
        lines.append(f"  n{head.node} -> out{number} [label={_quoted(ref_type(graph, head))}]")
    return "\n".join([*lines, "}", ""])


def graph_model_explorer(graph: Graph, origins: Mapping[str, Origin], title: str) -> str:
    """The JSON that Model Explorer opens: ids are names of nodes, namespaces those of the layers behind them."""
    nodes: list[dict[str, object]] = []
    for number, node in enumerate(graph.nodes):
        origin = origins.get(node.name, Origin())
        attrs = {"layers": ", ".join(origin.layers), "value of": ", ".join(origin.results), **node.attrs}
        outputs = [
            {"id": str(index), "attrs": [{"key": "tensor_shape", "value": entry_type(graph.entries[entry])}]}
            for index, entry in enumerate(graph.entries_of(number))
        ]
        nodes.append(
            {
                "id": node.name,
                "label": node.function or node.name,
                "namespace": _namespace(origin),
                "attrs": [{"key": key, "value": value} for key, value in attrs.items() if value],
                "incomingEdges": [
                    {
                        "sourceNodeId": graph.nodes[ref.node].name,
                        "sourceNodeOutputId": str(ref.output),
                        "targetNodeInputId": str(index),
                    }
                    for index, ref in enumerate(node.inputs)
                ],
                "outputsMetadata": outputs,
            }
        )
    return json.dumps({"label": title, "graphs": [{"id": "main", "nodes": nodes}]}, ensure_ascii=False, indent=1)


def _namespace(origin: Origin) -> str:
    """That of the layer that does most."""
    if not origin.layers:
        return ""
    return scope_of(origin.layers[max(range(len(origin.layers)), key=origin.shares.__getitem__)])


def graph_svg(graph: Graph, origins: Mapping[str, Origin], title: str, hidden: Collection[str] = ()) -> str:
    """An SVG drawn here: rows by the longest way from the inputs, boxes ordered so that few edges cross.

    hidden: as of `graph_dot`.
    """
    drawn = _drawn(graph, origins, hidden)
    index = {box.number: position for position, box in enumerate(drawn)}
    widths = [box_width(box.title, box.about) for box in drawn]
    layout = layered([[index[ref.node] for ref in box.inputs] for box in drawn], widths)
    across, height = max(layout.width, 200), _TOP + layout.rows * STEP
    style = "text{font:10px sans-serif;text-anchor:middle;fill:#222}.b{font-weight:bold}path{fill:none;stroke:#999}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {across:.0f} {height:.0f}"><style>{style}</style>',
        f'<rect width="{across:.0f}" height="{height:.0f}" fill="#fff"/>',
        f'<text class="b" x="{across / 2:.1f}" y="20">{_html(title)}</text><g transform="translate(0 {_TOP})">',
    ]
    for position, box in enumerate(drawn):
        parts += [f'<path d="{_path(layout.way(index[ref.node], position))}"/>' for ref in box.inputs]
    for position, box in enumerate(drawn):
        number, x, y, width = box.number, layout.x[position], layout.top(position), widths[position]
        fill = "#fef7e0" if box.output else "#e8f0fe" if box.inputs else "#e6f4ea"
        types = ", ".join(entry_type(graph.entries[entry]) for entry in graph.entries_of(number))
        about = (
            f"{graph.nodes[number].name}\n{types}\n{', '.join(origins.get(graph.nodes[number].name, Origin()).layers)}"
        )
        parts.append(
            f'<g><title>{_html(about)}</title><rect x="{x - width / 2:.1f}" y="{y:.0f}" width="{width:.1f}" '
            f'height="{HEIGHT:.0f}" rx="5" fill="{fill}" stroke="#88a"/><text class="b" x="{x:.1f}" y="{y + 14:.0f}">'
            f'{_html(cut(box.title))}</text><text x="{x:.1f}" y="{y + 27:.0f}">{_html(cut(box.about))}</text></g>'
        )
    return "\n".join([*parts, "</g></svg>", ""])


def _drawn(graph: Graph, origins: Mapping[str, Origin], hidden: Collection[str]) -> list[_Drawn]:
    boxes: list[_Drawn] = []
    heads = {head.node for head in graph.heads}
    for number, node in enumerate(graph.nodes):
        if node.name in hidden:
            continue
        inputs = tuple(ref for ref in node.inputs if graph.nodes[ref.node].name not in hidden)
        layers = some(origins.get(node.name, Origin()).layers, 4)
        title = node.name.removeprefix("tvmgen_default_")
        types = ", ".join(entry_type(graph.entries[entry]) for entry in graph.entries_of(number))
        about = types if node.is_argument else shortened(layers, LONGEST)
        boxes.append(_Drawn(number, title, about, inputs, number in heads))
    return boxes


def _path(way: Sequence[tuple[float, float]]) -> str:
    """Curves and straight pieces in turn."""
    steps: list[str] = []
    for (a, start), (b, end) in zip(way[::2], way[1::2], strict=True):
        middle = (start + end) / 2
        steps.append(
            f"{'L' if steps else 'M'}{a:.1f},{start:.1f}C{a:.1f},{middle:.1f} {b:.1f},{middle:.1f} {b:.1f},{end:.1f}"
        )
    return "".join(steps)


def ref_type(graph: Graph, ref: Ref) -> str:
    """The type of what is referred to."""
    return entry_type(graph.entries[graph.entry(ref)])


def entry_type(entry: Entry) -> str:
    """The type of an output of a node, `float32[1, 3, 224, 224]`."""
    return f"{entry.dtype}[{', '.join(entry.texts or map(str, entry.shape))}]"


def _quoted(text: str) -> str:
    safe = "\\n".join(shown(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return f'"{safe}"'


def _html(text: str) -> str:
    return "\n".join(escape(shown(line)) for line in text.splitlines())
