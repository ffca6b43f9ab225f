"""Values against the types that signatures state, as far as can be told by looking."""

from __future__ import annotations

import collections.abc
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

_MOST = 64
"""Elements of a sequence that are looked at."""


def fits(value: object, hint: Any, names: dict[str, Any]) -> bool:
    """Return whether a value can be of a type; True where that cannot be told.

    hint: a type, or the text of one. names: what the names in the text mean; those missing could be anything.
    """
    if isinstance(hint, str):
        return any(_fits_text(value, part.strip(), names) for part in _alternatives(hint))
    if hint is Any or isinstance(hint, TypeVar) or hint is object:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part, names) for part in inner)
    if origin is Literal:
        return value in inner
    if hint is None or hint is NoneType:
        return value is None
    kind = origin or hint
    if kind in (int, float):
        return hasattr(type(value), "__index__" if kind is int else "__float__")
    if not isinstance(kind, type):
        return True
    try:
        is_instance = isinstance(value, kind)
    except TypeError:
        return True
    if not is_instance:
        return False
    if kind in (collections.abc.Sequence, list) and inner and not isinstance(value, str | bytes):
        return all(fits(part, inner[0], names) for part in cast("list[Any]", value)[:_MOST])
    return not (isinstance(value, str) and kind is collections.abc.Sequence and inner and inner[0] is not str)


def spelled(hint: Any) -> str:
    """A type as the source says it."""
    return hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))


def _alternatives(text: str) -> list[str]:
    """The parts of `a | b[c | d]` between its outer bars."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _fits_text(value: object, text: str, names: dict[str, Any]) -> bool:
    """Return the result of `fits`; a class that is imported for type checkers only is compared by name."""
    try:
        return fits(value, eval(text, dict(names)), names)
    except (NameError, AttributeError, TypeError):
        return not text.isidentifier() or any(base.__name__ == text for base in type(value).__mro__)
