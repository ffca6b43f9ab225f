"""In which scope each expression of a graph is computed: the innermost one around all that read it.

A scope is the body of a function, a branch or a clause. So what two branches share is computed before them, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self, TypeVar

from .expr import Expr, Function
from .nodes import free_vars, is_leaf, placed, post_order


class Scope:
    """A scope in others. `jump` leads far up, so that ways up are short."""

    def __init__(self, parent: Self | None = None):
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.jump: Self = self
        if parent is not None:
            near, far = parent.jump, parent.jump.jump
            self.jump = far if parent.depth - near.depth == near.depth - far.depth else parent

    def around(self, other: Self) -> Self:
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


ScopeT = TypeVar("ScopeT", bound=Scope)


def innermost(
    root: Expr, outermost: ScopeT, parts: Callable[[Expr, ScopeT], Iterable[tuple[Expr, ScopeT]]]
) -> dict[Expr, ScopeT]:
    """The innermost scope around all that read an expression, for each below `root`.

    parts: gives the parts of a node that is in a scope, with the scopes that these are read in. It is called once for
    each node, after all that read the node.
    """
    inside = {root: outermost}
    for node in reversed(list(post_order(root))):
        for child, scope in parts(node, inside[node]):
            known = inside.get(child)
            inside[child] = scope if known is None or known is scope else known.around(scope)
    return inside


def scopes_of(function: Function) -> tuple[dict[Expr, Scope], dict[tuple[Expr, int], Scope]]:
    """The scope of each expression in a function, and the scopes that expressions open."""
    opened: dict[tuple[Expr, int], Scope] = {(function, 0): Scope()}

    def parts(node: Expr, here: Scope) -> Iterator[tuple[Expr, Scope]]:
        for child, index in placed(node):
            if index is not None:
                opened[node, index] = Scope(here)
            yield child, here if index is None else opened[node, index]

    return innermost(function.body, opened[function, 0], parts), opened


def shares_within_scopes(root: Expr) -> bool:
    """Return whether what several expressions read is read in one scope, unless a let binds it (basic-block form)."""
    function = root if isinstance(root, Function) else Function(free_vars(root), root)
    inside, opened = scopes_of(function)
    for node in post_order(function.body):
        for child, index in placed(node):
            scope = inside[node] if index is None else opened[node, index]
            if inside[child] is not scope and not is_leaf(child):
                return False
    return True
