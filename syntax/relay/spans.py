"""Spans of expressions: functions that collect and fill those of everything between an expression and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...provenance.span import SequentialSpan, Span
from .expr import AnySpan, Expr, Op
from .nodes import visited


def visit(entry: Expr, inputs: Iterable[Expr], see: Callable[[Expr, bool], bool]) -> None:
    """Call `see(expression, is it an input)` for `entry` and everything in it, pre-order, once each.

    The parts of inputs, and of expressions for which `see` returns False, are skipped. The order is that of TVM's
    visitors.
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
    """Return the spans from `entry` up to and including `inputs`, pre-order."""
    spans: list[Span | SequentialSpan] = []

    def see(node: Expr, _: bool) -> bool:
        if node.span is not None:
            spans.append(node.span)
        return True

    visit(entry, inputs, see)
    return SequentialSpan(spans)


def fill(entry: Expr, inputs: Iterable[Expr], span: AnySpan) -> None:
    """Set `span` on everything from `entry` up to and excluding `inputs`, except operators."""

    def see(node: Expr, is_input: bool) -> bool:
        if not is_input and not isinstance(node, Op):
            node.span = span
        return True

    visit(entry, inputs, see)


def fill_empty(entry: Expr, span: AnySpan) -> None:
    """Set `span` on everything in `entry`, up to expressions with a span, which belong to an earlier layer."""

    def see(node: Expr, _: bool) -> bool:
        if node.span is not None:
            return False
        if not isinstance(node, Op):
            node.span = span
        return True

    visit(entry, (), see)
