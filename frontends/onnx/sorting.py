"""TopK and Unique."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.sorting import UniqueOp
from ...dialects.relay.transform import TransposeOp
from ..importing.attributes import Flag, Int
from ..importing.converter import Narrowed
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings.reductions import top_k
from ..meanings.sorting import distinct_in_order
from .context import Context


def _top_k(ctx: Context, x: Term, k: int | None, axis: int, largest: bool) -> tuple[SSAValue, ...]:
    """The number of elements was an attribute before opset 10. What is wanted unsorted may be sorted."""
    return top_k(x, ctx.int("k") if k is None else k, axis, largest, dtype="int64")


def _unique(x: Term, axis: int | None, ascending: bool) -> tuple[Narrowed | SSAValue, ...]:
    """Distinct elements, or distinct slices for an axis; where each is first, which each one is, and counts."""
    order = list(range(len(x.shape)))
    if axis is not None:
        axis = axis_of(x, axis)
        order.insert(0, order.pop(axis))
        x = x.apply(TransposeOp, axes=order)
    rows = x.reshape(prod(x.shape)) if axis is None else x.reshape(x.shape[0], prod(x.shape[1:]))
    values, indices, inverse, counts, number = x.ctx.emit_all(UniqueOp, rows.value, sorted=ascending)
    if axis is not None:
        back = [order.index(at) for at in range(len(order))]
        values = Term(x.ctx, values).reshape(*x.shape).apply(TransposeOp, axes=back).value
    return Narrowed(values, number, axis or 0), Narrowed(indices, number), inverse, Narrowed(counts, number)


TABLE = {
    "TopK": row(_top_k, "X K:size?", axis=Int(-1), largest=Flag(True, others=False)),
    "Unique": row(_unique, "X", axis=Int(None), ascending=Flag(True, name="sorted", others=False)),
}
MICROSOFT = {"Unique": row(distinct_in_order, "x")}
