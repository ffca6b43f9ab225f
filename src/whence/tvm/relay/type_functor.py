"""Visitors and mutators of types, as TVM has them at `tvm.relay.type_functor`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from whence.relay.expr_functor import method_for
from whence.relay.ty import GlobalTypeVar, TypeRelation
from whence.syntax.relay.expr import TypeData
from whence.syntax.relay.type_view import FuncType, RefType, TensorType, TupleType, TypeCall, TypeVar, view
from whence.syntax.relay.unify import HOLE


@dataclass(frozen=True)
class _Kind:
    """A class of types: its name in `visit_tensor_type`, the types in one, and the type of others in their places."""

    name: str
    parts: Callable[[Any], Sequence[Any]] = lambda _: ()
    of_parts: Callable[[Any, Sequence[Any]], Any] = lambda typ, _: typ


_KINDS: dict[type[Any], _Kind] = {
    TypeVar: _Kind("type_var"),
    TensorType: _Kind("tensor_type"),
    GlobalTypeVar: _Kind("global_type_var"),
    FuncType: _Kind(
        "func_type",
        lambda typ: (*typ.arg_types, typ.ret_type, *typ.type_params),
        lambda typ, parts: FuncType(
            parts[: len(typ.arg_types)], parts[len(typ.arg_types)], parts[len(typ.arg_types) + 1 :]
        ),
    ),
    TupleType: _Kind("tuple_type", lambda typ: typ.fields, lambda _, fields: TupleType(fields)),
    RefType: _Kind("ref_type", lambda typ: (typ.value,), lambda _, parts: RefType(parts[0])),
    TypeCall: _Kind(
        "type_call",
        lambda typ: (GlobalTypeVar(typ.func), *typ.args),
        lambda _, parts: TypeCall(parts[0], parts[1:]),
    ),
    TypeData: _Kind("type_data", lambda typ: [part for item in typ.constructors for part in item.inputs]),
    TypeRelation: _Kind(
        "type_relation",
        lambda typ: typ.args,
        lambda typ, args: TypeRelation(typ.func, args, typ.num_inputs, typ.attrs),
    ),
}
_OTHER = _Kind("")


def _kind(typ: Any) -> _Kind:
    return _KINDS.get(cast("type[Any]", type(typ)), _OTHER)


class TypeFunctor:
    """Calls `visit_tensor_type` and its like for each kind of type."""

    def visit(self, typ: Any) -> Any:
        """Return the result for a type. Raises MissingMethod, a NotImplementedError, without a method for it."""
        typ = view(typ)
        return method_for(self, "incomplete_type" if typ == HOLE else _kind(typ).name, "a type", typ)(typ)


class TypeVisitor(TypeFunctor):
    """Visits every type in a type."""

    def _parts(self, typ: Any) -> Any:
        for part in _kind(typ).parts(typ):
            self.visit(part)

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_global_type_var = visit_type_relation = _parts
    visit_func_type = visit_tuple_type = visit_ref_type = visit_type_call = visit_type_data = _parts


class TypeMutator(TypeFunctor):
    """Makes another type."""

    def _parts(self, typ: Any) -> Any:
        kind = _kind(typ)
        return kind.of_parts(typ, [self.visit(part) for part in kind.parts(typ)])

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_global_type_var = visit_type_relation = _parts
    visit_func_type = visit_tuple_type = visit_ref_type = visit_type_call = _parts

    def visit_type_data(self, td: Any) -> Any:
        return td
