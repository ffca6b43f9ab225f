"""Dataclasses to plain JSON values and back, by the types of their fields.

What is read is checked strictly: an `int` is a whole number, no truth value and no 1.0, that JavaScript can hold; a
`float` is finite; every key is there. Columns are checked as a whole, as documents have millions of numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from ...support.errors import FrontendError, expectation
from ...support.names import shortened, shown

T = TypeVar("T")
Reader = Callable[[Any], Any]
LARGEST = 2**53 - 1
"""The largest number that JavaScript can count to."""
_SEQUENCES = (list, tuple)
_SHOWN = 40
"""Letters of a bad value that an error shows."""


class _Misfit(Exception):
    """A value of the wrong type; the path to it is collected on the way up."""

    def __init__(self, expected: str, value: object) -> None:
        self.path: list[str] = []
        self.expected = expected
        self.value = value


_MISSING = object()


def types_of(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, in order."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def plain(value: Any) -> Any:
    """Return dataclasses, and those in lists, as dicts; columns are not copied."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if type(value) is list and (items := cast("list[Any]", value)) and is_dataclass(items[0]):
        return [plain(item) for item in items]
    return cast("object", value)


def json_text(value: Any) -> str:
    """Return JSON in ASCII: dataclasses are objects; equal values give equal texts.

    Raises ValueError for numbers that JSON does not have.
    """
    return json.dumps(value, default=plain, separators=(",", ":"), allow_nan=False)


def build(cls: type[T], value: object, title: str) -> T:
    """Return the dataclass that a JSON value describes; unknown keys are ignored.

    Raises FrontendError for a value of the wrong type and for a missing key; the text begins with `title` and has the
    path to the value.
    """
    try:
        return _reader(cls)(value)
    except _Misfit as misfit:
        path = "".join(reversed(misfit.path)).removeprefix(".")
        op = f"{shown(title)}: {path}" if path else shown(title)
        raise FrontendError(expectation(op, misfit.expected, _text(misfit.value))) from None


def _text(value: object) -> str:
    """Return a JSON value in a few letters."""
    if value is _MISSING:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        value = value[: 2 * _SHOWN]
    elif isinstance(value, int) and abs(value) > LARGEST:
        return "a number that is too large"
    return shortened(json.dumps(value), _SHOWN)


@cache
def _reader(kind: Any) -> Reader:
    """Return the function that reads values of a type."""
    if leaf := _LEAVES.get(kind):
        return leaf.read
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _choice(arguments)
    if origin is UnionType:
        (inner,) = (_reader(argument) for argument in arguments if argument is not NoneType)
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _tuple([_reader(argument) for argument in arguments])
    return _mapping(_reader(arguments[1])) if origin is dict else _list(arguments[0])


@dataclass(frozen=True)
class _Leaf:
    """A type of single values."""

    noun: str
    kinds: frozenset[type]
    fits: Callable[[Sequence[Any]], bool]
    """Tells of values of these types whether all may stand in a document."""

    def read(self, value: Any) -> Any:
        if type(value) not in self.kinds or not self.fits([value]):
            raise _Misfit(f"a {self.noun}", value)
        return float(value) if float in self.kinds else value

    def column(self, values: Any) -> Any:
        """Read a whole list; the types of its elements are compared as a set."""
        if type(values) not in _SEQUENCES:
            raise _Misfit(f"{self.noun}s", values)
        if not (self.kinds.issuperset(map(type, values)) and self.fits(values)):
            wrong = (v for v in values if type(v) not in self.kinds or not self.fits([v]))
            raise _Misfit(f"{self.noun}s", next(wrong))
        return list(map(float, values)) if float in self.kinds else values


_LEAVES: Mapping[Any, _Leaf] = {
    int: _Leaf("whole number", frozenset([int]), lambda v: not v or (max(v) <= LARGEST and min(v) >= -LARGEST)),
    float: _Leaf("number", frozenset([int, float]), lambda v: all(abs(n) <= sys.float_info.max for n in v)),
    str: _Leaf("text", frozenset([str]), lambda v: True),
    bool: _Leaf("truth value", frozenset([bool]), lambda v: True),
}


def _list(kind: Any) -> Reader:
    """Lists: of single values as a column, others element by element."""
    read = leaf.column if (leaf := _LEAVES.get(kind)) else None
    element = _reader(kind)

    def each(values: Any) -> Any:
        if type(values) not in _SEQUENCES:
            raise _Misfit("a list", values)
        result: list[Any] = []
        for value in values:
            try:
                result.append(element(value))
            except _Misfit as misfit:
                misfit.path.append(f"[{len(result)}]")
                raise
        return result

    return read or each


def _tuple(readers: Sequence[Reader]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) not in _SEQUENCES or len(value) != len(readers):
            raise _Misfit(f"a list of {len(readers)}", value)
        result: list[Any] = []
        for reader, element in zip(readers, value, strict=True):
            try:
                result.append(reader(element))
            except _Misfit as misfit:
                misfit.path.append(f"[{len(result)}]")
                raise
        return tuple(result)

    return read


def _object(cls: type) -> Reader:
    readers = {name: _reader(kind) for name, kind in types_of(cls).items()}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _Misfit("an object", value)
        values: dict[str, Any] = {}
        data = cast("dict[str, Any]", value)
        for name, reader in readers.items():
            try:
                values[name] = reader(data.get(name, _MISSING))
            except _Misfit as misfit:
                misfit.path.append(f".{name}")
                raise
        return cls(**values)

    return read


def _mapping(reader: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _Misfit("an object", value)
        return {key: reader(element) for key, element in cast("dict[str, Any]", value).items()}

    return read


def _choice(choices: Sequence[str]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str or value not in choices:
            raise _Misfit(f"one of {', '.join(choices)}", value)
        return value

    return read
