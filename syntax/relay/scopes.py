"""In which scope each expression of a graph is computed: the innermost one around all that read it.

A scope is the body of a function, a branch or a clause. So what two branches share is computed before them, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from .expr import Expr, Function
from .nodes import free_vars, is_leaf, placed, post_order


@dataclass(eq=False, frozen=True)
class Scope:
    """The body of a function, of a branch or of a clause: number `index` of those of `owner`."""

    owner: Expr
    index: int = 0
    parent: Scope | None = None
    depth: int = 0


def scopes_of(function: Function) -> tuple[dict[Expr, Scope], dict[tuple[Expr, int], Scope]]:
    """The scope of each expression in a function, and the scopes that expressions open."""
    root = Scope(function)
    inside: dict[Expr, Scope] = {function.body: root}
    opened: dict[tuple[Expr, int], Scope] = {(function, 0): root}
    order = list(post_order(function.body))
    for node in reversed(order):
        here = inside[node]
        for child, index in placed(node):
            scope = here
            if index is not None:
                scope = opened[node, index] = Scope(node, index, here, here.depth + 1)
            inside[child] = scope if child not in inside else _common(inside[child], scope)
    return inside, opened


def _common(first: Scope, second: Scope) -> Scope:
    """The innermost scope around two."""
    while first is not second:
        if first.depth < second.depth:
            first, second = second, first
        assert first.parent is not None
        first = first.parent
    return first


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
