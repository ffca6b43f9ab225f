"""Visitors and mutators of expressions, as TVM has them at `tvm.relay.expr_functor`.

A class overrides `visit_call` and its like, and goes on to the parts of a node with `self.visit`. Each node is visited
once. Up to `DEEPEST` visits lie inside one another, in the order that a class calls them; what lies deeper is visited
from its parts up, so that no depth of a program is too great.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from whence.support.errors import FrontendError
from whence.syntax.relay.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    pattern_vars,
    post_order,
)

DEEPEST = 100
"""The largest number of nested visits."""

_NAMES: dict[type[Expr], str] = {
    Function: "function",
    Let: "let",
    Call: "call",
    Var: "var",
    If: "if",
    Tuple: "tuple",
    TupleGetItem: "tuple_getitem",
    GlobalVar: "global_var",
    Op: "op",
    Constant: "constant",
    RefCreate: "ref_create",
    RefRead: "ref_read",
    RefWrite: "ref_write",
    Constructor: "constructor",
    Match: "match",
}


class MissingMethod(FrontendError, NotImplementedError):
    """A class says nothing about a kind of node."""


class ExprFunctor:
    """Calls `visit_call` and its like for each kind of node; what they give for a node is in `memo_map`."""

    def __init__(self) -> None:
        self.memo_map: dict[Expr, Any] = {}
        self._depth = 0

    def visit(self, expr: Expr) -> Any:
        """Return this class's result for an expression. Raises MissingMethod, a NotImplementedError, for a kind that
        it has no method for."""
        if expr in self.memo_map:
            return self.memo_map[expr]
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                self._depth = 0
                for node in post_order(expr):
                    if node not in self.memo_map:
                        self.memo_map[node] = self._dispatch(node)
                self._depth = DEEPEST + 1
            if expr not in self.memo_map:
                self.memo_map[expr] = self._dispatch(expr)
            return self.memo_map[expr]
        finally:
            self._depth -= 1

    def _dispatch(self, expr: Expr) -> Any:
        name = _NAMES.get(type(expr))
        method = getattr(self, f"visit_{name}", None) if name else None
        if method is None:
            what = f"a method visit_{name}" if name else "an expression"
            raise MissingMethod(f"{type(self).__name__}: expected {what}, got {type(expr).__name__}")
        return method(expr)


class ExprVisitor(ExprFunctor):
    """Visits every node below an expression once."""

    def visit_tuple(self, tup: Tuple) -> Any:
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call: Call) -> Any:
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var: Var) -> Any:
        pass

    def visit_let(self, let: Let) -> Any:
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn: Function) -> Any:
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i: If) -> Any:
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv: GlobalVar) -> Any:
        pass

    def visit_constructor(self, c: Constructor) -> Any:
        pass

    def visit_op(self, op: Op) -> Any:
        pass

    def visit_constant(self, const: Constant) -> Any:
        pass

    def visit_ref_create(self, r: RefCreate) -> Any:
        self.visit(r.value)

    def visit_ref_read(self, r: RefRead) -> Any:
        self.visit(r.ref)

    def visit_ref_write(self, r: RefWrite) -> Any:
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t: TupleGetItem) -> Any:
        self.visit(t.tuple_value)

    def visit_match(self, m: Match) -> Any:
        self.visit(m.data)
        for clause in m.clauses:
            for var in pattern_vars(clause.lhs):
                self.visit(var)
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor):
    """Makes another expression; a node of which nothing changed stays the same object."""

    def _changed(self, node: Any, **parts: Any) -> Any:
        """The node with other parts, its span and attributes as they were."""
        if all(_same(getattr(node, key), value) for key, value in parts.items()):
            return node
        return replace(node, type=None, **parts)

    def _all(self, nodes: Sequence[Expr]) -> list[Any]:
        return [self.visit(node) for node in nodes]

    def visit_function(self, fn: Function) -> Any:
        params = self._all(fn.params)
        return self._changed(fn, params=params, body=self.visit(fn.body))

    def visit_let(self, let: Let) -> Any:
        var = self.visit(let.var)
        value = self.visit(let.value)
        return self._changed(let, var=var, value=value, body=self.visit(let.body))

    def visit_call(self, call: Call) -> Any:
        op = self.visit(call.op)
        return self._changed(call, op=op, args=self._all(call.args))

    def visit_var(self, var: Var) -> Any:
        return var

    def visit_global_id(self, global_var: GlobalVar) -> Any:
        return global_var

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        return self.visit_global_id(gvar)

    def visit_if(self, ite: If) -> Any:
        cond = self.visit(ite.cond)
        true = self.visit(ite.true_branch)
        return self._changed(ite, cond=cond, true_branch=true, false_branch=self.visit(ite.false_branch))

    def visit_tuple(self, tup: Tuple) -> Any:
        return self._changed(tup, fields=self._all(tup.fields))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        return self._changed(op, tuple_value=self.visit(op.tuple_value))

    def visit_op(self, op: Op) -> Any:
        return op

    def visit_constant(self, const: Constant) -> Any:
        return const

    def visit_constructor(self, con: Constructor) -> Any:
        return con

    def visit_match(self, m: Match) -> Any:
        data = self.visit(m.data)
        clauses = [self._clause(clause) for clause in m.clauses]
        return self._changed(m, data=data, clauses=clauses)

    def _clause(self, clause: Clause) -> Clause:
        pattern, value = self.visit_pattern(clause.lhs), self.visit(clause.rhs)
        return clause if pattern is clause.lhs and value is clause.rhs else Clause(pattern, value)

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """A pattern with the variables that take the place of its own."""
        renamed = {var: self.visit(var) for var in pattern_vars(pattern)}
        return pattern if all(var is new for var, new in renamed.items()) else _renamed(pattern, renamed)

    def visit_ref_create(self, r: RefCreate) -> Any:
        return self._changed(r, value=self.visit(r.value))

    def visit_ref_write(self, r: RefWrite) -> Any:
        ref = self.visit(r.ref)
        return self._changed(r, ref=ref, value=self.visit(r.value))

    def visit_ref_read(self, r: RefRead) -> Any:
        return self._changed(r, ref=self.visit(r.ref))


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, list | tuple):
        before, after = cast("Sequence[Any]", old), cast("Sequence[Any]", new)
        return len(before) == len(after) and all(map(_is, before, after))
    return old is new


def _is(a: object, b: object) -> bool:
    return a is b


def _renamed(pattern: Any, names: dict[Var, Any]) -> Pattern:
    if isinstance(pattern, PatternConstructor | PatternTuple):
        return replace(pattern, patterns=[_renamed(part, names) for part in pattern.patterns])
    inner = pattern_vars(pattern)
    return replace(pattern, var=names[inner[0]]) if inner else pattern
