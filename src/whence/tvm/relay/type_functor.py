"""Visitors and mutators of types, as TVM has them at `tvm.relay.type_functor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from whence.relay.expr_functor import MissingMethod
from whence.relay.ty import GlobalTypeVar, TypeRelation
from whence.syntax.relay.expr import TypeData
from whence.syntax.relay.type_view import FuncType, RefType, TensorType, TupleType, TypeCall, TypeVar, view
from whence.syntax.relay.unify import HOLE

_NAMES: dict[type[Any], str] = {
    TypeVar: "type_var",
    TensorType: "tensor_type",
    FuncType: "func_type",
    TupleType: "tuple_type",
    RefType: "ref_type",
    GlobalTypeVar: "global_type_var",
    TypeCall: "type_call",
    TypeData: "type_data",
    TypeRelation: "type_relation",
}


class TypeFunctor:
    """Calls `visit_tensor_type` and its like for each kind of type."""

    def visit(self, typ: Any) -> Any:
        """Return the result for a type. Raises MissingMethod, a NotImplementedError, without a method for it."""
        typ = view(typ)
        name = "incomplete_type" if typ == HOLE else _NAMES.get(cast("type[Any]", type(typ)), "")
        method: Callable[[Any], Any] | None = getattr(self, f"visit_{name}", None)
        if method is None:
            what = f"a method visit_{name}" if name else "a type"
            raise MissingMethod(f"{type(self).__name__}: expected {what}, got {type(typ).__name__}")
        return method(typ)


class TypeVisitor(TypeFunctor):
    """Visits every type in a type."""

    def visit_type_var(self, tv: Any) -> Any:
        pass

    def visit_incomplete_type(self, it: Any) -> Any:
        pass

    def visit_tensor_type(self, tt: Any) -> Any:
        pass

    def visit_global_type_var(self, gtv: Any) -> Any:
        pass

    def visit_type_relation(self, tr: Any) -> Any:
        for part in tr.args:
            self.visit(part)

    def visit_func_type(self, ft: Any) -> Any:
        for part in (*ft.arg_types, ft.ret_type, *ft.type_params):
            self.visit(part)

    def visit_tuple_type(self, tt: Any) -> Any:
        for field in tt.fields:
            self.visit(field)

    def visit_ref_type(self, rt: Any) -> Any:
        self.visit(rt.value)

    def visit_type_call(self, tc: Any) -> Any:
        self.visit(GlobalTypeVar(tc.func))
        for argument in tc.args:
            self.visit(argument)

    def visit_type_data(self, td: Any) -> Any:
        for constructor in td.constructors:
            for part in constructor.inputs:
                self.visit(part)


class TypeMutator(TypeFunctor):
    """Makes another type."""

    def visit_type_var(self, tv: Any) -> Any:
        return tv

    def visit_incomplete_type(self, it: Any) -> Any:
        return it

    def visit_tensor_type(self, tt: Any) -> Any:
        return tt

    def visit_global_type_var(self, gtv: Any) -> Any:
        return gtv

    def visit_type_relation(self, tr: Any) -> Any:
        return TypeRelation(tr.func, [self.visit(part) for part in tr.args], tr.num_inputs, tr.attrs)

    def visit_func_type(self, ft: Any) -> Any:
        arguments = [self.visit(part) for part in ft.arg_types]
        return FuncType(arguments, self.visit(ft.ret_type), [self.visit(part) for part in ft.type_params])

    def visit_tuple_type(self, tt: Any) -> Any:
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_ref_type(self, rt: Any) -> Any:
        return RefType(self.visit(rt.value))

    def visit_type_call(self, tc: Any) -> Any:
        return TypeCall(self.visit(GlobalTypeVar(tc.func)), [self.visit(argument) for argument in tc.args])

    def visit_type_data(self, td: Any) -> Any:
        return td
