"""Types of the language's values that are no tensors: references, algebraic data types, polymorphic functions.

Tuples are builtin tuples, `tuple<tensor<4xf32>, tensor<i1>>`; functions builtin function types with one result,
`(tensor<4xf32>) -> tensor<4xf32>`; a dimension that only a run decides is `?`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def

from ..sizes import same
from ..sizes.types import extents_of, tensor_of

Types: TypeAlias = ArrayAttr[Attribute]


@irdl_attr_definition
class RefType(ParametrizedAttribute, TypeAttribute):
    """A reference to a value: `!relay.ref<tensor<4xf32>>` (TVM's RelayRefType)."""

    name = "relay.ref"
    value: TypeAttribute = param_def()


@irdl_attr_definition
class TypeVar(ParametrizedAttribute, TypeAttribute):
    """A type that a polymorphic function or data type leaves open: `!relay.type_var<"A">`."""

    name = "relay.type_var"
    hint: StringAttr = param_def()

    @property
    def name_hint(self) -> str:
        return self.hint.data


@irdl_attr_definition
class AdtType(ParametrizedAttribute, TypeAttribute):
    """An algebraic data type applied to types: `!relay.adt<@List, [tensor<i32>]>` (TVM's TypeCall)."""

    name = "relay.adt"
    definition: SymbolRefAttr = param_def()
    arguments: Types = param_def()


@irdl_attr_definition
class Forall(ParametrizedAttribute, TypeAttribute):
    """The type of a polymorphic function: `!relay.forall<["A"], (!relay.type_var<"A">) -> !relay.type_var<"A">>`."""

    name = "relay.forall"
    params: ArrayAttr[StringAttr] = param_def()
    body: FunctionType = param_def()


def adt_type(name: str, arguments: Sequence[Attribute] = ()) -> AdtType:
    return AdtType(SymbolRefAttr(name), ArrayAttr(arguments))


def tuple_type(fields: Sequence[Attribute]) -> TupleType:
    return TupleType(cast("ArrayAttr[TypeAttribute]", ArrayAttr(tuple(fields))))


UNIT = tuple_type(())
"""The type of the tuple of nothing."""


def fields_of(type_: Attribute) -> tuple[Attribute, ...] | None:
    """The types in a tuple; None for another type."""
    return tuple(type_.types) if isinstance(type_, TupleType) else None


def function_type(type_params: Sequence[str], inputs: Sequence[Attribute], output: Attribute) -> FunctionType | Forall:
    """The type of a function of one result."""
    body = FunctionType.from_lists(list(inputs), [output])
    return Forall(ArrayAttr(map(StringAttr, type_params)), body) if type_params else body


def signature_of(type_: Attribute) -> FunctionType | None:
    """Inputs and output of a function's type, a polymorphic one's with its type variables; None for another type."""
    if isinstance(type_, Forall):
        return type_.body
    return type_ if isinstance(type_, FunctionType) else None


def fits(expected: Attribute, found: Attribute) -> bool:
    """Return whether a value of type `found` may stand where `expected` is wanted: an open extent fits every extent."""
    stack = [(expected, found)]
    while stack:
        a, b = stack.pop()
        if a == b:
            continue
        match a, b:
            case (TensorType(), TensorType()):
                shapes = a.get_shape(), b.get_shape()
                if a.element_type != b.element_type or len(shapes[0]) != len(shapes[1]):
                    return False
                if any(m != n and DYNAMIC_INDEX not in (m, n) for m, n in zip(*shapes, strict=True)):
                    return False
            case (TupleType(), TupleType()) if len(a.types) == len(b.types):
                stack.extend(zip(a.types, b.types, strict=True))
            case (RefType(), RefType()):
                stack.append((a.value, b.value))
            case (AdtType(), AdtType()) if a.definition == b.definition and len(a.arguments) == len(b.arguments):
                stack.extend(zip(a.arguments, b.arguments, strict=True))
            case (FunctionType(), FunctionType()) if len(a.inputs) == len(b.inputs):
                stack.extend(zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=False))
            case (FunctionType(), Forall()) if (special := _instance(b, a)) is not None:
                stack.append((a, special))
            case _:
                return False
    return True


