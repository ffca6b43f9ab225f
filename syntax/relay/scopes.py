"""The scope in which each expression of a graph is computed: the innermost one around all its readers.

A scope is the body of a function, a branch or a clause. So an expression that two branches share is computed before
them, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self, TypeVar

from .expr import Expr, Function
from .nodes import free_vars, is_leaf, placed, post_order


class Scope:
    """A scope within others. `jump` leads far up, so that walks up are short."""

    def __init__(self, parent: Self | None = None):
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.jump: Self = self
        if parent is not None:
            near, far = parent.jump, parent.jump.jump
            self.jump = far if parent.depth - near.depth == near.depth - far.depth else parent

    def around(self, other: Self) -> Self:
        """Return the innermost scope that contains, or is, this one and another."""
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
                differ = here.jump is not other.jump
                here, other = (here.jump, other.jump) if differ else (here.parent, other.parent)
        return here


ScopeT = TypeVar("ScopeT", bound=Scope)


def innermost(
    root: Expr, outermost: ScopeT, parts: Callable[[Expr, ScopeT], Iterable[tuple[Expr, ScopeT]]]
) -> dict[Expr, ScopeT]:
    """Return the innermost scope around all readers of each expression below `root`.

    parts: returns the parts of a node in a scope, with the scopes in which the node reads them. It is called once for
    each node, after the readers of the node.
    """
    inside = {root: outermost}
    for node in reversed(list(post_order(root))):
        for child, scope in parts(node, inside[node]):
            enclosing = inside.get(child)
            inside[child] = scope if enclosing is None or enclosing is scope else enclosing.around(scope)
    return inside


def scopes_of(function: Function) -> tuple[dict[Expr, Scope], dict[tuple[Expr, int], Scope]]:
    """Return the scope of each expression in a function, and the scopes that expressions open."""
    opened: dict[tuple[Expr, int], Scope] = {(function, 0): Scope()}

    def parts(node: Expr, here: Scope) -> Iterator[tuple[Expr, Scope]]:
        for child, index in placed(node):
            if index is not None:
                opened[node, index] = Scope(here)
            yield child, here if index is None else opened[node, index]

    return innermost(function.body, opened[function, 0], parts), opened


def shares_within_scopes(root: Expr) -> bool:
    """Return whether all readers of each expression are in one scope, unless a let binds it (basic-block form)."""
    function = root if isinstance(root, Function) else Function(free_vars(root), root)
    inside, opened = scopes_of(function)
    for node in post_order(function.body):
        for child, index in placed(node):
            scope = inside[node] if index is None else opened[node, index]
            if inside[child] is not scope and not is_leaf(child):
                return False
    return True
