"""The names of a program's results, which its module returns in tuples, dictionaries and other structures."""

from __future__ import annotations

import json
from typing import Any, cast


def output_labels(out_spec: str, count: int) -> list[str]:
    """The names that a module's results have where they are in dictionaries, or have fields; "" for the others."""
    labels: list[str] = []
    try:
        result: Any = json.loads(out_spec) if out_spec else None
        tree = result[1] if isinstance(result, list) and len(cast("list[Any]", result)) == 2 else None
        _labelled(tree, "", labels)
    except (ValueError, KeyError, TypeError, RecursionError, IndexError):
        return [""] * count
    return labels if len(labels) == count else [""] * count


def _labelled(tree: Any, path: str, labels: list[str]) -> None:
    children = tree["children_spec"]
    if not children and tree["type"] is None:
        labels.append(path)
        return
    keys = json.loads(tree["context"]) if isinstance(tree["context"], str) else None
    named = isinstance(keys, list) and len(cast("list[Any]", keys)) == len(children)
    for at, child in enumerate(children):
        if named and all(isinstance(key, str) for key in cast("list[Any]", keys)):
            label = f"{path}.{keys[at]}" if path else keys[at]
        else:
            label = f"{path}.{at}" if path else ""
        _labelled(child, label, labels)
