"""The matches of a pattern: disjoint groups of expressions that may be replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from ....dialects.relay.core import FuncOp
from ....dialects.relay.operator import Operator
from ....syntax.relay import expr as relay
from ....syntax.relay import nodes
from .expressions import (
    Expr,
    Fields,
    Node,
    all_expressions,
    below,
    branching,
    call_of,
    constant_of,
    field_of,
    is_callee,
    is_movable,
    is_shared,
    owner_of,
    post_order,
    readers_in,
    tuple_fields,
    values_of,
    variable_name,
)
from .matcher import Matcher, Pattern, all_parts

Check = Callable[[Expr], bool]
"""Says of the root of a match whether it is wanted."""


def always(expr: Expr) -> bool:
    return True


@dataclass(eq=False)
class Group:
    """A match: its root, and what each part of the pattern stands for."""

    root: Expr
    memo: dict[Pattern, list[Any]]
    arguments: list[Any]
    """The values, or expressions, that it reads, in the order of the pattern."""
    inside: list[Any]
    """Its expressions, the root first; a function is one of them as a whole."""

    @property
    def anchor(self) -> Operation:
        """The op that makes the root."""
        op = owner_of(self.root)
        assert op is not None
        return op

    @property
    def ops(self) -> dict[Operation, None]:
        """The ops inside, without constants, users before producers."""
        makers = [owner_of(node) for node in self.inside if not is_shared(node) and not isinstance(node, Fields)]
        return dict.fromkeys(op for op in makers if op is not None)

    @property
    def results(self) -> Sequence[SSAValue]:
        """The values that take the place of the root: all of an op that gives a tuple."""
        return (self.root,) if isinstance(self.root, SSAValue) else self.anchor.results

    @property
    def name(self) -> str:
        """The name of its operators together, in TVM's form: `nn.conv2d_nn.bias_add_nn.relu_`."""
        members: set[Expr] = set(self.inside)
        for function in [node for node in self.inside if isinstance(node, relay.Function)]:
            members.update(nodes.post_order(function.body))
        return "".join(_label(node) for node in post_order(self.root, members))


def _label(node: Expr) -> str:
    if (call := call_of(node)) is not None:
        if isinstance(call, relay.Call):
            return f"{call.op.name}_" if isinstance(call.op, relay.Op) else "Call_"
        return f"{call.name.removeprefix('relay.')}_" if isinstance(call, Operator) else "Call_"
    if (part := field_of(node)) is not None:
        return f"TupleGetItem{part[1]}_"
    if tuple_fields(node) is not None:
        return "Tuple_"
    if branching(node) is not None:
        return "If_"
    return "Let_" if isinstance(node, relay.Let) else "Function" if isinstance(node, relay.Function) else ""


def find_groups(pattern: Pattern, top: FuncOp | relay.Expr, check: Check = always) -> list[Group]:
    """The matches in a function, its regions included, or in an expression, outputs first.

    An op that has regions is matched, but is part of no group, as it reads more than its operands; nor is a call of a
    value.
    """
    groups: list[Group] = []
    matched: set[Expr] = set()
    readers = readers_in(top)
    parts = all_parts(pattern)
    for root in all_expressions(top):
        if root in matched or is_shared(root):
            continue
        matcher = Matcher(readers)
        if not matcher.match(pattern, root):
            continue
        group = _group(parts, root, matcher)
        own = {node for node in group.inside if not is_shared(node)}
        members = set(group.inside)
        # Nobody outside reads what is computed inside, the root apart.
        closed = all(node == root or members.issuperset(readers(node)) for node in own)
        if own and closed and matched.isdisjoint(own) and all(map(is_movable, group.inside)) and check(root):
            matched |= own
            groups.append(group)
    return groups


def _group(parts: Sequence[Pattern], root: Expr, matcher: Matcher) -> Group:
    """The match of a pattern of these parts at an expression: what is on the way up from the root to what it reads.

    What no part of the pattern stands for, such as an operand of `is_op("add")(None)`, is read, as in TVM.
    """
    memo = {part: nodes for part, nodes in matcher.memo.items() if nodes}
    inner = {node for part in parts for fuzzy in part.fuzzy for node in memo.get(fuzzy, ())}
    read: dict[Node, None] = {}
    for part in [part for part in parts if part.is_input]:
        for node in memo.get(part, ()):
            embedded = part.embeds_constants and constant_of(node) is not None
            if node not in inner and not embedded and not is_callee(node):
                read.update(dict.fromkeys(values_of(node)))
    matched = {node for nodes in memo.values() for node in nodes}
    used: dict[Node, None] = {}
    inside: dict[Expr, None] = {}
    stack: list[Expr] = [root]
    while stack:
        node = stack.pop()
        if node in inside or node in used:
            continue
        unmatched = node not in matched and not isinstance(node, relay.Op | Fields | Operation)
        if node in read or unmatched or variable_name(node) is not None:
            used[node] = None
            continue
        inside[node] = None
        stack += reversed(below(node) if not isinstance(node, relay.Function) else ())
    arguments = [node for node in read if node in used] + [node for node in used if node not in read]
    return Group(root, memo, arguments, list(inside))
