"""Reads the options of an operator, by their names in the schema's classes, and their defaults."""

from __future__ import annotations

from typing import Any, cast

_HELPERS = ("AsNumpy", "Length", "IsNone")
"""The ends of the names of the methods that describe a vector."""
_NO_FIELDS = b"\x04\x00\x04\x00\x04\x00\x00\x00"
"""A table without fields, at byte 4, after its vtable."""


def values_of(options: Any) -> dict[str, Any]:
    """Return the fields of a table of options: numbers, texts and lists, where a missing list is empty."""
    kind = cast("type[object]", options.__class__)
    members: dict[str, Any] = {name: getattr(kind, name) for name in dir(kind)}
    methods = [name for name, member in members.items() if callable(member) and name[:1].isupper()]
    vectors = {name.removesuffix("AsNumpy") for name in methods if name.endswith("AsNumpy")}
    helpers = {f"{vector}{end}" for vector in vectors for end in _HELPERS}
    values: dict[str, Any] = {}
    for name in methods:
        if name == "Init" or name.startswith("GetRootAs") or name.endswith("HasIdentifier") or name in helpers:
            continue
        if name in vectors:
            values[name] = getattr(options, f"{name}AsNumpy")().tolist() if getattr(options, f"{name}Length")() else []
        else:
            value = getattr(options, name)()
            values[name] = value.decode(errors="replace") if isinstance(value, bytes) else value
    return values


def stated_values(options: Any) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    empty = options.__class__()
    empty.Init(_NO_FIELDS, 4)
    defaults = values_of(empty)
    return {name: value for name, value in values_of(options).items() if value != defaults[name]}
