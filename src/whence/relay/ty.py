"""Types by TVM's names. Each is a function that makes the type, which is an xDSL attribute."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any as Anything
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, TypeAttribute

from whence.dialects.relay import types
from whence.frontends.relay.expr import Constructor
from whence.frontends.relay.expr import TypeData as Definition
from whence.frontends.relay.unify import HOLE
from whence.relay.composed import tensor_type

# The names are TVM's.


class TypeKind(IntEnum):
    """What a variable of types stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class Any:
    """An extent that only a run decides: `relay.TensorType((relay.Any(), 4))`."""

    def __repr__(self) -> str:
        return "?"


def TensorType(shape: Sequence[Anything], dtype: str = "float32") -> Attribute:
    """A tensor."""
    return tensor_type(shape, dtype)


def scalar_type(dtype: str) -> Attribute:
    """A tensor without axes."""
    return tensor_type((), dtype)


def TupleType(fields: Sequence[Attribute]) -> Attribute:
    """A tuple."""
    return types.tuple_type(fields)


def FuncType(
    arg_types: Sequence[Attribute],
    ret_type: Attribute,
    type_params: Sequence[Attribute] | None = None,
    type_constraints: Sequence[object] | None = None,
) -> Attribute:
    """A function; of type variables, a polymorphic one."""
    names = [cast(types.TypeVar, param).hint.data for param in type_params or ()]
    return types.function_type(names, arg_types, ret_type)


def RefType(value: Attribute) -> Attribute:
    """A reference."""
    return types.RefType(cast(TypeAttribute, value))


RelayRefType = RefType


def IncompleteType(kind: TypeKind = TypeKind.Type) -> Attribute:
    """A type to be inferred."""
    return HOLE


def TypeVar(name: str, kind: object = None) -> Attribute:
    """A variable that stands for a type."""
    return types.TypeVar(StringAttr(name))


class GlobalTypeVar(str):
    """The name of a data type; called with types, the data type applied to them."""

    def __new__(cls, name: str, kind: object = None) -> GlobalTypeVar:
        return super().__new__(cls, name)

    @property
    def name_hint(self) -> str:
        return str(self)

    @property
    def kind(self) -> TypeKind:
        return TypeKind.AdtHandle

    def __call__(self, *args: Attribute) -> Attribute:
        return types.adt_type(str(self), args)


def TypeCall(func: str, args: Sequence[Attribute] = ()) -> Attribute:
    """A data type applied to types."""
    return types.adt_type(func, args)


def TypeData(header: str, type_vars: Sequence[Anything], constructors: Sequence[Constructor]) -> Definition:
    """The definition of a data type; numbers its constructors."""
    for tag, constructor in enumerate(constructors):
        constructor.tag, constructor.belong_to = tag, str(header)
    names = [v if isinstance(v, str) else cast(types.TypeVar, v).hint.data for v in type_vars]
    return Definition(str(header), names, constructors)


def is_type(what: object) -> bool:
    """Whether this is a type, as those above are."""
    return isinstance(what, TypeAttribute)
