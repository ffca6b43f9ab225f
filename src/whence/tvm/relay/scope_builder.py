"""Lets and branches in the order in which a person writes them, TVM's `ScopeBuilder`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute

from whence.relay.builders import as_expr
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Expr, If, Let, Var


@dataclass
class _Scope:
    lets: list[tuple[Var, Expr]] = field(default_factory=lambda: list[tuple[Var, Expr]]())
    result: Expr | None = None
    branches: tuple[Expr, Expr] | None = None
    """The condition and the value of an inner `if_scope`, whose `else_scope` has to follow."""

    def value(self) -> Expr:
        if self.result is None:
            raise FrontendError("ScopeBuilder: expected a `ret` in every scope, got one without")
        body = self.result
        for var, value in reversed(self.lets):
            body = Let(var, value, body)
        return body


class ScopeBuilder:
    """Collects lets and the result of a scope.

    >>> sb = relay.ScopeBuilder()
    >>> with sb.if_scope(cond):
    ...     one = sb.let("one", relay.const(1))
    ...     sb.ret(one)
    >>> with sb.else_scope():
    ...     sb.ret(x)
    >>> func = relay.Function([cond, x], sb.get())
    """

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, var: Var | str | tuple[str, Attribute], value: Any) -> Var:
        """Bind a value in the current scope; returns the variable."""
        if isinstance(var, tuple):
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        self._scopes[-1].lets.append((var, as_expr(value)))
        return var

    def ret(self, value: Any) -> None:
        """Set the value of the current scope."""
        if self._scopes[-1].result is not None:
            raise FrontendError("ScopeBuilder: expected one `ret` in a scope, got two")
        self._scopes[-1].result = as_expr(value)

    @contextmanager
    def if_scope(self, cond: Expr) -> Generator[None]:
        """The scope of the branch for a true `cond`; an `else_scope` has to follow."""
        self._scopes.append(_Scope())
        yield
        scope = self._scopes.pop()
        self._scopes[-1].branches = (cond, scope.value())

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """The scope of the other branch; the result of the two is that of the scope around them."""
        around = self._scopes[-1]
        if around.branches is None:
            raise FrontendError("ScopeBuilder: expected an `if_scope` before an `else_scope`, got none")
        cond, true_branch = around.branches
        around.branches = None
        self._scopes.append(_Scope())
        yield
        scope = self._scopes.pop()
        self.ret(If(cond, true_branch, scope.value()))

    def get(self) -> Expr:
        """Return the expression; raises FrontendError for a scope without a result."""
        return self._scopes[-1].value()
