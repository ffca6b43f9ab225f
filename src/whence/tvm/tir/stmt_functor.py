"""Walks over statements and expressions, as TVM has them at `tvm.tir.stmt_functor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from whence.te.language.blocks import BlockPart, with_expressions
from whence.te.language.expr import Expr, Var, convert
from whence.te.language.locations import located
from whence.te.language.statements import Stmt, exprs_in, stmts_in
from whence.te.language.walks import children, rebuilt, substitution
from whence.tir.kinds import KINDS

Node = Stmt | Expr
Change = Callable[[Any], Any]


def post_order_visit(node: Node, fvisit: Callable[[Any], object]) -> None:
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


def substitute(node: Node | float, vmap: Mapping[Var, Any]) -> Any:
    """Return an expression or a statement with variables replaced."""
    node = node if isinstance(node, Stmt) else convert(node)
    change = substitution({var: convert(value) for var, value in vmap.items()})
    if isinstance(node, Expr):
        return rebuilt(node, change)
    return _rebuilt(node, _nothing, _nothing, lambda expr: rebuilt(expr, change))


def ir_transform(
    stmt: Stmt, preorder: Change | None, postorder: Change | None, only_enable: Sequence[str] | None = None
) -> Any:
    """Return a statement in which others stand for some nodes.

    preorder: gives what stands for a statement or expression, whose parts are then left alone, or None. postorder:
    gives what stands for a node of new parts, or None to leave it. only_enable: TVM's names of the nodes, such as
    `tir.BufferStore`, for which the two are called; left out, all.
    """
    names = None if only_enable is None else [name.removeprefix("tir.") for name in only_enable]

    def asked(change: Change | None, node: Any) -> Any:
        wanted = change is not None and (names is None or any(_is_a(node, name) for name in names))
        return change(node) if wanted and change is not None else None

    def value(expr: Expr) -> Expr:
        return rebuilt(expr, lambda node: asked(preorder, node), lambda node: asked(postorder, node))

    def at_place(change: Change | None) -> Change:
        def changed(one: Any) -> Any:
            # A statement that stands for another serves the same layers.
            with located(one.location):
                return asked(change, one)

        return changed

    return _rebuilt(stmt, at_place(preorder), at_place(postorder), value)


def _nothing(node: Any) -> None:
    del node


def _is_a(node: Any, name: str) -> bool:
    return type(node).__name__ == name or (name in KINDS and isinstance(node, KINDS[name]))


def _rebuilt(root: Stmt, before: Change, after: Change, value: Callable[[Expr], Expr]) -> Stmt:
    """A statement of new parts, each made after those inside it, where it was made; `before` gives what has none."""
    done: dict[int, Any] = {}
    stack = [root]
    while stack:
        stmt = stack[-1]
        if id(stmt) in done:
            stack.pop()
            continue
        if (first := before(stmt)) is not None:
            done[id(stmt)] = first
            continue
        if missing := [inner for inner in stmts_in(stmt) if id(inner) not in done]:
            stack += reversed(missing)
            continue
        fresh = _with_parts(stmt, done, value)
        last = after(fresh)
        done[id(stmt)] = fresh if last is None else last
    return done[id(root)]


def _same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))


def _with_parts(stmt: Stmt, done: Mapping[int, Any], value: Callable[[Expr], Expr]) -> Stmt:
    def part(old: Any) -> Any:
        if isinstance(old, Stmt):
            return done[id(old)]
        if isinstance(old, list):
            return [part(item) for item in cast("list[Any]", old)]
        if isinstance(old, BlockPart):
            return with_expressions(old, value)
        return value(old) if isinstance(old, Expr) else old

    old = {one.name: getattr(stmt, one.name) for one in fields(stmt) if one.init}
    variables = {name for name in ("loop_var", "var") if name in old}
    new = {name: item if name in variables else part(item) for name, item in old.items()}
    if all(
        new[name] is item or (isinstance(item, list) and _same(new[name], cast("list[Any]", item)))
        for name, item in old.items()
    ):
        return stmt
    fresh = cast("Any", type(stmt))(**new)
    fresh.location = stmt.location
    return fresh
