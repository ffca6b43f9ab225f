"""Boxes of graphs, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple

from ...support.names import shortened
from ..layout import HEIGHT, LONGEST, box_width, layered
from .document import Edges, Graph, Nodes
from .repeats import repeated_blocks
from .scopes import foldable_scopes

_FEW = 20
"""The number of nodes from which on blocks without names are looked for."""
_NAMED = 0.2
"""The part of the nodes that may have names for that."""


class Read(NamedTuple):
    """An input of a box."""

    source: int
    """The box that gives it."""
    text: str
    """Its type."""
    output: int
    """The number of the source's output that it is."""
    role: str = ""
    """The reader's name of it."""


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
    inputs: list[Read] = field(default_factory=list[Read])
    """The values that the box reads, all of boxes before it."""


def drawn(title: str, level: Literal["model", "calls"], program: int, boxes: Sequence[Box]) -> Graph:
    """Return the graph of boxes, laid out."""
    nodes, edges = Nodes(), Edges()
    abouts = [shortened(", ".join(filter(None, box.about)), 2 * LONGEST) for box in boxes]
    widths = [box_width(box.label, about) for box, about in zip(boxes, abouts, strict=True)]
    inputs = [[read.source for read in box.inputs] for box in boxes]
    layout = layered(inputs, widths, _loose(boxes))
    # Constants stand in the boxes of their readers, and may lie between the nodes of a scope.
    read = [[source for source in sources if boxes[source].kind != "constant"] for sources in inputs]
    scopes = foldable_scopes(_scopes(boxes) if level == "model" else [box.scope for box in boxes], read)
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
        for read in box.inputs:
            edges.source.append(read.source)
            edges.target.append(number)
            edges.text.append(read.text)
            edges.output.append(read.output)
            edges.role.append(read.role)
            edges.path.append([round(at, 1) for at in chain(*layout.way(read.source, number)[1:-1])])
    return Graph(title, level, program, nodes, edges)


def _scopes(boxes: Sequence[Box]) -> list[str]:
    """Return the scopes of boxes; where most have none, their repeated blocks are scopes."""
    nodes = [number for number, box in enumerate(boxes) if box.kind == "node"]
    scopes = [box.scope for box in boxes]
    if len(nodes) < _FEW or sum(bool(scopes[node]) for node in nodes) > len(nodes) * _NAMED:
        return scopes
    position = {node: index for index, node in enumerate(nodes)}
    inputs = [[position[read.source] for read in boxes[node].inputs if read.source in position] for node in nodes]
    work = [boxes[node].work[0] for node in nodes]
    found = repeated_blocks([boxes[node].label for node in nodes], inputs, work if any(work) else None)
    for node, scope in zip(nodes, found, strict=True):
        scopes[node] = scopes[node] or scope
    return scopes


def _loose(boxes: Sequence[Box]) -> list[bool]:
    """Which boxes no input of the graph leads to: weights, and what is made of them."""
    reached: list[bool] = []
    for box in boxes:
        reached.append(box.kind == "input" or any(reached[read.source] for read in box.inputs))
    return [not each for each in reached] if any(reached) else reached
