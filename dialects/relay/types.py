"""Types of the language's values that are no tensors: references, algebraic data types, polymorphic functions.

Tuples are builtin tuples, `tuple<tensor<4xf32>, tensor<i1>>`; functions builtin function types with one result,
`(tensor<4xf32>) -> tensor<4xf32>`; a dimension that only a run decides is `?`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

from ..sizes import decide, same
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


def parts_of(type_: Attribute) -> tuple[Attribute, ...] | None:
    """The types that a type is made of, of a function inputs before outputs; None for one that is made of none."""
    match type_:
        case TupleType():
            return tuple(type_.types)
        case FunctionType():
            return (*type_.inputs, *type_.outputs)
        case RefType():
            return (type_.value,)
        case AdtType():
            return tuple(type_.arguments)
        case Forall():
            return (type_.body,)
        case _:
            return None


def with_parts(type_: Attribute, parts: Sequence[Attribute]) -> Attribute:
    """A type of the same kind that is made of others, as `parts_of` has them."""
    match type_:
        case TupleType():
            return tuple_type(parts)
        case FunctionType():
            count = len(type_.inputs)
            return FunctionType.from_lists(parts[:count], parts[count:])
        case RefType():
            return RefType(cast(TypeAttribute, parts[0]))
        case AdtType():
            return AdtType(type_.definition, ArrayAttr(parts))
        case Forall():
            return Forall(type_.params, cast(FunctionType, parts[0]))
        case _:
            return type_


def mapped(type_: Attribute, change: Callable[[Attribute], Attribute]) -> Attribute:
    """A type with other parts, each as `change` makes it."""
    return with_parts(type_, list(map(change, parts_of(type_) or ())))


def types_in(type_: Attribute) -> Iterator[Attribute]:
    """Yield a type, and all types that it is made of."""
    stack = [type_]
    while stack:
        yield (inner := stack.pop())
        stack += parts_of(inner) or ()


def _paired(first: Attribute, second: Attribute) -> list[tuple[Attribute, Attribute]] | None:
    """The parts of two types side by side; None unless the types are alike but for those."""
    parts, others = parts_of(first), parts_of(second)
    if parts is None or others is None or len(parts) != len(others) or isinstance(first, Forall):
        return None
    return list(zip(parts, others, strict=True)) if with_parts(first, others) == second else None


def fits(expected: Attribute, actual: Attribute) -> bool:
    """Return whether a value of type `actual` fits the type `expected`; an open extent fits every extent."""
    stack = [(expected, actual)]
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
            case (FunctionType(), Forall()) if (special := _instance(b, a)) is not None:
                stack.append((a, special))
            case _ if (pairs := _paired(a, b)) is not None:
                stack += pairs
            case _:
                return False
    return True


def tensors_differ(first: TensorType[Attribute], second: TensorType[Attribute], *, sizes: bool = True) -> bool:
    """Return whether no tensor is of both types, as far as that is known. sizes: whether named sizes count."""
    left, right = extents_of(first), extents_of(second)
    if first.element_type != second.element_type or len(left) != len(right):
        return True
    pairs = [pair for pair in zip(left, right, strict=True) if not any(same(size, DYNAMIC_INDEX) for size in pair)]
    return any(decide(a, "==", b) is False for a, b in pairs if sizes or (isinstance(a, int) and isinstance(b, int)))


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
    stack: list[tuple[Attribute, Attribute]] = [(general.body, special)]
    while stack:
        wide, narrow = stack.pop()
        if isinstance(wide, TypeVar):
            arguments.setdefault(wide.hint.data, narrow)
        else:
            stack += _paired(wide, narrow) or ()
    return arguments


def substituted(type_: Attribute, substitution: dict[str, Attribute]) -> Attribute:
    """A type with types in the place of type variables, those that an inner `Forall` binds apart."""
    if isinstance(type_, TypeVar):
        return substitution.get(type_.hint.data, type_)
    if isinstance(type_, Forall):
        bound = {name.data for name in type_.params}
        substitution = {name: value for name, value in substitution.items() if name not in bound}
    return mapped(type_, lambda part: substituted(part, substitution))


def numbered(type_: Attribute, depth: int = 0) -> Attribute:
    """A type with numbers for the names of the type variables that polymorphic types in it bind.

    Two types that differ in those names alone become one.
    """
    if not isinstance(type_, Forall):
        return mapped(type_, lambda part: numbered(part, depth))
    names = [f"{depth + number}'" for number in range(len(type_.params))]
    own: dict[str, Attribute] = {
        param.data: TypeVar(StringAttr(name)) for param, name in zip(type_.params, names, strict=True)
    }
    body = numbered(substituted(type_.body, own), depth + len(names))
    return Forall(ArrayAttr(map(StringAttr, names)), cast(FunctionType, body))
