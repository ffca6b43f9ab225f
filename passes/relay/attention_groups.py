"""Groups of two products with a softmax between them, which run as one kernel so that scores stay in the caches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, f64

from ...dialects.affine import below
from ...dialects.relay.matmul import FEW_ROWS, BatchMatmulOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.operator import Operator, OpPattern, element_of, shape_of
from ...dialects.sizes import Size, same_shape
from ...dialects.sizes.kernel import may_be_one
from .fusion_graph import FusionGraph, operator_of

MOST_KEYS = 1 << 13
"""Scores of a row, at most: a few rows have to fit into what a thread has on its stack."""
_FEWEST_KEYS = 320
"""Shorter rows of scores are in registers during a softmax, which is then no better off in a kernel with products."""
_FEWEST_BYTES = 1 << 22
"""Fewer scores stay in the caches from one kernel to the next."""
_CHAIN = 8
"""Operators between scores and their softmax, at most: scales and masks."""


def attention_groups(graph: FusionGraph) -> list[list[int]]:
    """The nodes of each group, its output last.

    Scores are a product of more than a few rows, of a second operand `(k, n)`. Operators on each of them may follow,
    whatever else these read; then a softmax along their rows, the result of which multiplies a matrix. Of all but the
    last product no other operator reads the result.
    """
    number = {op: node for node, op in enumerate(graph.ops) if op is not None}
    groups: list[list[int]] = []
    for op, node in number.items():
        if not isinstance(op, SoftmaxOp) or (nodes := _before(graph, number, op)) is None:
            continue
        last = _sole_reader(graph, node)
        product = None if last is None else graph.ops[last]
        if last is not None and isinstance(product, BatchMatmulOp) and _is_plain(product):
            reads = [operator_of(value) for value in product.operands]
            if reads[0] is op and reads[1] is not op and _is_large(shape_of(product.x)):
                groups.append([*nodes, node, last])
    return groups


def _before(graph: FusionGraph, number: dict[Operator, int], softmax: SoftmaxOp) -> list[int] | None:
    """The nodes from the product whose scores a softmax reads up to it; None where there is no such product."""
    shape = shape_of(softmax.result)
    if softmax.signature.int("axis") % len(shape) != len(shape) - 1:
        return None
    nodes: list[int] = []
    op: Operator = softmax
    for _ in range(_CHAIN):
        # Only one of several operands with the scores' shape may be on the way, as only its reader is in the group.
        for value in op.operands:
            producer = operator_of(value)
            if producer is None or producer not in number or not same_shape(shape_of(value), shape):
                continue
            node = number[producer]
            if _sole_reader(graph, node) != number[op]:
                continue
            if isinstance(producer, BatchMatmulOp) and _is_plain(producer) and element_of(value) in (f32, f64):
                return [node, *reversed(nodes)]
            if graph.patterns[node] <= OpPattern.BROADCAST:
                nodes.append(node)
                op = producer
                break
        else:
            return None
    return None


def _is_large(scores: Sequence[Size]) -> bool:
    """Return whether scores of a shape are better computed in blocks of rows than all at once; open ones may be."""
    if not all(isinstance(extent, int) for extent in scores):
        return True
    return _FEWEST_KEYS < scores[-1] <= MOST_KEYS and 4 * prod(scores) >= _FEWEST_BYTES


def _is_plain(op: BatchMatmulOp) -> bool:
    """Return whether a product is of more than a few rows, and of operands as its schedule wants them."""
    rows, columns = shape_of(op.result)[-2:]
    # Rows of an open number are multiplied with a copy in the other order, of which the kernel is in charge.
    flipped = op.signature.get("transpose_a") or (op.signature.get("transpose_b") and not may_be_one(rows))
    return not flipped and not below(rows, FEW_ROWS + 1) and not below(columns, 2)


def _sole_reader(graph: FusionGraph, node: int) -> int | None:
    readers = {reader for reader, _ in graph.consumers[node]}
    return readers.pop() if len(readers) == 1 and not graph.external[node] else None
