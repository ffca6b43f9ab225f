# pyright: basic, reportMissingImports=false
"""Names and locations of the nodes of a TorchScript graph, like TVM 0.14's: `aten::_convolution_0`.

With scopes kept, as in TVM 0.15, an operator has the path of its module as its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..importing.frames import MOST_TEXT, Frame, frames_in

_CALL = re.compile(r"(.{1,1024})\(([0-9]{1,9})\): (.*)")


class Names:
    """The names of a graph's nodes: the kind, and the number of nodes of this kind before.

    The nodes of a block are counted after those around it. friendly: whether names are identifiers. scopes: whether
    nodes are named after their modules, except in the outermost module.
    """

    def __init__(self, graph: Any, *, friendly: bool = False, scopes: bool = False):
        self.friendly, self.scopes = friendly, scopes
        self.separator = "_" if friendly else "."
        self._spans: dict[str, str] = {}
        self._count(graph, Counter())

    def _count(self, block: Any, counts: Counter[str]) -> None:
        nodes = list(block.nodes())
        for node in nodes:
            if node.kind() == "prim::GetAttr" or not node.outputsSize():
                continue
            kind = node.kind()
            self._spans[first_output(node)] = f"{kind}_{counts[kind]}"
            counts[kind] += 1
        for node in nodes:
            for inner in node.blocks():
                self._count(inner, counts)

    def own(self, node: Any) -> str:
        """Return the name of a node by its kind, or the kind of a node without outputs."""
        return self._spans.get(first_output(node)) or str(node.kind())

    def layer(self, node: Any) -> str:
        """Return the name of the layer that a node is."""
        name = (self.scopes and module_path(node.scopeName())) or self.own(node)
        return re.sub(r"[:.]", "_", name) if self.friendly else name


def first_output(node: Any) -> str:
    """Return the unique name of a node's first output in the graph; "" for a node without outputs."""
    return next((output.debugName() for output in node.outputs()), "")


def module_path(scope: str) -> str:
    """Return the path of a scope's module: `block.conv` for `__module.block/__module.block.conv`."""
    return scope.rpartition("/")[2].removeprefix("__module").removeprefix(".")


def frames_of(node: Any) -> tuple[Frame, ...]:
    """Return the file, line and function of the calls around a node, the outermost first."""
    text: str = node.sourceRange()
    if len(text) > MOST_TEXT:
        return ()
    calls = [match for line in text.splitlines() if (match := _CALL.fullmatch(line.strip()))]
    if calls:
        return tuple(Frame(call[1], int(call[2]), call[3]) for call in reversed(calls))
    return frames_in(text)


def nodes_in(block: Any) -> Iterator[Any]:
    """Yield the nodes of a block and of the blocks in them."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes_in(inner)
