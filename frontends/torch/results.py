"""The names of a program's results, and of its inputs in guards: both are in tuples, dictionaries and others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .schema import Program

Fields = Mapping[str, Sequence[str]]
"""Kind of named tuple -> the names of its fields."""


def output_labels(program: Program, count: int) -> list[str]:
    """The names that a module's results have where they are in dictionaries, or have fields; "" for the others.

    count: of results. A structure of another kind names nothing.
    """
    labels: list[str] = []

    def inside(label: str, keys: Sequence[Any], at: int) -> str:
        if len(keys) > at:
            return f"{label}.{keys[at]}" if label else str(keys[at])
        return f"{label}.{at}" if label else ""

    try:
        document: Any = json.loads(program.out_spec)
        _visit(document[1], "", program.fields, labels, inside)
    except _UNREADABLE:
        return [""] * count
    return labels if len(labels) == count else [""] * count


def paths_of(program: Program, names: Sequence[str]) -> dict[str, str]:
    """The way from the arguments to each input, as guards have it, `L['pair'][0]` -> the input's name.

    names: of the inputs in the order of the arguments, "" for those that are constants.
    """
    paths: list[str] = []

    def inside(path: str, keys: Sequence[Any], at: int) -> str:
        return f"{path}[{(keys[at] if len(keys) > at else at)!r}]"

    try:
        document: Any = json.loads(program.in_spec)
        positional, named = document[1]["children_spec"]
        for at, child in enumerate(positional["children_spec"]):
            _visit(child, f"L['{program.arguments[at]}']", {}, paths, inside)
        for key, child in zip(json.loads(named["context"]), named["children_spec"], strict=True):
            _visit(child, f"L['{key}']", {}, paths, inside)
    except _UNREADABLE:
        paths = []
    if len(paths) != len(names):
        paths = [f"L['{name}']" for name in names]
    return dict(zip(paths, names, strict=True))


_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError)


def _visit(
    tree: Any, position: str, fields: Fields, leaves: list[str], inside: Callable[[str, Sequence[Any], int], str]
) -> None:
    """Add the positions of the leaves of a structure that stands at one; `inside` says those of its parts."""
    children = cast("list[Any]", tree["children_spec"])
    if not children and tree["type"] is None:
        leaves.append(position)
        return
    keys = _keys(tree, fields, len(children))
    for at, child in enumerate(children):
        _visit(child, inside(position, keys, at), fields, leaves, inside)


def _keys(tree: Any, fields: Fields, count: int) -> Sequence[Any]:
    """The keys of a dictionary, or the names of fields; none for other structures."""
    context = tree["context"]
    if not isinstance(context, str):
        return ()
    if tree["type"] == "collections.namedtuple":
        keys: Any = fields.get(context, ())
    else:
        keys = json.loads(context)
        parts: list[Any] = cast("list[Any]", keys) if isinstance(keys, list) else []
        if len(parts) == 2 and isinstance(parts[0], list):
            keys = cast(Any, parts[0])  # of a dataclass: its fields, and those that are None
    named = isinstance(keys, Sequence) and all(isinstance(key, str | int) for key in cast("Sequence[Any]", keys))
    return cast("Sequence[Any]", keys) if named and len(cast("Sequence[Any]", keys)) == count else ()
