"""Variables of types in types and expressions, and the kinds of types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute

from whence.dialects.relay.types import AdtType, Forall, RefType, TypeVar
from whence.frontends.relay.expr import Call, Expr, Function, Program, TypeData, Var, post_order
from whence.frontends.relay.structural_hash import binds
from whence.frontends.relay.type_view import TypeView, plain
from whence.frontends.relay.unify import HOLE
from whence.relay.module import IRModule
from whence.relay.ty import GlobalTypeVar, TypeKind, is_type
from whence.support.errors import FrontendError

Typed: TypeAlias = Expr | TypeData | IRModule | Attribute | TypeView
"""Objects that contain types."""


def _seen_in(type_: Attribute) -> Iterator[tuple[TypeVar, bool]]:
    """The variables in a type in order, and whether that binds them."""
    stack: list[tuple[Attribute, frozenset[TypeVar], bool]] = [(type_, frozenset(), False)]
    while stack:
        one, bound, binder = stack.pop()
        if isinstance(one, TypeVar):
            if one != HOLE:
                yield one, binder or one in bound
            continue
        if isinstance(one, Forall):
            given = [TypeVar(name) for name in one.params]
            inside = bound.union(given)
            stack.append((one.body, inside, False))
            stack += [(variable, inside, True) for variable in reversed(given)]
            continue
        stack += [(part, bound, False) for part in reversed(_parts(one))]


def _parts(type_: Attribute) -> list[Attribute]:
    match type_:
        case TupleType():
            return list(type_.types)
        case FunctionType():
            return [*type_.inputs, *type_.outputs]
        case RefType():
            return [type_.value]
        case AdtType():
            return list(type_.arguments)
        case _:
            return []


def _variables(what: Typed) -> Iterator[tuple[TypeVar, bool]]:
    """The variables of types in order, and whether they are bound there."""
    if is_type(what):
        yield from _seen_in(plain(what))
        return
    if isinstance(what, TypeData):
        given = [TypeVar(StringAttr(name)) for name in what.type_vars]
        yield from ((variable, True) for variable in given)
        for constructor in what.constructors:
            for part in constructor.inputs:
                yield from ((variable, bound or variable in given) for variable, bound in _seen_in(part))
        return
    if isinstance(what, IRModule):
        program: Program = what.program
        for part in (*program.types.values(), *program.functions.values()):
            yield from _variables(part)
        return
    nodes = list(post_order(cast(Expr, what)))
    given = [
        TypeVar(StringAttr(name)) for node in reversed(nodes) if isinstance(node, Function) for name in node.type_params
    ]
    yield from ((variable, True) for variable in given)
    for node in nodes:
        for type_ in _written(node):
            yield from ((variable, bound or variable in given) for variable, bound in _seen_in(type_))


def _written(node: Expr) -> Iterator[Attribute]:
    """The types that are written at a node."""
    annotations = [var.type_annotation for var in binds(node)]
    if isinstance(node, Var):
        annotations.append(node.type_annotation)
    if isinstance(node, Function):
        annotations.append(node.ret_type)
    if isinstance(node, Call):
        annotations += node.type_args
    yield from (plain(type_) for type_ in annotations if type_ is not None)


def all_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """The variables of types in an expression or a type, in order."""
    return list(dict.fromkeys(variable for variable, _ in _variables(expr)))


def bound_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """Those that functions, data types or polymorphic types in it bind."""
    return list(dict.fromkeys(variable for variable, bound in _variables(expr) if bound))


def free_type_vars(expr: Typed, mod: IRModule | None = None) -> list[TypeVar]:
    """Those that nothing in it binds."""
    return list(dict.fromkeys(variable for variable, bound in _variables(expr) if not bound))


def check_kind(t: Attribute | TypeView | GlobalTypeVar | TypeData, mod: IRModule | None = None) -> TypeKind:
    """The kind of a type: what it may be used for.

    mod: whose data types are known. Raises FrontendError for a data type that is not known, applied to a wrong number
    of types, or whose name alone stands where a type has to.
    """
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
    stack = [type_]
    while stack:
        one = stack.pop()
        if isinstance(one, AdtType):
            name = one.definition.string_value()
            data = _definition(name, mod)
            if data is not None and len(data.type_vars) != len(one.arguments):
                raise FrontendError(f"{name}: expected {len(data.type_vars)} types, got {len(one.arguments)}")
        elif isinstance(one, Forall):
            stack.append(one.body)
        elif not isinstance(one, TensorType | TupleType | FunctionType | RefType | TypeVar):
            raise FrontendError(f"expected a type of values, got {one}")
        stack += _parts(cast(Attribute, one))


def _definition(name: str, mod: IRModule | None) -> TypeData | None:
    if mod is None:
        return None
    if name not in mod.program.types:
        raise FrontendError(f"{name}: expected a data type of the module, got none of that name")
    return mod.program.types[name]
