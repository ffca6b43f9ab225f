"""Groups of a batched product and the views of its operands that would be kernels of their own, which copy."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.operator import Operator, OpPattern
from ...dialects.relay.transform import Reshaping, StridedSliceOp
from ...dialects.sizes import same
from .fusion_graph import FusionGraph, operator_of


def operand_groups(graph: FusionGraph) -> list[list[int]]:
    """The nodes of each group, its output last: a product, and what it reads through the index of its operands.

    What could be part of the kernel before it stays there.
    """
    number = {op: node for node, op in enumerate(graph.ops) if op is not None}
    groups: list[list[int]] = []
    for op, node in number.items():
        if isinstance(op, BatchMatmulOp):
            views = [view for value in op.operands for view in _views(graph, number, value)]
            if views:
                groups.append([*views, node])
    return groups


def _views(graph: FusionGraph, number: dict[Operator, int], value: SSAValue) -> list[int]:
    """The nodes that one after the other only reshape what a product reads, or take its first rows."""
    views: list[int] = []
    while isinstance(op := operator_of(value), Reshaping) or (isinstance(op, StridedSliceOp) and _is_prefix(op)):
        node = number.get(op)
        if node is None or graph.external[node] or len(graph.consumers[node]) != 1:
            break
        views.append(node)
        value = op.data
    producer = operator_of(value)
    if not views or producer is None or producer not in number:
        return views
    before = number[producer]
    several = graph.external[before] or len(graph.consumers[before]) > 1
    return views if several or graph.patterns[before] > OpPattern.INJECTIVE else []


def _is_prefix(op: StridedSliceOp) -> bool:
    """Return whether a slice begins with the first element along all axes, and leaves none out."""
    return all(same(start, 0) and step == 1 for start, _, step in StridedSliceOp.spans(op.signature))
