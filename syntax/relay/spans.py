"""Spans of expressions: what collects and fills those of everything between an expression and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...provenance.span import SequentialSpan, Span
from .expr import AnySpan, Expr, Op
from .nodes import visited


def visit(entry: Expr, inputs: Iterable[Expr], see: Callable[[Expr, bool], bool]) -> None:
    """Call `see(expression, is it an input)` for `entry` and all it is made of, pre-order, once each.

    Inputs, and expressions for which `see` says False, are not looked into. The order is that of TVM's visitors.
    """
    ends, seen = set(inputs), set[Expr]()
    stack = [entry]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if see(node, node in ends) and node not in ends:
            stack.extend(reversed(visited(node)))


def collect(entry: Expr, inputs: Iterable[Expr] = ()) -> SequentialSpan:
    """The spans from `entry` up to `inputs`, theirs included, pre-order."""
    found: list[Span | SequentialSpan] = []

    def see(node: Expr, _: bool) -> bool:
        if node.span is not None:
            found.append(node.span)
        return True

    visit(entry, inputs, see)
    return SequentialSpan(found)


def fill(entry: Expr, inputs: Iterable[Expr], span: AnySpan) -> None:
    """Give `span` to all from `entry` up to but without `inputs`; operators have none."""

    def see(node: Expr, is_input: bool) -> bool:
        if not is_input and not isinstance(node, Op):
            node.span = span
        return True

    visit(entry, inputs, see)


def fill_empty(entry: Expr, span: AnySpan) -> None:
    """Give `span` to what `entry` is made of, up to what has a span: that belongs to an earlier layer."""

    def see(node: Expr, _: bool) -> bool:
        if node.span is not None:
            return False
        if not isinstance(node, Op):
            node.span = span
        return True

    visit(entry, (), see)
