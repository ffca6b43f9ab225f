"""The place of each expression in the text: in line where it is used, or bound to a graph variable, and in which scope.

A scope is what has statements: a body in braces, a let in parentheses, the text itself. What several scopes read
stands in the innermost one around all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..relay.expr import Expr, Function, If, Let, Match
from ..relay.nodes import children, post_order


class Scope:
    """Statements, `indent` spaces to the right. `jump` leads far up, so that ways up are short."""

    def __init__(self, parent: Scope | None, indent: int):
        self.parent = parent
        self.indent = indent
        self.lines: list[str] = []
        self.depth = 0 if parent is None else parent.depth + 1
        self.jump: Scope = self
        if parent is not None:
            near, far = parent.jump, parent.jump.jump
            self.jump = far if parent.depth - near.depth == near.depth - far.depth else parent

    def around(self, other: Scope) -> Scope:
        """The innermost scope around this one and another, or that one of them which is around the other."""
        here = self
        while here is not other:
            if here.depth < other.depth:
                here, other = other, here
            if here.depth > other.depth:
                assert here.parent is not None
                here = here.jump if here.jump.depth >= other.depth else here.parent
            else:
                assert here.parent is not None
                assert other.parent is not None
                apart = here.jump is not other.jump
                here, other = (here.jump, other.jump) if apart else (here.parent, other.parent)
        return here


@dataclass
class Placement:
    """The place of each expression below a root."""

    scopes: dict[Expr, Scope] = field(default_factory=dict[Expr, Scope])
    """The scope in which an expression is bound."""
    opened: dict[Expr, list[Scope]] = field(default_factory=dict[Expr, list[Scope]])
    """The scopes of a function's body, of the branches of an `if` or `match`, and of a let in parentheses."""
    uses: dict[Expr, int] = field(default_factory=dict[Expr, int])
    tail: set[Expr] = field(default_factory=set[Expr])
    """Expressions that are the result of a scope."""

    def in_line(self, expr: Expr) -> bool:
        """Return whether an expression needs no variable where the text has room for it."""
        return self.uses.get(expr, 0) <= 1

    def flat(self, let: Let) -> bool:
        """Return whether a let needs no parentheses, as its statements can be those of the scope around."""
        return let in self.tail and self.in_line(let)

    @staticmethod
    def of(root: Expr, indent: int) -> Placement:
        """The placement of what a scope `indent` spaces to the right results in."""
        placement = Placement()
        order = list(post_order(root))
        for node in order:
            for child in children(node):
                placement.uses[child] = placement.uses.get(child, 0) + 1
        placement.scopes[root] = Scope(None, indent)
        placement.tail.add(root)
        # Users before what they use: so the scope of a node is known when the scopes of its parts are asked for.
        for node in reversed(order):
            for child, scope in placement._parts(node):
                known = placement.scopes.get(child)
                placement.scopes[child] = scope if known is None or known is scope else known.around(scope)
        return placement

    def _parts(self, node: Expr) -> Iterator[tuple[Expr, Scope]]:
        scope = self.scopes[node]
        match node:
            case Function():
                yield node.body, self._open(node, node.body, scope)
            case If():
                yield node.cond, scope
                yield node.true_branch, self._open(node, node.true_branch, scope)
                yield node.false_branch, self._open(node, node.false_branch, scope)
            case Match():
                yield node.data, scope
                for clause in node.clauses:
                    yield clause.rhs, self._open(node, clause.rhs, scope, 4)
            case Let():
                yield node.value, scope
                self.tail.add(node.body)
                yield node.body, scope if self.flat(node) else self._open(node, node.body, scope)
            case _:
                for child in children(node):
                    yield child, scope

    def _open(self, node: Expr, result: Expr, around: Scope, deeper: int = 2) -> Scope:
        self.tail.add(result)
        scope = Scope(around, around.indent + deeper)
        self.opened.setdefault(node, []).append(scope)
        return scope
