"""Products among tensors that a user wrote: they are scheduled as the compiler's own, whose lowering names them."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir.affine import AffineDimExpr

from ...dialects.te import ComputeOp, ReadOp, YieldOp
from ...te.schedule.counts import body_of
from ...te.schedule.schedule import Schedule

_I, _J, _K = map(AffineDimExpr, range(3))
_POINTS = {((_I, _K), (_K, _J)), ((_I, _K), (_J, _K))}
"""Where the two operands of a product are read, by its axes: rows, columns, terms."""


def name_products(schedule: Schedule) -> Schedule:
    """Give the stages of a schedule without primitives that are matrix products the tag of one; returns it.

    `C[i, j] = sum(A[i, k] * B[k, j])` and `sum(A[i, k] * B[j, k])` of floats, without a tag, have `dense` then.
    """
    for stage in schedule.computes:
        if "tag" not in stage.compute.attributes and _is_product(stage.compute):
            stage.compute.attributes["tag"] = StringAttr("dense")
    return schedule


def _is_product(compute: ComputeOp) -> bool:
    if len(compute.shape) != 2 or len(compute.reduce_shape) != 1:
        return False
    if compute.reducer is None or compute.reducer.data != "sum":
        return False
    kinds = [type(op) for op in compute.block.ops]
    if kinds != [ReadOp, ReadOp, arith.MulfOp, YieldOp]:
        return False
    return tuple(access.point for access in body_of(compute).reads) in _POINTS
