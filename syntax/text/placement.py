"""The place of each expression in the text: in line where it is used, or bound to a graph variable in a scope.

A scope is a part of the text with statements: a body in braces, a let in parentheses, the text itself. An expression
that several scopes read is in the innermost one around all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from ..relay import scopes
from ..relay.expr import Expr, Let, Match
from ..relay.nodes import placed


class Scope(scopes.Scope):
    """Statements, indented by `indent` spaces."""

    def __init__(self, parent: Self | None, indent: int):
        super().__init__(parent)
        self.indent = indent
        self.lines: list[str] = []


@dataclass
class Placement:
    """The place of each expression below a root."""

    scopes: dict[Expr, Scope] = field(default_factory=dict[Expr, Scope])
    """The scope in which an expression is bound."""
    opened: dict[Expr, list[Scope]] = field(default_factory=dict[Expr, list[Scope]])
    """The scopes of a function's body, of the branches of an `if` or `match`, and of a let in parentheses."""
    uses: dict[Expr, int] = field(default_factory=dict[Expr, int])
    tail: set[Expr] = field(default_factory=set[Expr])
    """The expressions that are the result of a scope."""

    def in_line(self, expr: Expr) -> bool:
        """Return whether an expression needs no variable, if the text has room for it."""
        return self.uses.get(expr, 0) <= 1

    def flat(self, let: Let) -> bool:
        """Return whether a let needs no parentheses, because its statements can be in the scope around it."""
        return let in self.tail and self.in_line(let)

    @staticmethod
    def of(root: Expr, indent: int) -> Placement:
        """Return the placement of the result of a scope, indented by `indent` spaces."""
        placement = Placement()
        placement.tail.add(root)
        placement.scopes = scopes.innermost(root, Scope(None, indent), placement._parts)
        return placement

    def _parts(self, node: Expr, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        for number, (child, index) in enumerate(placed(node)):
            self.uses[child] = self.uses.get(child, 0) + 1
            inner = scope
            if index is not None or (isinstance(node, Let) and number == 1):
                self.tail.add(child)
                if not (isinstance(node, Let) and self.flat(node)):
                    inner = Scope(scope, scope.indent + (4 if isinstance(node, Match) else 2))
                    self.opened.setdefault(node, []).append(inner)
            yield child, inner
