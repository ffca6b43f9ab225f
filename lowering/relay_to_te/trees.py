"""Computes of decision trees."""

from __future__ import annotations

from collections.abc import Callable

from ... import te
from ...dialects.relay.operator import Operator
from ...dialects.relay.trees import AGGREGATES, TreeEnsembleOp
from ...dialects.sizes import ceil_div
from ...te import Expr, Tensor
from . import trees_scripts as scripts
from .stages import ROWS_APART, compute, label, shape

_ROWS = 32
"""The rows of a block, the unit of work of a thread."""
_STEPS = 8
"""The steps of a descent before trees are asked whether all are at leaves: most trees are no deeper."""
_ACTS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "sum": lambda total, weight: total + weight,
    "min": te.minimum,
    "max": te.maximum,
}


def tree_ensemble(
    op: Operator,
    x: Tensor,
    roots: Tensor,
    depths: Tensor,
    features: Tensor,
    values: Tensor,
    children: Tensor,
    leaves: tuple[Tensor, ...],
) -> Tensor:
    sig = op.signature
    (rows, width), (groups, trees), mask = shape(x), shape(roots), shape(features)[0] - 1
    missing = bool(sig.get("missing"))
    _, begin = AGGREGATES[sig.str("aggregate")]
    if not groups or not trees:
        return compute((rows, sig.int("targets")), lambda *i: te.const(begin, x.dtype), label(op))

    def root(roots: Tensor, group: Expr, tree: Expr) -> Expr:
        return te.bitwise_and(roots(group, tree), mask)

    def go(x: Tensor, row: Expr, features: Tensor, values: Tensor, children: Tensor, node: Expr) -> Expr:
        feature = features(node)
        turned = feature < 0
        if missing:
            feature = te.select(turned, te.const(-1, "int32") - feature, feature)
        number = x(row, te.minimum(te.maximum(feature, 0), width - 1))
        left = number <= values(node)
        if missing:
            left = te.any(left, te.all(turned, te.isnan(number)))
        return te.bitwise_and(children(node, te.select(left, te.const(0, "int32"), te.const(1, "int32"))), mask)

    def target(targets: Tensor, k: Expr) -> Expr:
        return te.minimum(te.maximum(targets(k), 0), sig.int("targets") - 1)

    start = te.const(begin, x.dtype)
    sizes = (rows, _ROWS, ceil_div(rows, _ROWS), groups, trees, _STEPS)
    with te.tag_scope(ROWS_APART):
        nodes = (x, roots, depths, features, values, children)
        act = _ACTS[sig.str("aggregate")]
        if not leaves:
            return scripts.tree_values(*nodes, sizes, start, root, go, act)
        sizes = (*sizes, sig.int("targets"), shape(leaves[1])[0])
        return scripts.tree_weights(*nodes, *leaves, sizes, start, root, go, act, target)


TABLE = {
    TreeEnsembleOp: tree_ensemble,
}
