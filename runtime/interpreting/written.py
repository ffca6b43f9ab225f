"""Objects of interpreted programs as JSON and arrays, and back: programs of steps refer to one another in circles.

Objects of the classes in `CLASSES` are numbered; a reference is the number. Fields are written by the kinds of their
values: a tuple is a list, anything else that JSON lacks an object with one key that names the kind.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ...support.dtypes import Array, numpy_of
from ...support.names import shortened
from ..values.open_specs import OpenSpec
from . import language
from .control import CONTROL
from .edge import ValueType
from .flow import Argument, Items, Known, Output, Region, Step, Stretch
from .host import OPERATORS, Task
from .language_program import LanguageFunction
from .shape_patterns import Kept, Pattern, Same


@dataclass(eq=False)
class ModelSteps:
    """A model's region, its inputs and outputs, and its compiled stretches."""

    region: Region
    inputs: tuple[OpenSpec, ...]
    outputs: tuple[OpenSpec, ...]
    kept: tuple[Kept, ...]


@dataclass(eq=False)
class LanguageSteps:
    """The functions of a program of the language, and its compiled stretches."""

    functions: dict[str, LanguageFunction]
    constructors: dict[str, int]
    """The tag of each constructor of a data type."""
    kept: tuple[Kept, ...]
    max_depth: int
    """The number of calls that may wait for another."""


CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(Argument, Items, Kept, Known, LanguageFunction, LanguageSteps, ModelSteps, OpenSpec, Output, Pattern),
        *(Region, Same, Step, Stretch, Task, ValueType, language.Call, language.Choose, language.Clause),
        *(
            language.Computed,
            language.Construct,
            language.CreateReference,
            language.GetItem,
            language.Global,
            language.Invoke,
        ),
        *(language.Literal, language.MakeClosures, language.MakeTuple, language.Match, language.Native),
        *(language.ReadReference, language.WriteReference),
    )
}
"""The classes of objects in programs, by name."""
_MISSING = object()
_SHOWN = 40
"""Letters of a bad value that an error shows."""
Written = dict[str, Any]
Fields = Callable[[Any], Mapping[str, Any]]


class Writing(NamedTuple):
    """Objects as JSON, of which the first refers to the others, and the arrays that they hold, by position."""

    objects: list[Written]
    arrays: list[Array]


def written(root: object, replaced: Mapping[type, Fields]) -> Writing:
    """Return an object of `CLASSES`, and all that it refers to.

    replaced: for a class, what returns the fields of an object that are not written as they are, by name. Raises
    TypeError for an object of another class.
    """
    return _Writer(replaced).run(root)


