"""Types by TVM's names, each a view of the type of ops, which is an attribute of xDSL's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any as Anything

from xdsl.ir import Attribute, TypeAttribute

from whence.syntax.relay.expr import Constructor
from whence.syntax.relay.expr import TypeData as Definition
from whence.syntax.relay.type_view import Any as Any
from whence.syntax.relay.type_view import FuncType as FuncType
from whence.syntax.relay.type_view import RefType as RefType
from whence.syntax.relay.type_view import TensorType as TensorType
from whence.syntax.relay.type_view import TupleType as TupleType
from whence.syntax.relay.type_view import TypeCall as TypeCall
from whence.syntax.relay.type_view import TypeVar as TypeVar
from whence.syntax.relay.type_view import TypeView, view
from whence.syntax.relay.unify import HOLE

# The names are TVM's.


class TypeKind(IntEnum):
    """The kind of a type variable."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


def scalar_type(dtype: str) -> TensorType:
    """A tensor without axes."""
    return TensorType((), dtype)


RelayRefType = RefType


def IncompleteType(kind: TypeKind = TypeKind.Type) -> Attribute:
    """A type to be inferred."""
    return HOLE


@dataclass(frozen=True)
class PrimType:
    """The type of a number in a loop, as a record; expressions of te and tir have a dtype."""

    dtype: str

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True)
class PointerType:
    """The type of a pointer to elements, as a record; buffers of tir have a dtype and a shape."""

    element_type: Anything
    storage_scope: str = ""

    def __str__(self) -> str:
        return f"Pointer({self.element_type})"


class TypeConstraint:
    """Base of constraints on types."""


@dataclass(frozen=True)
class TypeRelation(TypeConstraint):
    """A relation between the types of a call, as a record that nothing reads: here operators have their own rules."""

    func: Anything
    args: Sequence[Anything]
    num_inputs: int
    attrs: Anything = None


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

    def __call__(self, *args: Anything) -> TypeCall:
        return TypeCall(str(self), args)


def TypeData(header: str, type_vars: Sequence[Anything], constructors: Sequence[Constructor]) -> Definition:
    """The definition of a data type; numbers its constructors."""
    for tag, constructor in enumerate(constructors):
        constructor.tag, constructor.belong_to = tag, str(header)
    names = [v if isinstance(v, str) else v.hint.data for v in type_vars]
    return Definition(str(header), names, constructors)


def is_dynamic(tensor_type: Anything) -> bool:
    """Return whether only a run decides some extent of a tensor's type, or of a tuple's."""
    type_ = view(tensor_type)
    if isinstance(type_, TupleType):
        return any(map(is_dynamic, type_.fields))
    return isinstance(type_, TensorType) and not all(isinstance(extent, int) for extent in type_.shape)


def is_type(what: object) -> bool:
    """Return whether this is a type, as those above are."""
    return isinstance(what, TypeAttribute | TypeView | PrimType | PointerType | TypeConstraint)
