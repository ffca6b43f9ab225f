"""Boxes of graphs, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from ...support.names import shortened
from ..layout import HEIGHT, LONGEST, box_width, layered
from .document import Edges, Graph, Nodes
from .scopes import foldable_scopes


@dataclass
class Box:
    """A node of a graph while it is made."""

    label: str
    kind: str
    set: int
    about: list[str] = field(default_factory=list[str])
    """Parts of the second line."""
    scope: str = ""
    call: int = -1
    attributes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    work: tuple[int, int] = (0, 0)
    """Operations and bytes."""
    inputs: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    """The nodes that it reads, all before it, the types of what it reads, and which of their outputs that is."""


def drawn(title: str, level: Literal["model", "calls"], program: int, boxes: Sequence[Box]) -> Graph:
    """Return the graph of boxes, laid out."""
    nodes, edges = Nodes(), Edges()
    abouts = [shortened(", ".join(filter(None, box.about)), 2 * LONGEST) for box in boxes]
    widths = [box_width(box.label, about) for box, about in zip(boxes, abouts, strict=True)]
    inputs = [[source for source, _, _ in box.inputs] for box in boxes]
    layout = layered(inputs, widths, _loose(boxes))
    # Constants stand in the boxes of their readers, and may lie between the nodes of a scope.
    read = [[source for source in sources if boxes[source].kind != "constant"] for sources in inputs]
    scopes = foldable_scopes([box.scope for box in boxes], read)
    for number, (box, about) in enumerate(zip(boxes, abouts, strict=True)):
        nodes.label.append(box.label)
        nodes.about.append(about)
        nodes.kind.append(box.kind)
        nodes.scope.append(scopes[number])
        nodes.set.append(box.set)
        nodes.call.append(box.call)
        nodes.x.append(round(layout.x[number], 1))
        nodes.y.append(layout.top(number))
        nodes.width.append(round(widths[number], 1))
        nodes.height.append(HEIGHT)
        nodes.attributes.append(box.attributes)
        nodes.flops.append(box.work[0])
        nodes.bytes.append(box.work[1])
        for source, text, output in box.inputs:
            edges.source.append(source)
            edges.target.append(number)
            edges.text.append(text)
            edges.output.append(output)
            edges.path.append([round(at, 1) for at in chain(*layout.way(source, number)[1:-1])])
    return Graph(title, level, program, nodes, edges)


def _loose(boxes: Sequence[Box]) -> list[bool]:
    """Which boxes no input of the graph leads to: weights, and what is made of them."""
    reached: list[bool] = []
    for box in boxes:
        reached.append(box.kind == "input" or any(reached[source] for source, _, _ in box.inputs))
    return [not each for each in reached] if any(reached) else reached
