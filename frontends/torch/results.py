"""The names of a program's results, which its module returns in tuples, dictionaries and other structures."""

from __future__ import annotations

import json
from typing import Any, cast


def output_labels(out_spec: str, count: int) -> list[str]:
    """The names that a module's results have where they are in dictionaries, or have fields; "" for the others.

    out_spec: the structure as torch writes it, JSON; count: of results. A structure of another kind names nothing.
    """
    labels: list[str] = []
    try:
        document: Any = json.loads(out_spec)
        _label(document[1], "", labels)
    except (ValueError, KeyError, TypeError, RecursionError, IndexError):
        return [""] * count
    return labels if len(labels) == count else [""] * count


def _label(tree: Any, path: str, labels: list[str]) -> None:
    """Add the names of the leaves of a structure that stands at a path."""
    children = cast("list[Any]", tree["children_spec"])
    if not children and tree["type"] is None:
        labels.append(path)
        return
    keys: Any = json.loads(tree["context"]) if isinstance(tree["context"], str) else None
    texts = [key for key in cast("list[Any]", keys) if isinstance(key, str)] if isinstance(keys, list) else []
    for at, child in enumerate(children):
        if len(texts) == len(children):
            label = f"{path}.{texts[at]}" if path else texts[at]
        else:
            label = f"{path}.{at}" if path else ""
        _label(child, label, labels)
