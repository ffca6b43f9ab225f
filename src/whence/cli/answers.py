"""Answers: text for people, in colours where a terminal shows it, or JSON for programs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast


def answer(args: argparse.Namespace, data: Callable[[], object], text: Callable[[], str]) -> None:
    """Print the data as JSON where --json asks for it, else the text."""
    if args.json:
        print_json(data())
    else:
        print(painted(text()))


def print_json(data: object) -> None:
    """Print data as JSON."""
    print(json.dumps(plain(data), indent=2, ensure_ascii=False))


def plain(value: object) -> object:
    """Convert a value to JSON types: records to objects, locations to the names of their layers, paths to text."""
    from xdsl.dialects.builtin import LocationAttr

    from whence.provenance.span import layer_names

    if isinstance(value, LocationAttr):
        return list(layer_names(value))
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case Path():
            return str(value)
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {str(key): plain(item) for key, item in items}
        case _ if dataclasses.is_dataclass(value):
            fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return {name: item for name, item in fields.items() if not name.startswith("_")}
        case _ if hasattr(value, "_fields"):
            return {name: plain(item) for name, item in cast(Any, value)._asdict().items()}
        case Sequence():
            return [plain(item) for item in cast("Sequence[object]", value)]
        case _:
            return plain(cast(Any, value).item()) if hasattr(value, "item") else str(value)


def colours(stream: IO[str]) -> bool:
    """Return whether a stream shows colours: a terminal, unless NO_COLOR is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_MARKS = {"(ok)": "32", "WRONG": "31", "error:": "31", "warning:": "33"}


def painted(text: str, stream: IO[str] | None = None) -> str:
    """Return text with the important parts in colour, if the stream shows colours."""
    if not colours(stream or sys.stdout):
        return text
    for word, colour in _MARKS.items():
        text = text.replace(word, f"\x1b[{colour}m{word}\x1b[0m")
    return text
