"""Values of the language as a caller sees them: arrays, tuples, data types, references and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute

from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay.data_types import TypeDataOp
from whence.dialects.relay.types import AdtType, Forall, RefType, signature_of
from whence.runtime.flow import Adt, Closure, Reference
from whence.runtime.open_specs import OPEN, OpenSpec
from whence.support.errors import FrontendError

Leaf = Callable[[Attribute, Any], Any]


class Function:
    """A function that a program gave: called with values, it gives a value."""

    def __init__(self, type_: Attribute, closure: Any, call: Callable[[Attribute, Any, Sequence[Any]], Any]):
        self.type = type_
        self.closure = closure
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(self.type, self.closure, arguments)


class Edge:
    """Where values enter and leave a program. Lists may be long: nothing here nests by how deep a value is.

    call: calls a function of the program, of a type, with values of a caller.
    """

    def __init__(self, module: ModuleOp, call: Callable[[Attribute, Any, Sequence[Any]], Any]):
        self.types = {op.sym_name.data: op for op in module.ops if isinstance(op, TypeDataOp)}
        self._call = call

    def constructor(self, name: str) -> Callable[..., Adt]:
        """What makes values of a data type; raises FrontendError when no type has a constructor of that name."""
        for definition in self.types.values():
            if name in definition.names():
                tag = definition.names().index(name)
                return lambda *fields: Adt(tag, name, fields)
        known = ", ".join(one for definition in self.types.values() for one in definition.names()) or "none"
        raise FrontendError(f"expected a constructor among {known}, got {name!r}")

    def spec(self, name: str, type_: Attribute) -> OpenSpec:
        """What an input or output of a type is."""
        if not isinstance(type_, TensorType):
            return OpenSpec(name, (), np.dtype(np.float32), kind=_noun(type_))
        shape = tuple(OPEN if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        return OpenSpec(name, shape, numpy_dtype(cast(Attribute, type_.element_type)), (None,) * len(shape))

    def enter(self, type_: Attribute, given: Any, name: str) -> Any:
        """A value of the program; raises FrontendError when what is given, for the input `name`, is of another type."""

        def leaf(inner: Attribute, value: Any) -> Any:
            match inner:
                case TensorType():
                    array, problem = self.spec(name, inner).accept(value)
                    if problem:
                        raise FrontendError(f"inputs: {problem}")
                    return array
                case RefType() if isinstance(value, Reference):
                    value.value = self.enter(inner.value, value.value, name)
                    return value
                case FunctionType() | Forall() if isinstance(value, Function) and isinstance(value.closure, Closure):
                    return value.closure
                case TupleType() | AdtType() | RefType() | FunctionType() | Forall():
                    found = f"{value.name}(..)" if isinstance(value, Adt) else f"a {type(value).__name__}"
                    raise FrontendError(f"inputs: expected {_noun(inner)} for '{name}', got {found}")
                case _:
                    language = isinstance(value, Adt | Reference | tuple)
                    return value.closure if isinstance(value, Function) else value if language else np.asarray(value)

        return self._mapped(type_, given, leaf)

    def leave(self, type_: Attribute, value: Any) -> Any:
        """What a caller gets for a value of the program."""

        def leaf(inner: Attribute, value: Any) -> Any:
            return Function(inner, value, self._call) if signature_of(inner) is not None else value

        return self._mapped(type_, value, leaf) if self._has_functions(type_) else value

    def _has_functions(self, type_: Attribute) -> bool:
        """Whether a function may be in a value, references apart."""
        stack, seen = [type_], {type_}
        while stack:
            one = stack.pop()
            if signature_of(one) is not None:
                return True
            inner = one.types.data if isinstance(one, TupleType) else ()
            if isinstance(one, AdtType):
                definition = self.types[one.definition.string_value()]
                inner = [t for name in definition.names() for t in definition.inputs_of(name, one)]
            stack += [t for t in inner if t not in seen]
            seen.update(inner)
        return False

    def _mapped(self, type_: Attribute, given: Any, leaf: Leaf) -> Any:
        """A value with `leaf` of all that is no tuple nor of a data type, each with its type; or that does not fit."""
        root: list[Any] = [None]
        todo: list[tuple[Attribute, Any, list[Any], int] | Callable[[], None]] = [(type_, given, root, 0)]
        while todo:
            task = todo.pop()
            if not isinstance(task, tuple):
                task()
                continue
            inner, value, home, at = task
            if (fields := self._fields(inner, value)) is None:
                home[at] = leaf(inner, value)
                continue
            found: list[Any] = [None] * len(fields)
            todo.append(_put(home, at, value, found))
            todo += [(t, v, found, k) for k, (t, v) in enumerate(zip(fields, value, strict=True))]
        return root[0]

    def _fields(self, type_: Attribute, value: Any) -> Sequence[Attribute] | None:
        """The types of what is in a tuple or a value of a data type; None for others, and where it is not that."""
        match type_:
            case TupleType() if isinstance(value, tuple | list) and len(cast("list[Any]", value)) == len(type_.types):
                return type_.types.data
            case AdtType() if isinstance(value, Adt):
                definition = self.types[type_.definition.string_value()]
                names = definition.names()
                if not 0 <= value.tag < len(names) or names[value.tag] != value.name:
                    return None
                types = definition.inputs_of(value.name, type_)
                return types if len(types) == len(value) else None
            case _:
                return None


def _put(home: list[Any], at: int, value: Any, found: list[Any]) -> Callable[[], None]:
    """Has `home` hold, at a place, what `value` is with other fields, once these are there."""

    def put() -> None:
        home[at] = Adt(value.tag, value.name, found) if isinstance(value, Adt) else tuple(found)

    return put


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
