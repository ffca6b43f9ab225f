"""Names of layers of an exported program."""

from __future__ import annotations

from dataclasses import dataclass

from ..importing.frames import Frame, user_frames
from .schema import Node


@dataclass(frozen=True)
class Outer:
    """The node that runs the graph which another node is of."""

    path: str
    """The path of the module that it is of."""
    names: tuple[str, ...]
    """Names of the nodes that run graphs around it and its own, each followed by the graph's role: `cond`, `true`."""
    frames: tuple[Frame, ...]
    """The calls that made it, the innermost first."""

    def inside(self, node: Node, role: str) -> Outer:
        """Return the surroundings of the nodes of a graph that a node in these surroundings runs."""
        return Outer(path_of(node, self), (*self.names, node.name, role), frames_of(node, self))


MAIN = Outer("", (), ())
"""The surroundings of nodes of the main graph."""


def path_of(node: Node, outer: Outer) -> str:
    """Return the path of the innermost module that a node is of."""
    return node.modules[-1][0] if node.modules else outer.path


def frames_of(node: Node, outer: Outer) -> tuple[Frame, ...]:
    """Return the calls that a node comes from, the innermost first; without any, those of what runs its graph."""
    return user_frames(node.frames) or outer.frames


def layer_name(node: Node, outer: Outer = MAIN) -> str:
    """`<path of the innermost module>/<name of the node>`; the name alone in the outermost module.

    In a graph that another node runs, names of that and of the graph are before the node's: `block/cond/true/linear`.
    """
    if node.numbered:
        return node.name
    return "/".join(filter(None, (path_of(node, outer), *outer.names, node.name)))
