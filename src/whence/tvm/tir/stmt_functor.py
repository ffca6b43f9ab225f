"""Walks over statements and expressions, as TVM has them at `tvm.tir.stmt_functor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.te.language.expr import Expr, Var, children
from whence.te.language.tensor_compute import rebuilt, substitution
from whence.tir.statements import Stmt, exprs_in, stmts_in


def post_order_visit(node: Stmt | Expr, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` for every statement and expression in one, each once, after those it is made of."""
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(node, False)]
    while stack:
        one, is_done = stack.pop()
        if is_done:
            fvisit(one)
        elif id(one) not in seen:
            seen.add(id(one))
            inner = children(one) if isinstance(one, Expr) else (*exprs_in(one), *stmts_in(one))
            stack.append((one, True))
            stack += [(part, False) for part in reversed(inner)]


def substitute(node: Expr, vmap: Mapping[Var, Any]) -> Expr:
    """Return an expression with variables replaced."""
    return rebuilt(node, substitution(vmap))
