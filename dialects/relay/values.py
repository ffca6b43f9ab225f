"""Values of the language as a caller sees them: arrays, tuples, data types, references and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute

from ...runtime.interpreting.flow import Adt, Reference
from ...runtime.program.inputs import accepted
from ...runtime.values.open_specs import OPEN, OpenSpec
from ...runtime.values.values import Unsuitable, natural
from ...support.errors import FrontendError
from ..element_types import numpy_dtype
from .data_types import TypeDataOp
from .types import AdtType, Forall, RefType, signature_of

Leaf = Callable[[Attribute, Any], Any]


Call = Callable[[Attribute, Any, Sequence[Any]], Any]
"""Calls a function of a program, of a type, with values of a caller."""


Fields = dict[tuple[int, str], tuple[Attribute, ...]]
"""Tag and name of a constructor -> the types of what it holds."""


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function that a program returned: called with values, it returns a value."""

    type: Attribute
    closure: Any
    """The function as the program knows it."""
    call: Call

    def __call__(self, *arguments: Any) -> Any:
        return self.call(self.type, self.closure, arguments)

    def __repr__(self) -> str:
        return f"Function({self.type})"


class _Task(NamedTuple):
    """A value to convert, and where to store the result."""

    type: Attribute
    value: Any
    home: list[Any]
    at: int
    fields: list[Any] | None = None
    """Its converted fields, once they exist."""


class Edge:
    """Conversion of values that enter and leave a program. Lists may be long, so nothing here recurses into a value."""

    def __init__(self, module: ModuleOp, call: Call):
        self.types = {op.sym_name.data: op for op in module.ops if isinstance(op, TypeDataOp)}
        self._call = call
        # Equal types are made one object, which is found by its address: to compare types takes long.
        self._same: dict[Attribute, Attribute] = {}
        self._held: dict[int, tuple[Attribute, Fields]] = {}

    def constructor(self, name: str) -> Callable[..., Adt]:
        """Return a function that makes values of a data type; raises FrontendError for an unknown constructor."""
        for definition in self.types.values():
            if name in definition.names():
                tag = definition.names().index(name)
                return lambda *fields: Adt(tag, name, fields)
        names = ", ".join(choice for definition in self.types.values() for choice in definition.names()) or "none"
        raise FrontendError(f"expected a constructor among {names}, got {name!r}")

    def spec(self, name: str, type_: Attribute) -> OpenSpec:
        """Return the specification of an input or output of a type."""
        if not isinstance(type_, TensorType):
            return OpenSpec(name, (), np.dtype(np.float32), kind=_noun(type_))
        shape = tuple(OPEN if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        return OpenSpec(name, shape, numpy_dtype(cast(Attribute, type_.element_type)), (None,) * len(shape))

    def enter(self, type_: Attribute, given: Any, name: str) -> Any:
        """Convert an argument, for the input `name`, to the program; raises FrontendError for other types."""

        specs: dict[int, OpenSpec] = {}

        def leaf(inner: Attribute, value: Any) -> Any:
            match inner:
                case TensorType():
                    if (spec := specs.get(id(inner))) is None:
                        spec = specs[id(inner)] = self.spec(name, inner)
                    return accepted([spec], [value])[0]
                case RefType() if isinstance(value, Reference):
                    value.value = self.enter(inner.value, value.value, name)
                    return value
                case FunctionType() | Forall() if isinstance(value, Function) and value.call == self._call:
                    return value.closure
                case TupleType() | AdtType() | RefType() | FunctionType() | Forall():
                    actual = f"{value.name}(..)" if isinstance(value, Adt) else f"a {type(value).__name__}"
                    raise FrontendError(f"inputs: expected {_noun(inner)} for '{name}', got {actual}")
                case _ if isinstance(value, Function):
                    return value.closure
                case _:
                    return cast(Any, value) if isinstance(value, Adt | Reference | tuple) else _untyped(value, name)

        return self._mapped(type_, given, leaf)

    def leave(self, type_: Attribute, value: Any) -> Any:
        """Convert a value of the program for the caller."""

        def leaf(inner: Attribute, value: Any) -> Any:
            return Function(inner, value, self._call) if signature_of(inner) is not None else value

        return self._mapped(type_, value, leaf) if self._has_functions(type_) else value

    def _has_functions(self, type_: Attribute) -> bool:
        """Return True if a value of the type may contain a function outside references."""
        stack, seen = [type_], {type_}
        while stack:
            current = stack.pop()
            if signature_of(current) is not None:
                return True
            inner = current.types.data if isinstance(current, TupleType) else ()
            if isinstance(current, AdtType):
                inner = [t for types in self._holds(current).values() for t in types]
            stack += [t for t in inner if t not in seen]
            seen.update(inner)
        return False

    def _holds(self, type_: AdtType) -> Fields:
        """Return the types of the fields of each constructor of a type."""
        if (entry := self._held.get(id(type_))) is None:
            definition = self.types[type_.definition.string_value()]
            fields: Fields = {}
            for tag, name in enumerate(definition.names()):
                types = definition.inputs_of(name, type_)
                fields[tag, name] = tuple(self._same.setdefault(t, t) for t in types)
            entry = self._held[id(type_)] = type_, fields
        return entry[1]

    def _mapped(self, type_: Attribute, given: Any, leaf: Leaf) -> Any:
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

    def _fields(self, type_: Attribute, value: Any) -> Sequence[Attribute] | None:
        """Return the field types of a tuple or data type value; None for others, and where the value does not fit."""
        match type_:
            case TupleType() if isinstance(value, tuple | list) and len(cast("list[Any]", value)) == len(type_.types):
                return type_.types.data
            case AdtType() if isinstance(value, Adt):
                types = self._holds(type_).get((value.tag, value.name))
                return types if types is not None and len(types) == len(value) else None
            case _:
                return None


def _untyped(value: Any, name: str) -> Any:
    """The array of a value of any type."""
    try:
        return natural(value)
    except Unsuitable as unsuitable:
        raise FrontendError(f"inputs: expected a value for '{name}', got {unsuitable}") from None


def _noun(type_: Attribute) -> str:
    match type_:
        case TupleType():
            return f"a tuple of {len(type_.types)}"
        case AdtType():
            return f"a value of data type {type_.definition.string_value()}"
        case RefType():
            return "a reference"
        case FunctionType() | Forall():
            return "a function of the program"
        case _:
            return str(type_)
