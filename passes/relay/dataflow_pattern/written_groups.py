"""Matches of patterns in Relay as it is written: cut out into functions, or replaced by what a callback gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ....frontends.relay import expr as relay
from ....frontends.relay.bind import substituted
from ....provenance.span import SequentialSpan, Span
from .groups import Check, all_parts, always, leaves
from .matcher import Matcher, Pattern
from .written import readers_below

NodeMap: TypeAlias = Mapping[Any, Sequence[Any]]
Callback: TypeAlias = Callable[[relay.Expr, relay.Expr, NodeMap], relay.Expr]

_SHARED = relay.Op | relay.Constant | relay.GlobalVar | relay.Function
"""The expressions that may be inside a match and be read elsewhere."""


@dataclass(eq=False)
class WrittenGroup:
    """A match: its root, what each part of the pattern stands for, what it reads, and what is inside, root first."""

    root: relay.Expr
    memo: dict[Pattern, list[Any]]
    arguments: list[relay.Expr]
    inside: list[relay.Expr]

    @property
    def name(self) -> str:
        """The name of its operators together, in TVM's form."""
        members = set(self.inside)
        for function in [node for node in self.inside if isinstance(node, relay.Function)]:
            members.update(relay.post_order(function.body))
        return "".join(_label(node) for node in relay.post_order(self.root) if node in members)

    @property
    def span(self) -> relay.AnySpan:
        """The spans of what is inside, root first."""
        return fused(node.span for node in self.inside)


def fused(spans: Iterable[relay.AnySpan]) -> relay.AnySpan:
    """One span for several, each once; None for none."""
    flat: dict[Span, None] = {}
    for span in spans:
        if span is not None:
            flat.update(dict.fromkeys(span.spans if isinstance(span, SequentialSpan) else (span,)))
    return next(iter(flat)) if len(flat) == 1 else SequentialSpan(list(flat)) if flat else None


def _label(node: relay.Expr) -> str:
    match node:
        case relay.Call():
            return f"{node.op.name}_" if isinstance(node.op, relay.Op) else "Call_"
        case relay.TupleGetItem():
            return f"TupleGetItem{node.index}_"
        case relay.Tuple() | relay.If() | relay.Let():
            return f"{type(node).__name__}_"
        case relay.Function():
            return "Function"
        case _:
            return ""


def find_written(pattern: Pattern, top: relay.Expr, check: Check = always) -> list[WrittenGroup]:
    """The matches in an expression, outputs first; none shares anything with another."""
    groups: list[WrittenGroup] = []
    matched: set[relay.Expr] = set()
    users = readers_below(top)
    fuzzy = [inner for part in all_parts(pattern) for inner in part.fuzzy]
    for node in reversed(list(relay.post_order(top))):
        if node in matched or isinstance(node, relay.Op | relay.GlobalVar):
            continue
        matcher = Matcher(top)
        if not matcher.match(pattern, node):
            continue
        group = _group(pattern, node, matcher, fuzzy)
        own = [part for part in group.inside if not isinstance(part, _SHARED)]
        members = set(group.inside)
        closed = all(part is node or members.issuperset(users.get(part, ())) for part in own)
        if own and closed and matched.isdisjoint(own) and check(node):
            matched.update(own)
            groups.append(group)
    return groups


def _group(pattern: Pattern, root: relay.Expr, matcher: Matcher, fuzzy: Sequence[Pattern]) -> WrittenGroup:
    memo = {part: nodes for part, nodes in matcher.memo.items() if nodes}
    inner = {node for part in fuzzy for node in memo.get(part, ())}
    read: dict[relay.Expr, None] = {}
    for leaf in leaves(pattern):
        for node in memo.get(leaf, ()):
            if not isinstance(node, relay.Expr) or node in inner or isinstance(node, relay.Op | relay.Function):
                continue
            if not (leaf.embeds_constants and isinstance(node, relay.Constant)):
                read[node] = None
    inside: dict[relay.Expr, None] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node in read or node in inside:
            continue
        if isinstance(node, relay.Var):
            read[node] = None
            continue
        inside[node] = None
        # A function is inside as a whole.
        stack += reversed(list(relay.children(node))) if not isinstance(node, relay.Function) else ()
    return WrittenGroup(root, memo, list(read), list(inside))


def partition_written(
    pattern: Pattern, top: relay.Expr, attrs: Mapping[str, object], check: Check = always
) -> relay.Expr:
    """An expression in which every match is a call of a function with `PartitionedFromPattern`, as in TVM."""
    groups = {group.root: group for group in find_written(pattern, top, check)}
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
        about = {"PartitionedFromPattern": group.name, **attrs}
        function = relay.Function(params, body, attrs=about, span=group.span)
        return relay.Call(function, [new(argument) for argument in group.arguments], span=group.span)

    return substituted(top, {}, then)


def rewrite_written(pattern: Pattern, top: relay.Expr, callback: Callback) -> relay.Expr:
    """An expression in which every match is what the callback gives for it; new nodes get the spans of the match."""
    groups = {group.root: group for group in find_written(pattern, top)}

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


def _spanned(answer: relay.Expr, group: WrittenGroup) -> relay.Expr:
    """Return the expression that a callback made, with a span where it had none."""
    span = group.span

    def then(node: relay.Expr, after: relay.Expr, new: Callable[[relay.Expr], relay.Expr]) -> relay.Expr:
        if after.span is None and not isinstance(after, relay.Var | relay.Op | relay.GlobalVar):
            return replace(after, span=span)
        return after

    return substituted(answer, {}, then) if span is not None else answer
