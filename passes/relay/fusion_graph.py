"""The data-flow graph that fusion looks at, and its post-dominator tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.relay.operator import Operator, OpPattern, as_tensor

T = TypeVar("T")

STOP_FUSION = "stop_fusion"
"""The attribute of an operator whose results no operator of its group may read."""


def post_order(roots: Iterable[T], children: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Everything reachable from `roots`, each once and after its children (which come in order). Never recurses."""
    seen: set[int] = set()
    for root in roots:
        if id(root) in seen:
            continue
        seen.add(id(root))
        stack = [(root, iter(children(root)))]
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append((child, iter(children(child))))
                    break
            else:
                stack.pop()
                yield node


def operator_of(value: SSAValue) -> Operator | None:
    """The operator that made `value`; None for parameters, constants and results of calls."""
    owner = value.owner
    return owner if isinstance(owner, Operator) else None


def producers(op: Operation) -> list[Operator]:
    """The operators that made the operands of `op`, in operand order."""
    return [producer for value in op.operands if (producer := operator_of(value)) is not None]


def _ops() -> list[Operator | None]:
    return []


def _patterns() -> list[OpPattern]:
    return []


def _edges() -> list[list[tuple[int, OpPattern]]]:
    return []


@dataclass
class FusionGraph:
    """The operators of one block, numbered in post-DFS order from what the function returns, as TVM numbers them.

    A variadic operator (`concatenate`) reads its operands through a tuple node of its own, numbered just before it.
    """

    ops: list[Operator | None] = field(default_factory=_ops)
    """Per node its operator; None for a tuple."""
    patterns: list[OpPattern] = field(default_factory=_patterns)
    consumers: list[list[tuple[int, OpPattern]]] = field(default_factory=_edges)
    """Per node the nodes that read it, each with the pattern of that edge."""
    external: list[bool] = field(default_factory=list[bool])
    """Per node whether it ends its group: the return or a call reads it, or it is marked so."""

    def __len__(self) -> int:
        return len(self.ops)

    def _add(self, op: Operator | None, pattern: OpPattern, external: bool) -> int:
        self.ops.append(op)
        self.patterns.append(pattern)
        self.consumers.append([])
        self.external.append(external)
        return len(self.ops) - 1

    @staticmethod
    def of(block: Block) -> FusionGraph:
        """The graph of the operators in `block`; who reads them in regions further in gets results."""

        def own(op: Operation) -> list[Operator]:
            return [operator for operator in producers(op) if operator.parent is block]

        graph = FusionGraph()
        index: dict[Operator, int] = {}
        last = block.last_op
        roots = [*(own(last) if last is not None else ()), *(op for op in block.ops if isinstance(op, Operator))]
        for op in post_order(roots, own):
            kind = op.fusion_pattern() if len(op.results) == 1 else OpPattern.OPAQUE
            external = STOP_FUSION in op.attributes or any(
                not isinstance(use.operation, Operator) or use.operation.parent is not block
                for result in op.results
                for use in result.uses
            )
            if op.reads_tuple():
                through = graph._add(None, OpPattern.TUPLE, False)
                for operator in own(op):
                    graph.consumers[index[operator]].append((through, OpPattern.INJECTIVE))
                index[op] = node = graph._add(op, kind, external)
                graph.consumers[through].append((node, kind))
                continue
            index[op] = node = graph._add(op, kind, external)
            for value in op.operands:
                if (operator := operator_of(value)) is not None and operator.parent is block:
                    graph.consumers[index[operator]].append((node, _edge(kind, value, op)))
        return graph


def _edge(kind: OpPattern, value: SSAValue, op: Operator) -> OpPattern:
    """A broadcasting operator is elementwise in an operand of its result's shape."""
    if kind is OpPattern.BROADCAST:
        mine, result = value.type, op.results[0].type
        if mine is result or as_tensor(mine).shape == as_tensor(result).shape:
            return OpPattern.ELEMWISE
    return kind


class PostDominators:
    """The post-dominator tree: per node the first one that all paths to the function's results go through.

    Nodes without one (external or unread) hang below a virtual root, number `len(graph)`. Each node also keeps a jump
    pointer to a farther ancestor (skew-binary), so that a least common ancestor costs O(log depth).
    """

    def __init__(self, graph: FusionGraph):
        root = len(graph)
        self.root = root
        self.parent = [root] * (root + 1)
        self.pattern = [OpPattern.OPAQUE] * (root + 1)
        """Per node the strongest pattern of the edges between it and its parent."""
        self._depth = [0] * (root + 1)
        self._jump = [root] * (root + 1)
        self._jump_pattern = [OpPattern.OPAQUE] * (root + 1)
        for node in range(root - 1, -1, -1):
            parent, pattern = root, OpPattern.OPAQUE
            if not graph.external[node] and graph.consumers[node]:
                parent, pattern = graph.consumers[node][0]
                for consumer, edge in graph.consumers[node][1:]:
                    parent, along = self._common(parent, consumer)
                    pattern = max(pattern, edge, along)
            self._attach(node, parent, pattern)

    def _attach(self, node: int, parent: int, pattern: OpPattern) -> None:
        depth, jump = self._depth, self._jump
        self.parent[node], self.pattern[node] = parent, pattern
        depth[node] = depth[parent] + 1
        near = jump[parent]
        if depth[parent] - depth[near] == depth[near] - depth[jump[near]]:
            jump[node] = jump[near]
            self._jump_pattern[node] = max(pattern, self._jump_pattern[parent], self._jump_pattern[near])
        else:
            jump[node] = parent
            self._jump_pattern[node] = pattern

    def _common(self, left: int, right: int) -> tuple[int, OpPattern]:
        """The least common ancestor and the strongest pattern on both ways to it."""
        depth, jump = self._depth, self._jump
        pattern = OpPattern.ELEMWISE
        if depth[left] < depth[right]:
            left, right = right, left
        while depth[left] > depth[right]:
            far = depth[jump[left]] >= depth[right]
            pattern = max(pattern, self._jump_pattern[left] if far else self.pattern[left])
            left = jump[left] if far else self.parent[left]
        while left != right:
            far = jump[left] != jump[right]
            steps = self._jump_pattern if far else self.pattern
            pattern = max(pattern, steps[left], steps[right])
            up = jump if far else self.parent
            left, right = up[left], up[right]
        return left, pattern
