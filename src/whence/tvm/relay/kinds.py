"""Variables of types in types and expressions, and the kinds of types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute

from whence.dialects.relay.types import AdtType, Forall, TypeVar, parts_of, types_in
from whence.relay.module import IRModule
from whence.relay.ty import GlobalTypeVar, TypeKind, TypeRelation, is_type
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Call, Expr, Function, Program, TypeData, Var
from whence.syntax.relay.nodes import binds, post_order
from whence.syntax.relay.type_view import TypeView, plain
from whence.syntax.relay.unify import HOLE

Typed: TypeAlias = Expr | TypeData | IRModule | Attribute | TypeView
"""Objects that contain types."""


def _seen_in(type_: Attribute) -> Iterator[tuple[TypeVar, bool]]:
    """Yield the variables in a type in order, each with True where the type binds it."""
    stack: list[tuple[Attribute, frozenset[TypeVar], bool]] = [(type_, frozenset(), False)]
    while stack:
        current, bound, binder = stack.pop()
        if isinstance(current, TypeVar):
            if current != HOLE:
                yield current, binder or current in bound
            continue
        if isinstance(current, Forall):
            variables = [TypeVar(name) for name in current.params]
            inside = bound.union(variables)
            stack.append((current.body, inside, False))
            stack += [(variable, inside, True) for variable in reversed(variables)]
            continue
        stack += [(part, bound, False) for part in reversed(parts_of(current) or ())]


def _variables(what: Typed) -> Iterator[tuple[TypeVar, bool]]:
    """Yield the type variables in order, each with True where it is bound."""
    if is_type(what):
        yield from _seen_in(plain(what))
        return
    if isinstance(what, TypeData):
        variables = [TypeVar(StringAttr(name)) for name in what.type_vars]
        yield from ((variable, True) for variable in variables)
        for constructor in what.constructors:
            for part in constructor.inputs:
                yield from ((variable, bound or variable in variables) for variable, bound in _seen_in(part))
        return
    if isinstance(what, IRModule):
        program: Program = what.program
        for part in (*program.types.values(), *program.functions.values()):
            yield from _variables(part)
        return
    nodes = list(post_order(cast(Expr, what)))
    variables = [
        TypeVar(StringAttr(name)) for node in reversed(nodes) if isinstance(node, Function) for name in node.type_params
    ]
    yield from ((variable, True) for variable in variables)
    for node in nodes:
        for type_ in _written(node):
            yield from ((variable, bound or variable in variables) for variable, bound in _seen_in(type_))


def _written(node: Expr) -> Iterator[Attribute]:
    """Yield the types that are written at a node."""
    annotations = [var.type_annotation for var in binds(node)]
    if isinstance(node, Var):
        annotations.append(node.type_annotation)
    if isinstance(node, Function):
        annotations.append(node.ret_type)
    if isinstance(node, Call):
        annotations += node.type_args
    yield from (plain(type_) for type_ in annotations if type_ is not None)


def all_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables in an expression or a type, in order."""
    return list(dict.fromkeys(variable for variable, _ in _variables(expr)))


def bound_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that functions, data types or polymorphic types in it bind."""
    return list(dict.fromkeys(variable for variable, bound in _variables(expr) if bound))


def free_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that nothing in it binds."""
    return list(dict.fromkeys(variable for variable, bound in _variables(expr) if not bound))


def check_kind(
    t: Attribute | TypeView | GlobalTypeVar | TypeData | TypeRelation, mod: IRModule | None = None
) -> TypeKind:
    """Return the kind of a type, which decides where it may occur.

    mod: the module with the data types. Raises FrontendError for an unknown data type, one applied to a wrong number of
    types, or a bare name in the place of a type.
    """
    if isinstance(t, TypeRelation):
        for part in t.args:
            _check_type(plain(part), mod)
        return TypeKind.Constraint
    t = plain(t)
    if isinstance(t, TypeData):
        for constructor in t.constructors:
            for part in constructor.inputs:
                _check_type(part, mod)
        return TypeKind.TypeData
    if isinstance(t, str):
        _definition(t, mod)
        return TypeKind.AdtHandle
    _check_type(plain(t), mod)
    return TypeKind.Type


def _check_type(type_: Attribute, mod: IRModule | None) -> None:
    for current in types_in(type_):
        if isinstance(current, AdtType):
            name = current.definition.string_value()
            data = _definition(name, mod)
            if data is not None and len(data.type_vars) != len(current.arguments):
                raise FrontendError(f"{name}: expected {len(data.type_vars)} types, got {len(current.arguments)}")
        elif parts_of(current) is None and not isinstance(current, TensorType | TypeVar):
            raise FrontendError(f"expected a type of values, got {current}")


def _definition(name: str, mod: IRModule | None) -> TypeData | None:
    if mod is None:
        return None
    if name not in mod.program.types:
        raise FrontendError(f"{name}: expected a data type of the module, got none of that name")
    return mod.program.types[name]
