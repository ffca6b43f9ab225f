"""Types that random Relay programs are of: data types with their constructors, and what is asked of types."""

from __future__ import annotations

from collections.abc import Sequence

from random_relay_values import scalar
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute

from whence import relay
from whence.dialects.relay.types import AdtType, Forall, RefType, TypeVar, adt_type, substituted, types_in
from whence.syntax.relay.expr import Constructor, Expr, TypeData

INT, BOOL = scalar("int32"), scalar("bool")


def _type_var(name: str) -> TypeVar:
    return TypeVar(StringAttr(name))


A, B = _type_var("A"), _type_var("B")


def _data(name: str, params: Sequence[str], constructors: dict[str, Sequence[Attribute]]) -> TypeData:
    made = [Constructor(one, list(inputs), name, tag) for tag, (one, inputs) in enumerate(constructors.items())]
    return TypeData(name, list(params), made)


DATA = {
    data.header: data
    for data in (
        _data("List", "A", {"Cons": (A, adt_type("List", [A])), "Nil": ()}),
        _data("Option", "A", {"Some": (A,), "None": ()}),
        _data("Tree", "A", {"Leaf": (), "Node": (adt_type("Tree", [A]), A, adt_type("Tree", [A]))}),
        _data("Figure", "", {"Point": (), "Circle": (scalar("float32"),), "Box": (scalar("float32"), INT)}),
    )
}
CONSTRUCTORS = {one.name_hint: one for data in DATA.values() for one in data.constructors}


def first_order(type_: Attribute) -> bool:
    """Whether a value can be compared: there is no function, reference or type variable in it."""
    return not any(isinstance(one, FunctionType | Forall | RefType | TypeVar) for one in types_in(type_))


def inputs_of(constructor: Constructor, type_: AdtType) -> list[Attribute]:
    """What a constructor of a type takes."""
    given = dict(zip(DATA[constructor.belong_to].type_vars, type_.arguments, strict=True))
    return [substituted(one, given) for one in constructor.inputs]


def applied(constructor: Constructor, fields: Sequence[Expr], type_: AdtType) -> relay.Call:
    """A call of a constructor, with the types that its fields alone do not tell."""
    return relay.Call(constructor, fields, type_args=list(type_.arguments))
