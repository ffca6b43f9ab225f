"""Matches of patterns in Relay as it is written: cut out into functions, or replaced by what a callback gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from ....provenance.span import fuse
from ....syntax.relay import expr as relay
from ....syntax.relay.bind import substituted
from ....syntax.relay.places import span_of
from .groups import Check, Group, always, find_groups
from .matcher import Pattern

NodeMap: TypeAlias = Mapping[Any, Sequence[Any]]
Callback: TypeAlias = Callable[[relay.Expr, relay.Expr, NodeMap], relay.Expr]


@runtime_checkable
class HoldsFunctions(Protocol):
    """A module of expressions, such as `relay.IRModule`."""

    def map_functions(self, change: Callable[[relay.Function], relay.Expr]) -> Self:
        """The like, of what `change` makes of each function."""
        ...


def _span(group: Group) -> relay.AnySpan:
    """The spans of what is inside of a match, root first, each once."""
    return span_of(fuse(node.span.location for node in group.inside if node.span is not None))


def partition_written(
    pattern: Pattern, top: relay.Expr, attrs: Mapping[str, object], check: Check = always
) -> relay.Expr:
    """An expression in which every match is a call of a function with `PartitionedFromPattern`, as in TVM."""
    groups = {group.root: group for group in find_groups(pattern, top, check)}
    count = 0

    def then(node: relay.Expr, after: relay.Expr, new: Callable[[relay.Expr], relay.Expr]) -> relay.Expr:
        nonlocal count
        if (group := groups.get(node)) is None:
            return after
        params = [
            relay.Var(f"FunctionVar_{count}_{k}", span=argument.span) for k, argument in enumerate(group.arguments)
        ]
        count += 1
        body = substituted(node, dict(zip(group.arguments, params, strict=True)))
        span = _span(group)
        about = {"PartitionedFromPattern": group.name, **attrs}
        function = relay.Function(params, body, attrs=about, span=span)
        return relay.Call(function, [new(argument) for argument in group.arguments], span=span)

    return substituted(top, {}, then)


def rewrite_written(pattern: Pattern, top: relay.Expr, callback: Callback) -> relay.Expr:
    """An expression in which every match is what the callback gives for it; new nodes get the spans of the match."""
    groups = {group.root: group for group in find_groups(pattern, top)}

    def then(node: relay.Expr, after: relay.Expr, new: Callable[[relay.Expr], relay.Expr]) -> relay.Expr:
        if (group := groups.get(node)) is None:
            return after
        node_map = {
            part: [new(item) if isinstance(item, relay.Expr) else item for item in nodes]
            for part, nodes in group.memo.items()
        }
        answer = callback(node, after, node_map)
        return answer if answer is after else _spanned(answer, group)

    return substituted(top, {}, then)


def _spanned(answer: relay.Expr, group: Group) -> relay.Expr:
    """Return the expression that a callback made, with a span where it had none."""
    span = _span(group)

    def then(node: relay.Expr, after: relay.Expr, new: Callable[[relay.Expr], relay.Expr]) -> relay.Expr:
        if after.span is None and not isinstance(after, relay.Var | relay.Op | relay.GlobalVar):
            return replace(after, span=span)
        return after

    return substituted(answer, {}, then) if span is not None else answer
