"""TopK and Unique."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.sorting import UniqueOp
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import holds_zero
from ..importing.converter import Converter, Narrowed
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings.reductions import top_k
from .context import Context
from .shaping import axis_of


def topk(ctx: Context) -> tuple[SSAValue, ...]:
    """The number of elements was an attribute before opset 10. What is wanted unsorted may be sorted."""
    k = ctx.int("k", 0) if ctx.opset < 10 else ctx.size(1, "k")
    axis, largest = ctx.int("axis", -1), ctx.is_one("largest", True)
    return top_k(Term(ctx, ctx.value(0)), k, axis, largest, dtype="int64")


def unique(ctx: Context) -> tuple[Narrowed | SSAValue, ...]:
    """unique of a vector, or of the rows of a matrix for an axis."""
    data, shape, ascending = ctx.value(0), ctx.shape(0), ctx.is_one("sorted", True)
    if not ctx.has_attribute("axis"):
        flat = ctx.emit(ReshapeOp, data, newshape=(prod(shape),), allowzero=int(holds_zero(shape)))
        values, indices, inverse, counts, number = ctx.emit_all(UniqueOp, flat, sorted=ascending)
        return Narrowed(values, number), Narrowed(indices, number), inverse, Narrowed(counts, number)
    axis = axis_of(ctx, ctx.int("axis", 0), len(shape))
    order = (axis, *(at for at in range(len(shape)) if at != axis))
    first = ctx.emit(TransposeOp, data, axes=order)
    moved = shape_of(first)
    rows = ctx.emit(ReshapeOp, first, newshape=(moved[0], prod(moved[1:])), allowzero=int(holds_zero(moved)))
    values, indices, inverse, counts, number = ctx.emit_all(UniqueOp, rows, sorted=ascending)
    back = ctx.emit(ReshapeOp, values, newshape=moved, allowzero=int(holds_zero(moved)))
    values = ctx.emit(TransposeOp, back, axes=[order.index(at) for at in range(len(shape))])
    return Narrowed(values, number, axis), Narrowed(indices, number), inverse, Narrowed(counts, number)


def unique_of_microsoft(ctx: Context) -> tuple[Narrowed | SSAValue, ...]:
    """Of a vector, in order of appearance: elements, which of them each one is, counts."""
    values, _, inverse, counts, number = ctx.emit_all(UniqueOp, ctx.value(0), sorted=False)
    return Narrowed(values, number), inverse, Narrowed(counts, number)


TABLE = {
    "TopK": Converter(topk),
    "Unique": Converter(unique),
}
MICROSOFT = {"Unique": Converter(unique_of_microsoft)}
