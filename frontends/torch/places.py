"""Where a node of an exported program comes from: its module, and the line of the user's own file."""

from __future__ import annotations

import re

from .schema import Node

_LIBRARY = re.compile(
    r"(?:^|[\\/])torch[\\/](?:nn|_|fx|export|functional|utils|autograd|overrides|amp|ao|jit|distributions)"
)
"""Files of torch itself, in which no layer is written."""
_INSTALLED = re.compile(r"^.*[\\/](?:site|dist)-packages[\\/]")
_NOWHERE = re.compile(r"^<")


def layer_name(node: Node) -> str:
    """`<path of the innermost module>/<name of the node>`; the name alone in the outermost module."""
    path = node.modules[-1][0] if node.modules else ""
    return f"{path}/{node.name}" if path else node.name


def line_of(node: Node) -> tuple[str, int] | None:
    """File and line of the innermost call that is no part of torch; of torch's where there is no other.

    None where the exporter knew no line. Files of installed packages begin with the package's name.
    """
    frames = [(file, line) for file, line, _ in node.frames if not _NOWHERE.match(file)]
    if not frames:
        return None
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])]
    file, line = (own or frames)[-1]
    return _INSTALLED.sub("", file), line
