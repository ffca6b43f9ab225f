"""The parts of an expression between marks of external compilers, TVM's `AnnotatedRegionSet`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Call, Expr, Function, Op
from whence.syntax.relay.nodes import children, is_leaf, post_order


@dataclass(eq=False)
class AnnotatedRegion:
    """A region between marks that belong together: `args` are the marks before it, `rets` those after it."""

    target: str
    id: int
    args: list[Expr] = field(default_factory=list[Expr])
    nodes: list[Expr] = field(default_factory=list[Expr])
    """All of it, marks included."""
    rets: list[Expr] = field(default_factory=list[Expr])


class AnnotatedRegionSet:
    """The regions of an expression, those of one target that share a node joined.

    Raises FrontendError where a region ends that did not begin, and where targets meet without marks.
    """

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op):
        self._of: dict[Expr, AnnotatedRegion] = {}
        self._count = 0
        for node in post_order(expr):
            op = node.op if isinstance(node, Call) else None
            if isinstance(node, Call) and op == region_begin_op:
                region = AnnotatedRegion(str(node.attrs.compiler), self._count, [node], [node])
                self._count += 1
                self._of[node] = region
            elif isinstance(node, Call) and op == region_end_op:
                if (found := self._of.get(node.args[0])) is None:
                    raise FrontendError(f"AnnotatedRegionSet: expected {op} behind a region, got one behind none")
                found.nodes.append(node)
                found.rets.append(node)
                self._of[node] = found
            elif not is_leaf(node) and not isinstance(node, Function):
                self._inside(node, region_end_op)

    def _inside(self, node: Expr, end: Op) -> None:
        """Merge the regions of a node's parts, and add the node to the merged region."""
        around = [
            region
            for child in children(node)
            if not (isinstance(child, Call) and child.op == end) and (region := self._of.get(child)) is not None
        ]
        if not around:
            return
        first = around[0]
        for other in around[1:]:
            if other is not first:
                self._join(first, other)
        first.nodes.append(node)
        self._of[node] = first

    def _join(self, first: AnnotatedRegion, other: AnnotatedRegion) -> None:
        if first.target != other.target:
            raise FrontendError(
                f"AnnotatedRegionSet: expected one target in a region, got {first.target}, {other.target}"
            )
        first.args += other.args
        first.nodes += other.nodes
        first.rets += other.rets
        self._of.update(dict.fromkeys(other.nodes, first))

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """The region that an expression is in; None for one outside of all."""
        return self._of.get(expr)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(dict.fromkeys(self._of.values()))

    def __len__(self) -> int:
        return len(set(self._of.values()))
