"""Where a pattern matches a function: groups of ops, none in two of them, that may be replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects.relay.core import ConstantOp, FuncOp
from ....dialects.relay.functions import InvokeOp
from ....dialects.relay.operator import Operator
from ..analysis.traversal import pre_order
from .expressions import Call, Expr, Fields, Node, call_of, constant_of, field_of, inputs, owner_of, post_order
from .matcher import Matcher, Pattern

Check = Callable[[Expr], bool]
"""Says of the root of a match whether it is wanted."""


def always(expr: Expr) -> bool:
    return True


@dataclass(eq=False)
class Group:
    """A match: its root, what each part of the pattern stands for, and the ops inside."""

    root: Expr
    memo: dict[Pattern, list[Node]]
    arguments: list[SSAValue] = field(default_factory=lambda: list[SSAValue]())
    """The values that it reads, in the order of the pattern."""
    constants: dict[ConstantOp, None] = field(default_factory=lambda: dict[ConstantOp, None]())
    """Constants that are part of it."""
    ops: dict[Operation, None] = field(default_factory=lambda: dict[Operation, None]())
    """Users before producers."""

    @property
    def anchor(self) -> Operation:
        """The op that makes the root."""
        op = owner_of(self.root)
        assert op is not None
        return op

    @property
    def results(self) -> Sequence[SSAValue]:
        """The values that take the place of the root: all of an op that gives a tuple."""
        return (self.root,) if isinstance(self.root, SSAValue) else self.anchor.results

    @property
    def name(self) -> str:
        """The name of its operators together, in TVM's form: `nn.conv2d_nn.bias_add_nn.relu_`."""
        return "".join(f"{_label(node)}_" for node in post_order(self.root, set(self.ops)))


def _label(node: Expr) -> str:
    if (op := call_of(node)) is not None:
        return op.name.removeprefix("relay.") if isinstance(op, Operator) else "Call"
    if (part := field_of(node)) is not None:
        return f"TupleGetItem{part[1]}"
    return "Tuple"


def leaves(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns without parts in one, in order, each once."""
    seen: set[Pattern] = set()
    stack = [pattern]
    while stack:
        part = stack.pop()
        if part not in seen:
            seen.add(part)
            if not part.parts:
                yield part
            stack += reversed(part.parts)


def all_parts(pattern: Pattern) -> Iterable[Pattern]:
    """A pattern, and all that it is made of, each once."""
    seen: dict[Pattern, None] = {}
    stack = [pattern]
    while stack:
        part = stack.pop()
        if part not in seen:
            seen[part] = None
            stack += part.parts
    return seen


def find_groups(pattern: Pattern, func: FuncOp, check: Check = always) -> list[Group]:
    """The matches in a function, its regions included, outputs first.

    What has regions is matched, but is part of no group, as it reads more than its operands; nor is a call of a value.
    """
    groups: list[Group] = []
    matched: set[Operation] = set()
    fuzzy = [inner for part in all_parts(pattern) for inner in part.fuzzy]
    for op in reversed(list(pre_order(func))):
        if not op.results or isinstance(op, ConstantOp):
            continue
        several = len(op.results) > 1 and isinstance(op, Call)
        roots: list[Expr] = [*reversed(op.results), op] if several else list(op.results)
        for root in roots:
            if op not in matched and (group := _group(pattern, root, matched, fuzzy)) is not None and check(root):
                matched.update(group.ops)
                groups.append(group)
    return groups


def _group(pattern: Pattern, root: Expr, others: set[Operation], fuzzy: Sequence[Pattern]) -> Group | None:
    """The match of a pattern at an expression, if there is one and it may be replaced."""
    matcher = Matcher(root)
    if not matcher.match(pattern, root):
        return None
    group = Group(root, {part: nodes for part, nodes in matcher.memo.items() if nodes})
    inner = {node for part in fuzzy for node in group.memo.get(part, ())}
    read: dict[SSAValue, None] = {}
    for leaf in leaves(pattern):
        for node in group.memo.get(leaf, ()):
            if node in inner or isinstance(node, type) or (leaf.embeds_constants and constant_of(node) is not None):
                continue
            if isinstance(node, SSAValue):
                read[node] = None
            elif isinstance(node, Fields):
                read.update(dict.fromkeys(node.values))
            elif isinstance(node, Operation):
                read.update(dict.fromkeys(node.results))
    if root in read or (isinstance(root, Operation) and any(value in read for value in root.results)):
        return None
    matched = {node for nodes in group.memo.values() for node in nodes}
    if not _fill(group, read, matched):
        return None
    return group if others.isdisjoint(group.ops) and _is_closed(group) else None


def _fill(group: Group, read: dict[SSAValue, None], matched: set[Node]) -> bool:
    """Find the ops of a group: those on the way up from its root to what it reads; whether there are any."""
    used: dict[SSAValue, None] = {}
    seen: set[Expr] = set()
    stack: list[Expr] = [group.root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        constant = constant_of(node)
        if isinstance(node, SSAValue) and (node in read or (node not in matched and constant is None)):
            used[node] = None
        elif isinstance(node, BlockArgument):
            used[node] = None
        elif isinstance(constant, ConstantOp):
            group.constants[constant] = None
        else:
            op = owner_of(node)
            if op is not None and not isinstance(node, Fields):
                group.ops[op] = None
            stack += reversed(inputs(node))
    group.arguments = [value for value in read if value in used] + [value for value in used if value not in read]
    return bool(group.ops)


def _is_closed(group: Group) -> bool:
    """Return whether nobody outside reads what is computed inside, the root apart."""
    own = set(group.results)
    if any(op.regions or isinstance(op, InvokeOp) for op in group.ops):
        return False
    for op in group.ops:
        for result in op.results:
            if result not in own and any(use.operation not in group.ops for use in result.uses):
                return False
    return True
