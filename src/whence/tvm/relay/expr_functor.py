"""Visitors and mutators of expressions, like those of `tvm.relay.expr_functor`.

A class overrides `visit_call` and the like, and visits the parts of a node with `self.visit`. Each node is visited
once. Up to `DEEPEST` visits are nested, in the order of the class's calls; deeper nodes are visited from their parts
up, so that no program is too deep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Expr, GlobalVar, Pattern
from whence.syntax.relay.nodes import changed, kind_of, post_order, visited, with_vars

DEEPEST = 100
"""The largest number of nested visits."""


class MissingMethod(FrontendError, NotImplementedError):
    """A class has no method for a kind of node."""


def method_for(functor: object, name: str, expected: str, node: object) -> Callable[[Any], Any]:
    """Return the method `visit_<name>` for a node; raises MissingMethod if it, or a name for the kind, is missing."""
    method = getattr(functor, f"visit_{name}", None) if name else None
    if method is None:
        what = f"a method visit_{name}" if name else expected
        raise MissingMethod(f"{type(functor).__name__}: expected {what}, got {type(node).__name__}")
    return method


class ExprFunctor:
    """A dispatcher to `visit_call` and its like for each kind of node; `memo_map` has their results."""

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
        return method_for(self, kind_of(expr).name, "an expression", expr)(expr)


class ExprVisitor(ExprFunctor):
    """Visits every node below an expression once."""

    def _parts(self, node: Any) -> Any:
        for part in visited(node):
            self.visit(part)

    visit_function = visit_let = visit_call = visit_var = visit_if = visit_tuple = visit_tuple_getitem = _parts
    visit_global_var = visit_op = visit_constant = visit_constructor = visit_match = _parts
    visit_ref_create = visit_ref_read = visit_ref_write = _parts


class ExprMutator(ExprFunctor):
    """Makes another expression; a node of which nothing changed stays the same object."""

    def _parts(self, node: Any) -> Any:
        """The node of other parts, its span and attributes as they were."""
        parts = changed(node, self.visit, self.visit_pattern)
        return replace(node, type=None, **parts) if parts else node

    visit_function = visit_let = visit_call = visit_var = visit_if = visit_tuple = visit_tuple_getitem = _parts
    visit_global_id = visit_op = visit_constant = visit_constructor = visit_match = _parts
    visit_ref_create = visit_ref_read = visit_ref_write = _parts

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        return self.visit_global_id(gvar)

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """A pattern with the variables that take the place of its own."""
        return with_vars(pattern, self.visit)
