"""Groups of a batched product and the reshapes of its operands that would be kernels of their own, which copy."""

from __future__ import annotations

from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.operator import Operator, OpPattern
from ...dialects.relay.transform import Reshaping
from .fusion_graph import FusionGraph, operator_of


def operand_groups(graph: FusionGraph) -> list[list[int]]:
    """The nodes of each group, its output last: a product, and what it reads through the index of its operands.

    A reshape that could be part of the kernel before it stays there.
    """
    number = {op: node for node, op in enumerate(graph.ops) if op is not None}
    groups: list[list[int]] = []
    for op, node in number.items():
        if isinstance(op, BatchMatmulOp):
            owners = [operator_of(value) for value in op.operands]
            views = [
                number[view] for view in owners if isinstance(view, Reshaping) and _stands_alone(graph, number, view)
            ]
            if views:
                groups.append([*views, node])
    return groups


def _stands_alone(graph: FusionGraph, number: dict[Operator, int], view: Reshaping) -> bool:
    """Return whether a reshape that one other operator reads could only be a kernel of its own."""
    node = number.get(view)
    if node is None or graph.external[node] or len(graph.consumers[node]) != 1:
        return False
    producer = operator_of(view.data)
    if producer is None or producer not in number:
        return True
    before = number[producer]
    several = graph.external[before] or len(graph.consumers[before]) > 1
    return several or graph.patterns[before] > OpPattern.INJECTIVE
