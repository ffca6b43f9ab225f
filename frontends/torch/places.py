"""Names of layers of an exported program."""

from __future__ import annotations

from .schema import Node


def layer_name(node: Node) -> str:
    """`<path of the innermost module>/<name of the node>`; the name alone in the outermost module."""
    path = node.modules[-1][0] if node.modules else ""
    return f"{path}/{node.name}" if path else node.name
