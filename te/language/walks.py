"""Walks over expressions. An expression is a graph, so that each node is met once, and may be deep."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from xdsl.dialects.builtin import LocationAttr

from .expr import (
    Axis,
    Binary,
    Call,
    CallExtern,
    Cast,
    Compare,
    Expr,
    Joint,
    Not,
    Read,
    Reinterpret,
    Select,
    Var,
)
from .reductions import Reduce


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    getter = _CHILDREN.get(type(expr))
    if getter is None:
        return expr.parts if isinstance(expr, Joint) else ()
    return getter(expr)


_CHILDREN: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Binary: lambda e: (e.a, e.b),
    Compare: lambda e: (e.a, e.b),
    Select: lambda e: (e.condition, e.true_value, e.false_value),
    **dict.fromkeys((Not, Cast, Reinterpret, Call), lambda e: (e.a,)),
    Read: lambda e: e.indices,
    Joint: lambda e: e.parts,
    CallExtern: lambda e: e.arguments,
    Reduce: lambda e: (*e.values, *e.init, *(() if e.condition is None else (e.condition,))),
}


def operands_first(
    roots: Sequence[Expr], done: Container[int], operands: Callable[[Expr], Sequence[Expr]] = children
) -> Iterator[Expr]:
    """The nodes below the roots whose `id` is not in `done`, which the caller adds to, each after its operands."""
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
        elif missing := [operand for operand in operands(node) if id(operand) not in done]:
            stack += reversed(missing)
        else:
            yield stack.pop()


def walk(roots: Sequence[Expr]) -> list[Expr]:
    """Every node below the roots, each once, roots first."""
    seen: dict[int, Expr] = {}
    stack = list(reversed(roots))
    while stack:
        expr = stack.pop()
        if id(expr) not in seen:
            seen[id(expr)] = expr
            stack.extend(reversed(children(expr)))
    return list(seen.values())


def rebuilt(
    expr: Expr, change: Callable[[Expr], Expr | None], after: Callable[[Expr], Expr | None] | None = None
) -> Expr:
    """`expr` with the nodes for which `change` gives another replaced; what is shared stays shared.

    after: is asked likewise about each node whose parts are new already, and that `change` left alone.
    """
    changed: dict[int, Expr | None] = {}
    done: dict[int, Expr] = {}

    def operands(node: Expr) -> Sequence[Expr]:
        if id(node) not in changed:
            changed[id(node)] = change(node)
        return children(node) if changed[id(node)] is None else ()

    for node in operands_first([expr], done, operands):
        new = changed[id(node)]
        if new is None:
            parts = children(node)
            fresh = [done[id(part)] for part in parts]
            same = all(a is b for a, b in zip(parts, fresh, strict=True))
            new = node if same else at(with_children(node, fresh), node.location)
            new = new if after is None else _or(after(new), new)
        done[id(node)] = new
    return done[id(expr)]


ExprT = TypeVar("ExprT", bound=Expr)


def at(expr: ExprT, location: LocationAttr | None) -> ExprT:
    """A new node, at a place of its own."""
    if location is not None:
        object.__setattr__(expr, "location", location)
    return expr


def _or(first: Expr | None, second: Expr) -> Expr:
    return second if first is None else first


def with_children(expr: Any, parts: Sequence[Expr]) -> Expr:
    """The same node of other expressions, in the order of `children`."""
    match expr:
        case Binary() | Compare():
            return replace(expr, a=parts[0], b=parts[1])
        case Select():
            return replace(expr, condition=parts[0], true_value=parts[1], false_value=parts[2])
        case Read():
            return replace(expr, indices=tuple(parts))
        case Joint():
            return joint_of(expr, parts)
        case CallExtern():
            return replace(expr, arguments=tuple(parts))
        case Reduce():
            ends = len(expr.values), len(expr.values) + len(expr.init)
            condition = None if expr.condition is None else parts[-1]
            values, init = tuple(parts[: ends[0]]), tuple(parts[ends[0] : ends[1]])
            return replace(expr, values=values, init=init, condition=condition)
        case _:
            return replace(expr, a=parts[0])


def joint_of(expr: Joint, parts: Sequence[Expr]) -> Joint:
    """The same node of other parts, whose vectors have as many lanes."""
    fresh = copy(expr)
    object.__setattr__(fresh, "parts", tuple(parts))
    return fresh


def substitution(values: Mapping[Any, Any]) -> Callable[[Expr], Expr | None]:
    """For `rebuilt`: axes and variables become what they stand for."""

    def change(expr: Expr) -> Expr | None:
        return values.get(expr) if isinstance(expr, Axis | Var) else None

    return change
