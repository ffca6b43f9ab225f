"""Walks over expressions. An expression is a graph, so that each node is met once, and may be deep."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from .expr import Expr, children


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
