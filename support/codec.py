"""Values to plain JSON values and back, by their declared types.

A dataclass is an object with every field, a NamedTuple or tuple a list, a dictionary an object, or a list of pairs
where its keys are no texts. A `Codec` may add types of single values, `Leaf`.

What is read is checked strictly: an `int` is a whole number, no truth value and no 1.0; a `float` is finite; every key
is there. Lists of single values are checked as a whole, as documents have millions of numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from .dtypes import numpy_of
from .errors import FrontendError, expectation
from .names import shortened, shown

T = TypeVar("T")
Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]
_SEQUENCES = (list, tuple)
_LISTS = frozenset[type](_SEQUENCES)
_OBJECTS = frozenset[type]([dict])
_SHOWN = 40
"""Letters of a bad value that an error shows."""
_LARGEST = 2**53
"""Numbers beyond it are not shown."""
_MISSING = object()


class _Misfit(Exception):
    """A value of the wrong type; the path to it is collected on the way up."""

    def __init__(self, expected: str, value: object) -> None:
        self.path: list[str] = []
        self.expected = expected
        self.value = value


def types_of(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields that its constructor takes, in order."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if field.init}


@dataclass(frozen=True)
class Leaf:
    """A type of single values."""

    noun: str
    kinds: frozenset[type]
    """The types that JSON has for it."""
    fits: Callable[[Sequence[Any]], bool] = lambda values: True
    """Tells of JSON values of these types whether all may stand in a document."""
    reader: Reader | None = None
    """Makes a value of a JSON value, or raises LookupError, TypeError or ValueError; without one that is the value."""
    writer: Writer | None = None
    """Makes a JSON value of a value."""
    type: Any = None
    """The type of the values, where it is none that JSON has."""

    def read(self, value: Any) -> Any:
        if type(value) not in self.kinds or not self.fits([value]):
            raise _Misfit(f"a {self.noun}", value)
        try:
            return value if self.reader is None else self.reader(value)
        except (LookupError, TypeError, ValueError):
            raise _Misfit(f"a {self.noun}", value) from None

    def column(self, values: Any) -> Any:
        """Read a whole list; the types of its elements are compared as a set."""
        if type(values) not in _SEQUENCES:
            raise _Misfit(f"{self.noun}s", values)
        if not (self.kinds.issuperset(map(type, values)) and self.fits(values)):
            wrong = (v for v in values if type(v) not in self.kinds or not self.fits([v]))
            raise _Misfit(f"{self.noun}s", next(wrong))
        return values if self.reader is None else list(map(self.reader if self.type is None else self.read, values))


def whole(largest: int | None = None) -> Leaf:
    """Return the leaf of `int`, of numbers up to a largest one."""
    if largest is None:
        return Leaf("whole number", frozenset([int]))
    return Leaf("whole number", frozenset([int]), lambda v: not v or (max(v) <= largest and min(v) >= -largest))


_LEAVES: Mapping[Any, Leaf] = {
    int: whole(),
    float: Leaf(
        *("number", frozenset([int, float])), lambda v: all(abs(n) <= sys.float_info.max for n in v), reader=float
    ),
    str: Leaf("text", frozenset([str])),
    bool: Leaf("truth value", frozenset([bool])),
    np.dtype: Leaf(*("dtype", frozenset([str])), reader=numpy_of, writer=lambda dtype: dtype.name, type=np.dtype),
}


@dataclass(frozen=True)
class _Form:
    """A type as JSON has it."""

    kinds: frozenset[type]
    read: Reader
    write: Writer | None
    """None where JSON has the values as they are."""
    holds: Callable[[Any], bool]
    """Tells whether a value is of the type."""
    keys: frozenset[str] = frozenset()
    """The keys of an object."""


class Codec:
    """The conversion of values of declared types."""

    def __init__(self, leaves: Mapping[Any, Leaf] | None = None):
        """leaves: more types of single values, or other forms of those that there are; annotated types are others."""
        self._leaves = {**_LEAVES, **(leaves or {})}
        self._forms: dict[Any, _Form] = {}

    def encode(self, value: Any, kind: Any = None) -> Any:
        """Return the JSON value of a value of a type, by default that of its class; columns are not copied."""
        write = self._form(kind or type(value)).write
        return value if write is None else write(value)

    def text(self, value: Any) -> str:
        """Return JSON in ASCII: dataclasses are objects; equal values give equal texts.

        Raises ValueError for numbers that JSON does not have.
        """
        return json.dumps(value, default=self.encode, separators=(",", ":"), allow_nan=False)

    def decode(self, kind: type[T], value: object, title: str) -> T:
        """Return the value of a type that a JSON value describes; unknown keys are ignored.

        Raises FrontendError for a value of the wrong type and for a missing key; the text begins with `title` and has
        the path to the value.
        """
        try:
            return self._form(kind).read(value)
        except _Misfit as misfit:
            path = "".join(reversed(misfit.path)).removeprefix(".")
            op = f"{shown(title)}: {path}" if path else shown(title)
            raise FrontendError(expectation(op, misfit.expected, _text(misfit.value))) from None

    def _form(self, kind: Any) -> _Form:
        if (form := self._forms.get(kind)) is None:
            form = self._forms[kind] = self._built(kind)
        return form

    def _leaf(self, kind: Any) -> Leaf | None:
        keys = kind, get_origin(kind), getattr(kind, "__origin__", None)
        return next((self._leaves[key] for key in keys if key in self._leaves), None)

    def _built(self, kind: Any) -> _Form:
        if leaf := self._leaf(kind):
            types = (leaf.type,) if leaf.type is not None else tuple(leaf.kinds)
            return _Form(leaf.kinds, leaf.read, leaf.writer, lambda value: isinstance(value, types))
        origin, arguments = get_origin(kind), get_args(kind)
        if hasattr(kind, "__metadata__"):
            return self._form(kind.__origin__)
        if origin is Literal:
            return _Form(frozenset([str]), _choice(arguments), None, lambda value: value in arguments)
        if origin in (UnionType, Union):
            return self._union(arguments)
        if origin is tuple and arguments[-1] is not Ellipsis:
            return _row([self._form(argument) for argument in arguments], tuple, tuple)
        if origin in (dict, Mapping):
            return self._mapping(*arguments)
        if origin is not None:
            return self._list(arguments[0], origin)
        if kind in (None, NoneType):
            return _Form(frozenset([NoneType]), _nothing, None, lambda value: value is None)
        if kind is Any:
            return _Form(_LISTS | _OBJECTS | {str, int, float, bool, NoneType}, _same, None, lambda value: True)
        if is_dataclass(kind):
            return self._object(cast(type, kind))
        if not hasattr(kind, "_fields"):
            raise TypeError(f"codec: expected a type that JSON has a form for, got {kind}")
        hints = _hints(kind, kind._fields)
        return _row([self._form(hint) for hint in hints.values()], kind, lambda values: kind(*values))

    def _object(self, cls: type) -> _Form:
        forms = {name: self._form(kind) for name, kind in _hints(cls, types_of(cls)).items()}

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise _Misfit("an object", value)
            values: dict[str, Any] = {}
            data = cast("dict[str, Any]", value)
            for name, form in forms.items():
                try:
                    values[name] = form.read(data.get(name, _MISSING))
                except _Misfit as misfit:
                    misfit.path.append(f".{name}")
                    raise
            return cls(**values)

        writers = {name: form.write or _same for name, form in forms.items()}

        def write(value: Any) -> Any:
            return {name: writer(getattr(value, name)) for name, writer in writers.items()}

        return _Form(_OBJECTS, read, write, lambda value: type(value) is cls, frozenset(forms))

    def _union(self, arguments: Sequence[Any]) -> _Form:
        """Return the form of a union: the JSON type selects the member; among objects, the most matching keys do."""
        forms = [self._form(argument) for argument in arguments]
        objects = sorted((form for form in forms if form.keys), key=lambda form: -len(form.keys))

        def read(value: Any) -> Any:
            fitting = [form for form in forms if type(value) in form.kinds] or forms
            if type(value) is dict:
                keys = set(cast("dict[str, Any]", value))
                fitting = [form for form in objects if form.keys <= keys] or objects or fitting
            return fitting[0].read(value)

        def write(value: Any) -> Any:
            # What is of none of the types is for JSON to refuse.
            writer = next((form.write for form in forms if form.holds(value)), None)
            return value if writer is None else writer(value)

        kinds = frozenset[type]().union(*(form.kinds for form in forms))
        copied = any(form.write for form in forms)
        return _Form(kinds, read, write if copied else None, lambda value: any(form.holds(value) for form in forms))

    def _mapping(self, key: Any, kind: Any) -> _Form:
        if key is not str:
            pairs = self._list(tuple[key, kind], list)
            write = pairs.write or _same
            return _Form(pairs.kinds, lambda v: dict(pairs.read(v)), lambda v: write(list(v.items())), _is_mapping)
        form = self._form(kind)

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise _Misfit("an object", value)
            return {key: form.read(element) for key, element in cast("dict[str, Any]", value).items()}

        write = form.write or _same
        return _Form(_OBJECTS, read, lambda v: {name: write(element) for name, element in v.items()}, _is_mapping)

    def _list(self, kind: Any, origin: Any) -> _Form:
        """Lists, tuples and sets: of single values as a column, others element by element."""
        leaf, form = self._leaf(kind), self._form(kind)

        def each(values: Any) -> Any:
            if type(values) not in _SEQUENCES:
                raise _Misfit("a list", values)
            return _elements((form.read, value) for value in values)

        listed = leaf.column if leaf is not None else each
        writer = form.write or _same

        def read(values: Any) -> Any:
            return cast(Any, origin)(listed(values)) if origin in (tuple, frozenset) else listed(values)

        def write(values: Any) -> Any:
            result = map(writer, values)
            return sorted(result) if origin is frozenset else list(result)

        copied = form.write is not None or origin is frozenset
        return _Form(_LISTS, read, write if copied else None, lambda value: isinstance(value, list | tuple | frozenset))


JSON = Codec()
"""Values of the types that every codec knows."""


def _hints(cls: type, names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of fields with what they are annotated with."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hints[name] for name in names}


def _row(forms: Sequence[_Form], cls: type, make: Callable[[list[Any]], Any]) -> _Form:
    """A list of values of one type each."""

    def read(value: Any) -> Any:
        if type(value) not in _SEQUENCES or len(value) != len(forms):
            raise _Misfit(f"a list of {len(forms)}", value)
        return make(_elements((form.read, element) for form, element in zip(forms, value, strict=True)))

    writers = [form.write or _same for form in forms]

    def write(value: Any) -> Any:
        return [writer(element) for writer, element in zip(writers, value, strict=True)]

    copied = any(form.write for form in forms)
    return _Form(_LISTS, read, write if copied else None, lambda value: isinstance(value, cls))


def _elements(pairs: Iterable[tuple[Reader, Any]]) -> list[Any]:
    """Return the values that readers make of elements."""
    result: list[Any] = []
    for read, element in pairs:
        try:
            result.append(read(element))
        except _Misfit as misfit:
            misfit.path.append(f"[{len(result)}]")
            raise
    return result


def _same(value: Any) -> Any:
    return value


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _nothing(value: Any) -> None:
    if value is not None:
        raise _Misfit("nothing", value)


def _choice(choices: Sequence[str]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str or value not in choices:
            raise _Misfit(f"one of {', '.join(choices)}", value)
        return value

    return read


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
    elif isinstance(value, int) and abs(value) >= _LARGEST:
        return "a number that is too large"
    return shortened(json.dumps(value), _SHOWN)