def joined(first: Attribute, second: Attribute) -> Attribute:
    """The type of a value that has either of two types that fit: extents on which they differ are open."""
    match first, second:
        case (TensorType(), TensorType()) if first != second:
            pairs = zip(extents_of(first), extents_of(second), strict=True)
            return tensor_of(first.element_type, [m if same(m, n) else DYNAMIC_INDEX for m, n in pairs])
        case (TupleType(), TupleType()):
            return tuple_type([joined(a, b) for a, b in zip(first.types, second.types, strict=True)])
        case _:
            return first


def _instance(general: Forall, special: FunctionType) -> FunctionType | None:
    """A polymorphic function's type for the types that stand in `special` in the places of its variables."""
    if len(general.body.inputs) != len(special.inputs):
        return None
    return cast(FunctionType, substituted(general.body, type_arguments(general, special)))


def type_arguments(general: Forall, special: FunctionType) -> dict[str, Attribute]:
    """Return the types in `special` that stand for the variables of a polymorphic function's type."""
    arguments: dict[str, Attribute] = {}
    stack = list(zip((*general.body.inputs, *general.body.outputs), (*special.inputs, *special.outputs), strict=False))
    while stack:
        wide, narrow = stack.pop()
        match wide, narrow:
            case (TypeVar(), _):
                arguments.setdefault(wide.hint.data, narrow)
            case (TupleType(), TupleType()):
                stack.extend(zip(wide.types, narrow.types, strict=False))
            case (RefType(), RefType()):
                stack.append((wide.value, narrow.value))
            case (AdtType(), AdtType()):
                stack.extend(zip(wide.arguments, narrow.arguments, strict=False))
            case (FunctionType(), FunctionType()):
                stack.extend(zip((*wide.inputs, *wide.outputs), (*narrow.inputs, *narrow.outputs), strict=False))
            case _:
                continue
    return arguments


def substituted(type_: Attribute, given: dict[str, Attribute]) -> Attribute:
    """A type with types in the place of type variables, those that an inner `Forall` binds apart."""
    match type_:
        case TypeVar():
            return given.get(type_.hint.data, type_)
        case TupleType():
            return tuple_type([substituted(t, given) for t in type_.types])
        case RefType():
            return RefType(cast(TypeAttribute, substituted(type_.value, given)))
        case AdtType():
            return AdtType(type_.definition, ArrayAttr(substituted(t, given) for t in type_.arguments))
        case FunctionType():
            inputs = [substituted(t, given) for t in type_.inputs]
            return FunctionType.from_lists(inputs, [substituted(t, given) for t in type_.outputs])
        case Forall():
            bound = {name.data for name in type_.params}
            free = {name: value for name, value in given.items() if name not in bound}
            return Forall(type_.params, cast(FunctionType, substituted(type_.body, free)))
        case _:
            return type_


def numbered(type_: Attribute, depth: int = 0) -> Attribute:
    """A type with numbers for the names of the type variables that polymorphic types in it bind.

    Two types that differ in those names alone become one.
    """
    match type_:
        case Forall():
            names = [f"{depth + number}'" for number in range(len(type_.params))]
            own = {param.data: TypeVar(StringAttr(name)) for param, name in zip(type_.params, names, strict=True)}
            body = substituted(type_.body, cast("dict[str, Attribute]", own))
            return Forall(ArrayAttr(map(StringAttr, names)), cast(FunctionType, numbered(body, depth + len(names))))
        case TupleType():
            return tuple_type([numbered(t, depth) for t in type_.types])
        case RefType():
            return RefType(cast(TypeAttribute, numbered(type_.value, depth)))
        case AdtType():
            return AdtType(type_.definition, ArrayAttr(numbered(t, depth) for t in type_.arguments))
        case FunctionType():
            inputs = [numbered(t, depth) for t in type_.inputs]
            return FunctionType.from_lists(inputs, [numbered(t, depth) for t in type_.outputs])
        case _:
            return type_
