"""Values of the language as a caller sees them: arrays, tuples, data types, references and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from ...support.errors import FrontendError
from ..program.inputs import accepted
from ..values.open_specs import OpenSpec
from ..values.values import Unsuitable, natural
from .flow import Adt, Reference

Fields = dict[tuple[int, str], "tuple[ValueType, ...]"]
"""Tag and name of a constructor -> the types of what it holds."""


@dataclass(eq=False)
class ValueType:
    """A type of values, equal to itself only."""

    kind: str
    """`tensor`, `tuple`, `data`, `reference`, `function`, or `any`."""
    text: str
    """The type as the program writes it."""
    noun: str
    """Words for a value of the type."""
    spec: OpenSpec | None = None
    """Shape and dtype of a tensor."""
    parts: tuple[ValueType, ...] = ()
    """The types in a tuple or a reference; the inputs and then the result of a function."""
    fields: Fields | Callable[[], Fields] | None = None
    """The fields of the constructors of a data type, or a function that gives them, as types may hold themselves."""

    def held(self) -> Fields:
        """Return what the constructors of a data type hold."""
        if callable(self.fields):
            self.fields = self.fields()
        return self.fields or {}

    def named(self, name: str) -> OpenSpec:
        """Return the specification of an input or output of the type."""
        spec = OpenSpec(name, (), _NO_DTYPE, kind=self.noun) if self.spec is None else self.spec
        return replace(spec, name=name)


_NO_DTYPE = np.dtype(np.float32)
"""Stands in specifications of values that are no tensors."""
Leaf = Callable[[ValueType, Any], Any]
Call = Callable[[ValueType, Any, Sequence[Any]], Any]
"""Calls a function of a program, of a type, with values of a caller."""


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function that a program returned: called with values, it returns a value."""

    type: ValueType
    closure: Any
    """The function as the program knows it."""
    call: Call

    def __call__(self, *arguments: Any) -> Any:
        return self.call(self.type, self.closure, arguments)

    def __repr__(self) -> str:
        return f"Function({self.type.text})"


class _Task(NamedTuple):
    """A value to convert, and where to store the result."""

    type: ValueType
    value: Any
    home: list[Any]
    at: int
    fields: list[Any] | None = None
    """Its converted fields, once they exist."""


class Edge:
    """Conversion of values that enter and leave a program. Lists may be long, so nothing here recurses into a value."""

    def __init__(self, constructors: Mapping[str, int], call: Call):
        """constructors: the tag of each constructor. call: runs a function that the program returned."""
        self._constructors = constructors
        self._call = call

    def constructor(self, name: str) -> Callable[..., Adt]:
        """Return a function that makes values of a data type; raises FrontendError for an unknown constructor."""
        if (tag := self._constructors.get(name)) is not None:
            return lambda *fields: Adt(tag, name, fields)
        names = ", ".join(self._constructors) or "none"
        raise FrontendError(f"expected a constructor among {names}, got {name!r}")

    def enter(self, type_: ValueType, given: Any, name: str) -> Any:
        """Convert an argument, for the input `name`, to the program; raises FrontendError for other types."""

        specs: dict[int, OpenSpec] = {}

        def leaf(inner: ValueType, value: Any) -> Any:
            match inner.kind:
                case "tensor":
                    if (spec := specs.get(id(inner))) is None:
                        spec = specs[id(inner)] = inner.named(name)
                    return accepted([spec], [value])[0]
                case "reference" if isinstance(value, Reference):
                    value.value = self.enter(inner.parts[0], value.value, name)
                    return value
                case "function" if isinstance(value, Function) and value.call == self._call:
                    return value.closure
                case "any" if isinstance(value, Function):
                    return value.closure
                case "any":
                    return cast(Any, value) if isinstance(value, Adt | Reference | tuple) else _untyped(value, name)
                case _:
                    actual = f"{value.name}(..)" if isinstance(value, Adt) else f"a {type(value).__name__}"
                    raise FrontendError(f"inputs: expected {inner.noun} for '{name}', got {actual}")

        return self._mapped(type_, given, leaf)

    def leave(self, type_: ValueType, value: Any) -> Any:
        """Convert a value of the program for the caller."""

        def leaf(inner: ValueType, value: Any) -> Any:
            return Function(inner, value, self._call) if inner.kind == "function" else value

        return self._mapped(type_, value, leaf) if self._has_functions(type_) else value

    def _has_functions(self, type_: ValueType) -> bool:
        """Return True if a value of the type may contain a function outside references."""
        stack, seen = [type_], {type_}
        while stack:
            current = stack.pop()
            if current.kind == "function":
                return True
            inner = (
                list(current.parts) if current.kind == "tuple" else [t for ts in current.held().values() for t in ts]
            )
            stack += [t for t in inner if t not in seen]
            seen.update(inner)
        return False

    def _mapped(self, type_: ValueType, given: Any, leaf: Leaf) -> Any:
        """Return a value with `leaf` applied to all but the tuples and data type values in it that fit their types."""
        root: list[Any] = [None]
        todo = [_Task(type_, given, root, 0)]
        while todo:
            task = todo.pop()
            if task.fields is not None:
                value = task.value
                task.home[task.at] = (
                    Adt(value.tag, value.name, task.fields) if isinstance(value, Adt) else tuple(task.fields)
                )
            elif (types := self._fields(task.type, task.value)) is None:
                task.home[task.at] = leaf(task.type, task.value)
            else:
                fields: list[Any] = [None] * len(types)
                todo.append(task._replace(fields=fields))
                todo += [_Task(t, task.value[k], fields, k) for k, t in enumerate(types)]
        return root[0]

    def _fields(self, type_: ValueType, value: Any) -> Sequence[ValueType] | None:
        """Return the field types of a tuple or data type value; None for others, and where the value does not fit."""
        if type_.kind == "tuple" and isinstance(value, tuple | list):
            return type_.parts if len(cast("list[Any]", value)) == len(type_.parts) else None
        if type_.kind == "data" and isinstance(value, Adt):
            types = type_.held().get((value.tag, value.name))
            return types if types is not None and len(types) == len(value) else None
        return None


def _untyped(value: Any, name: str) -> Any:
    """The array of a value of any type."""
    try:
        return natural(value)
    except Unsuitable as unsuitable:
        raise FrontendError(f"inputs: expected a value for '{name}', got {unsuitable}") from None
