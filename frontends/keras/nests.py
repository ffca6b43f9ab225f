"""Nests of lists and maps, the form of configurations and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

LeafT = TypeVar("LeafT")


def items_of(nest: Any) -> list[Any] | None:
    """Return a list, or a tuple as a list; None for another value."""
    return list(cast("list[Any]", nest)) if isinstance(nest, list | tuple) else None


def entries_of(nest: Any) -> dict[str, Any] | None:
    """Return a map; None for another value."""
    return cast("dict[str, Any]", nest) if isinstance(nest, dict) else None


def whole(nest: Any) -> int | None:
    """Return a whole number; None for another value, booleans included."""
    return nest if isinstance(nest, int) and not isinstance(nest, bool) else None


def wholes(nest: Any) -> list[int] | None:
    """Return a list of whole numbers; None for another value."""
    items = items_of(nest)
    if items is None or any(whole(item) is None for item in items):
        return None
    return cast("list[int]", items)


def leaves(nest: Any, kind: type[LeafT]) -> Iterator[LeafT]:
    """Yield the leaves of a kind, in order."""
    stack: list[Any] = [nest]
    while stack:
        top = stack.pop()
        if isinstance(top, kind):
            yield top
        elif (items := items_of(top)) is not None:
            stack.extend(reversed(items))
        elif (entries := entries_of(top)) is not None:
            stack.extend(reversed(list(entries.values())))


def replaced(nest: Any, kind: type[LeafT], function: Callable[[LeafT], Any]) -> Any:
    """Return the nest with each leaf of a kind replaced by `function` of it; recursive, for shallow nests."""
    if isinstance(nest, kind):
        return function(nest)
    if (items := items_of(nest)) is not None:
        return [replaced(item, kind, function) for item in items]
    if (entries := entries_of(nest)) is not None:
        return {key: replaced(item, kind, function) for key, item in entries.items()}
    return nest
