"""The graph of a compiled model for other tools: Graphviz, Model Explorer, and a drawing of our own."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..runtime.factory import Origin
from ..runtime.graph import Entry, Graph, Ref
from ..support.names import shortened, shown
from .report import some

_BOX, _ROW, _GAP, _LETTER = 34, 74, 24, 6.6
"""Pixels: height of a box, from row to row, between boxes, of a letter."""
_LONGEST = 46
"""Letters of a line in a box."""
_SWEEPS = 4


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
            lines.append(f"  n{ref.node} -> n{box.number} [label={_quoted(_type(graph.entries[graph.entry(ref)]))}]")
    for number, head in enumerate(graph.heads):
        lines.append(f"  out{number} [label={_quoted(f'output {number}')} shape=oval]")
        lines.append(f"  n{head.node} -> out{number} [label={_quoted(_type(graph.entries[graph.entry(head)]))}]")
    return "\n".join([*lines, "}", ""])


def graph_model_explorer(graph: Graph, origins: Mapping[str, Origin], title: str) -> str:
    """The JSON that Model Explorer opens: ids are names of nodes, namespaces those of the layers behind them."""
    nodes: list[dict[str, object]] = []
    for number, node in enumerate(graph.nodes):
        origin = origins.get(node.name, Origin())
        attrs = {"layers": ", ".join(origin.layers), "value of": ", ".join(origin.results), **node.attrs}
        outputs = [
            {"id": str(index), "attrs": [{"key": "tensor_shape", "value": _type(graph.entries[entry])}]}
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
    """The folder of the layer that does most: `layer1/conv` is in `layer1`."""
    if not origin.layers:
        return ""
    most = max(range(len(origin.layers)), key=origin.shares.__getitem__)
    return origin.layers[most].strip("/").rpartition("/")[0]


def graph_svg(graph: Graph, origins: Mapping[str, Origin], title: str, hidden: Collection[str] = ()) -> str:
    """An SVG drawn here: rows by the longest way from the inputs, boxes ordered so that few edges cross.

    hidden: as of `graph_dot`.
    """
    drawn = _drawn(graph, origins, hidden)
    rows = _rows(drawn)
    widths = {box.number: _width(box) for box in drawn}
    boxes = {box.number: box for box in drawn}
    across = max((sum(widths[n] + _GAP for n in row) for row in rows), default=200) + _GAP
    at: dict[int, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        x = (across - sum(widths[n] + _GAP for n in row) + _GAP) / 2
        for number in row:
            at[number] = x + widths[number] / 2, 50 + level * _ROW
            x += widths[number] + _GAP
    height = 50 + len(rows) * _ROW
    style = "text{font:10px sans-serif;text-anchor:middle;fill:#222}.b{font-weight:bold}path{fill:none;stroke:#999}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{height}" '
        f'viewBox="0 0 {across:.0f} {height}"><style>{style}</style>',
        f'<rect width="{across:.0f}" height="{height}" fill="#fff"/>',
        f'<text class="b" x="{across / 2:.1f}" y="20">{_html(title)}</text>',
    ]
    for box in drawn:
        x, y = at[box.number]
        for ref in box.inputs:
            a, b = at[ref.node]
            middle = (b + _BOX + y) / 2
            parts.append(
                f'<path d="M{a:.1f},{b + _BOX:.1f}C{a:.1f},{middle:.1f} {x:.1f},{middle:.1f} {x:.1f},{y:.1f}"/>'
            )
    for number, (x, y) in at.items():
        box, width = boxes[number], widths[number]
        fill = "#fef7e0" if box.output else "#e8f0fe" if box.inputs else "#e6f4ea"
        types = ", ".join(_type(graph.entries[entry]) for entry in graph.entries_of(number))
        about = (
            f"{graph.nodes[number].name}\n{types}\n{', '.join(origins.get(graph.nodes[number].name, Origin()).layers)}"
        )
        parts.append(
            f'<g><title>{_html(about)}</title><rect x="{x - width / 2:.1f}" y="{y}" width="{width:.1f}" '
            f'height="{_BOX}" rx="5" fill="{fill}" stroke="#88a"/><text class="b" x="{x:.1f}" y="{y + 14}">'
            f'{_html(_cut(box.title))}</text><text x="{x:.1f}" y="{y + 27}">{_html(_cut(box.about))}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _drawn(graph: Graph, origins: Mapping[str, Origin], hidden: Collection[str]) -> list[_Drawn]:
    boxes: list[_Drawn] = []
    heads = {head.node for head in graph.heads}
    for number, node in enumerate(graph.nodes):
        if node.name in hidden:
            continue
        inputs = tuple(ref for ref in node.inputs if graph.nodes[ref.node].name not in hidden)
        layers = some(origins.get(node.name, Origin()).layers, 4)
        title = node.name.removeprefix("tvmgen_default_")
        types = ", ".join(_type(graph.entries[entry]) for entry in graph.entries_of(number))
        about = types if node.is_argument else shortened(layers, _LONGEST)
        boxes.append(_Drawn(number, title, about, inputs, number in heads))
    return boxes


def _rows(drawn: Sequence[_Drawn]) -> list[list[int]]:
    """The nodes of each row, in order. Rows by longest path; in them, by the mean place of neighbours, a few times."""
    level: dict[int, int] = {}
    readers: dict[int, list[int]] = {box.number: [] for box in drawn}
    for box in drawn:
        level[box.number] = 1 + max((level[ref.node] for ref in box.inputs), default=-1)
        for ref in box.inputs:
            readers[ref.node].append(box.number)
    rows: list[list[int]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for box in drawn:
        rows[level[box.number]].append(box.number)
    inputs = {box.number: [ref.node for ref in box.inputs] for box in drawn}
    for sweep in range(_SWEEPS):
        places = {number: index / len(row) for row in rows for index, number in enumerate(row)}
        near = inputs if sweep % 2 == 0 else readers
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=lambda number: _mean([places[other] for other in near[number]], places[number]))
            places.update((number, index / len(row)) for index, number in enumerate(row))
    return rows


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _width(box: _Drawn) -> float:
    return max(len(_cut(box.title)), len(_cut(box.about)), 6) * _LETTER + 12


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _type(entry: Entry) -> str:
    return f"{entry.dtype}[{', '.join(entry.texts or map(str, entry.shape))}]"


def _quoted(text: str) -> str:
    safe = "\\n".join(shown(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return f'"{safe}"'


def _html(text: str) -> str:
    return "\n".join(escape(shown(line)) for line in text.splitlines())
