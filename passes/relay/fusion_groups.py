"""The operators that fuse: TVM's partition of a data-flow graph into groups, by patterns and post-dominators.

A node fuses with its immediate post-dominator and all that lies between, when the patterns on the way allow:

phase 0: a convolution-like node takes elementwise followers; elementwise and broadcasting nodes join followers up to
         injective ones, reductions and convolution groups;
phase 1: injective nodes join injective paths (later, so that a convolution gets its followers first);
phase 2: up to injective producers join the operator that reads them through a tuple (`concatenate`).
"""

from __future__ import annotations

from ...dialects.relay.operator import OpPattern
from .attention_groups import attention_groups
from .fusion_graph import FusionGraph, PostDominators
from .operand_groups import operand_groups

_ELEMWISE, _BROADCAST, _INJECTIVE = OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE
_REDUCE, _ANCHOR, _TUPLE, _OPAQUE = (
    OpPattern.COMM_REDUCE,
    OpPattern.OUT_ELEMWISE_FUSABLE,
    OpPattern.TUPLE,
    OpPattern.OPAQUE,
)


class FusionGroups:
    """The groups of a graph: a union-find whose representative is the group's output node."""

    def __init__(self, graph: FusionGraph, max_depth: int, fuse: bool):
        """`max_depth`: the most operators in a group. Without `fuse` it leaves every operator alone."""
        self._graph = graph
        self._limit = max_depth
        self._parent = list(range(len(graph)))
        self._pattern = list(graph.patterns)
        self._anchored = [pattern is _ANCHOR for pattern in graph.patterns]
        self._size = [0 if op is None else 1 for op in graph.ops]
        if fuse:
            for group in (*attention_groups(graph), *operand_groups(graph)):
                for member in group:
                    self._merge(member, group[-1])
            tree = PostDominators(graph)
            for phase in range(3):
                for node in range(len(graph)):
                    if (sink := tree.parent[node]) != tree.root:
                        self._consider(node, sink, tree.pattern[node], phase)

    def find(self, node: int) -> int:
        """The output node of the group of `node`."""
        parent = self._parent
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    def _consider(self, node: int, sink: int, edge: OpPattern, phase: int) -> None:
        """Fuse `node` into its post-dominator if this phase is for it and the way there allows it."""
        if (most := self._allowed(node, sink, edge, phase)) is None or self.find(node) == self.find(sink):
            return
        inner, last = most
        if (path := self._path(node, sink, inner, last)) is not None:
            for member in path:
                self._merge(member, sink)

    def _allowed(self, node: int, sink: int, edge: OpPattern, phase: int) -> tuple[OpPattern, OpPattern] | None:
        """The strongest pattern allowed for groups on the way and for the sink's; None when `node` must not start."""
        own = self._pattern[node]
        if own is _OPAQUE:
            return None
        if phase == 2:
            return (_INJECTIVE, _INJECTIVE) if own <= _INJECTIVE and self._pattern[sink] is _TUPLE else None
        if own is _ANCHOR:
            return (_BROADCAST, _BROADCAST) if phase == 0 and edge is _ELEMWISE else None
        if own <= _BROADCAST:
            return (_INJECTIVE, _ANCHOR) if edge <= _REDUCE else None
        if own in (_INJECTIVE, _TUPLE):
            return (_INJECTIVE, _INJECTIVE) if phase == 1 else None
        return None

    def _path(self, node: int, sink: int, inner: OpPattern, last: OpPattern) -> list[int] | None:
        """`node` and all between it and `sink`; None when a pattern or the size forbids."""
        consumers, pattern = self._graph.consumers, self._pattern
        seen = {node}
        stack = [node]
        while stack:
            for consumer, _ in consumers[stack.pop()]:
                if consumer in seen:
                    continue
                seen.add(consumer)
                if pattern[self.find(consumer)] > (last if consumer == sink else inner):
                    return None
                # Each tuple on the way comes with its operator, so more nodes than this are too many operators.
                if len(seen) > 2 * self._limit:
                    return None
                if consumer != sink:
                    stack.append(consumer)
        if sum(self._size[root] for root in {self.find(member) for member in seen}) > self._limit:
            return None
        seen.discard(sink)
        return sorted(seen)

    def _merge(self, child: int, parent: int) -> None:
        child, parent = self.find(child), self.find(parent)
        if child == parent:
            return
        self._parent[child] = parent
        self._size[parent] += self._size[child]
        # Only a convolution-like member changes what may still join; at most one is in a group, by the rules above.
        if self._anchored[child]:
            self._anchored[parent] = True
            self._pattern[parent] = max(self._pattern[parent], self._pattern[child])
