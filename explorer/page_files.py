"""The files of the page: modules under the names that they import each other by, styles, and the frame around them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

MAIN = "whence/main"
"""The module that shows the page."""
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.MULTILINE | re.DOTALL)
_FIRST = "style.css"
"""The style that others stand on."""


def page_files() -> dict[str, str]:
    """Return the texts of modules and styles by their paths, `graph/layout.js`, in a fixed order."""
    texts: dict[str, str] = {}
    _collect(files(f"{__package__}") / "page", "", texts)
    return dict(sorted(texts.items(), key=lambda item: (item[0] != _FIRST, item[0])))


def _collect(folder: Traversable, prefix: str, texts: dict[str, str]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _collect(entry, f"{prefix}{entry.name}/", texts)
        elif entry.name.endswith((".js", ".css")):
            texts[prefix + entry.name] = _without_comments(entry.read_text("utf-8"))


def _without_comments(text: str) -> str:
    """A module without the comments that stand on lines of their own: a quarter of it. Lines keep their numbers."""
    return _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def modules(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the path of each module by the name that imports use: `whence/graph/layout`."""
    return {f"whence/{path.removesuffix('.js')}": path for path in texts if path.endswith(".js")}


def import_map(addresses: Mapping[str, str]) -> str:
    """Return the import map of modules by name, as JSON that can stand in a script element."""
    return block_json(json.dumps({"imports": addresses}, separators=(",", ":")))


def framed(title: str, head: str, body: str) -> str:
    """Return the HTML of the page: its title is text, its head and body are HTML."""
    template = (files(f"{__package__}") / "page" / "index.html").read_text("utf-8")
    for hole, text in (("title", html.escape(title)), ("head", head), ("body", body)):
        template = template.replace(f"<!-- {hole} -->", text, 1)
    return template


def block_json(text: str) -> str:
    """Return JSON that can stand in a script element: no text of it ends the element or begins a comment."""
    return text.replace("<", "\\u003c")


def hash_source(text: str) -> str:
    """Return the source expression of a content policy that allows one inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