class _Writer:
    def __init__(self, replaced: Mapping[type, Fields]):
        self._replaced = replaced
        self._numbers: dict[int, int] = {}
        self._objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._arrays: list[Array] = []
        self._alive: list[object] = []
        """Arrays that were made for a field, which keep their addresses."""

    def run(self, root: object) -> Writing:
        self._reference(root)
        rows: list[Written] = []
        # The list grows as objects refer to others.
        for one in self._objects:
            values = {name: getattr(one, name) for name in _names(one)}
            for cls, changed in self._replaced.items():
                if isinstance(one, cls):
                    values |= changed(one)
            rows.append({"class": type(one).__name__, **{name: self._value(value) for name, value in values.items()}})
        return Writing(rows, self._arrays)

    def _reference(self, one: object) -> int:
        if id(one) not in self._numbers:
            self._numbers[id(one)] = len(self._objects)
            self._objects.append(one)
        return self._numbers[id(one)]

    def _value(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | str():
                return value
            case float():
                return {"float": value.hex()}
            case tuple():
                return [self._value(item) for item in cast("tuple[Any, ...]", value)]
            case list():
                return {"list": [self._value(item) for item in cast("list[Any]", value)]}
            case set() | frozenset():
                return {"set": sorted(cast("set[str]", value))}
            case bytes():
                return {"bytes": base64.b64encode(value).decode()}
            case np.dtype():
                dtype = cast("np.dtype[np.generic]", value)
                return {"dtype": "object" if dtype.hasobject else dtype.name}
            case np.ndarray():
                array = cast(Array, value)
                if array.dtype.hasobject:
                    return {"texts": cast(Any, array.ravel()).tolist(), "shape": list(array.shape)}
                return {"array": self._array(array)}
            case np.generic():
                return {"number": self._array(np.asarray(cast(Any, value)))}
            case Mapping():
                return {"map": [[self._value(k), self._value(v)] for k, v in cast("Mapping[Any, Any]", value).items()]}
            case _ if CLASSES.get(type(value).__name__) is type(value):
                return {"object": self._reference(value)}
            case _:
                raise TypeError(f"expected a part of a program, got a {type(value).__name__}")

    def _array(self, array: Array) -> int:
        if id(array) not in self._places:
            self._places[id(array)] = len(self._arrays)
            self._arrays.append(array)
            self._alive.append(array)
        return self._places[id(array)]


def read(objects: Sequence[Written], arrays: Sequence[Array]) -> ModelSteps | LanguageSteps:
    """Return the first of objects that `written` returned.

    Every field is of its declared type, and steps are of the kind of program that they are in. Raises ValueError,
    KeyError, TypeError or the like for other objects.
    """
    made: list[Any] = [object.__new__(_class(row)) for row in objects]

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return tuple([value(item) for item in cast("list[Any]", given)])
        if not isinstance(given, dict):
            return given
        marked = cast("dict[str, Any]", given)
        kind = next(iter(marked))
        content = marked[kind]
        match kind:
            case "float":
                return float.fromhex(content)
            case "list":
                return [value(item) for item in content]
            case "set":
                return set[str](content)
            case "bytes":
                return base64.b64decode(content)
            case "dtype":
                return cast(Any, np.dtype(object) if content == "object" else numpy_of(content))
            case "texts":
                return cast(Any, np.array(content, object)).reshape(marked["shape"])
            case "array":
                return cast(Any, arrays[content])
            case "number":
                return cast(Any, arrays[content])[()]
            case "map":
                return {value(k): value(v) for k, v in cast("list[tuple[Any, Any]]", content)}
            case "object":
                return made[content]
            case _:
                raise KeyError(kind)

    for one, row in zip(made, objects, strict=True):
        for name, content in row.items():
            if name != "class":
                object.__setattr__(one, name, value(content))
    for number, one in enumerate(made):
        _check(one, f"objects[{number}]")
        if isinstance(one, Region):
            one.__post_init__()
    root: Any = made[0]
    if not isinstance(root, ModelSteps | LanguageSteps):
        raise ValueError(f"expected a program, got {type(root).__name__}")
    for one in made:
        _check_kind(one, isinstance(root, LanguageSteps))
    return root


def _class(row: Written) -> type:
    name = row.get("class")
    if name not in CLASSES:
        raise ValueError(f"expected a part of a program that this version has, got {name!r}")
    return CLASSES[name]


@cache
def _types(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def _check(one: Any, place: str) -> None:
    """Raise ValueError if a field of an object is missing, or not of its declared type."""
    types = _types(one.__class__)
    for name in _names(one):
        value: object = getattr(one, name, _MISSING)
        if value is _MISSING or not _holds(value, types[name]):
            actual = "nothing" if value is _MISSING else shortened(repr(value), _SHOWN)
            raise ValueError(f"{place}.{name}: expected {types[name]}, got {actual}")


def _check_kind(one: Any, language_program: bool) -> None:
    """Raise ValueError for what the machine that runs the program does not do."""
    match one:
        case Task() if one.operator not in OPERATORS:
            raise ValueError(f"expected an operator that this version has, got {one.operator!r}")
        case Step() if isinstance(one, language.Instruction) is not language_program:
            raise ValueError(f"expected steps of one machine, got {type(one).__name__}")
        case Step() if one.kind and one.kind not in CONTROL:
            raise ValueError(f"expected a step among {', '.join(CONTROL)}, got {one.kind!r}")
        case Kept():
            begin = cast("tuple[object, ...]", one.kind)[:1] if isinstance(one.kind, tuple) else ()
            first, kind = ((one.step,), language.Native) if language_program else (begin, Step)
            if not all(isinstance(step, kind) for step in first or (None,)):
                raise ValueError("expected the step that code is for, got none")
        case _:
            pass


def _holds(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type; in a file nothing is a function."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (Any, object, Hashable):
        return True
    if origin in (Union, UnionType):
        return any(_holds(value, argument) for argument in arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
        return len(values) == len(arguments) and all(map(_holds, values, arguments))
    if origin in (tuple, list, set, frozenset):
        return isinstance(value, cast(type, origin)) and all(_holds(item, arguments[0]) for item in value)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            return False
        items = cast("Mapping[Any, Any]", value).items()
        return all(_holds(k, arguments[0]) and _holds(v, arguments[1]) for k, v in items)
    if origin in (np.ndarray, np.dtype):
        return isinstance(value, origin)
    if kind in (int, bool):
        return type(value) is kind
    return origin is None and not getattr(kind, "_is_protocol", False) and isinstance(value, kind)


def _names(one: Any) -> list[str]:
    assert is_dataclass(one)
    return [field.name for field in fields(one)]
