"""TopK and Unique."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.sorting import TopKOp, UniqueOp
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import holds_zero, proves, same
from ...support.dtypes import Array
from ..importing.converter import Converter, Narrowed
from ..importing.tensor import shape_of
from .context import Context
from .indexing import emit_all
from .known import filled
from .shaping import axis_of


def topk(ctx: Context) -> tuple[SSAValue | Array, ...]:
    """topk; k was an attribute before opset 10. What is wanted unsorted may be sorted."""
    shape = ctx.shape(0)
    axis = axis_of(ctx, ctx.int("axis", -1), len(shape))
    if ctx.opset < 10:
        k = ctx.int("k", 0)
    else:
        k = ctx.size(1, "k")
    # For fewer elements it is no model.
    ctx.require_least(shape[axis], k, f"whether there are {k} of {shape[axis]} elements")
    if proves(k, "<", 0) or proves(k, ">", shape[axis]):
        ctx.fail(f"k of at most {shape[axis]}", str(k))
    ascend = not ctx.is_one("largest", True)
    if same(k, 0):
        # relay's k of 0 is all there is.
        none = (*shape[:axis], 0, *shape[axis + 1 :])
        return filled(ctx, np.zeros((), ctx.dtype(0)), none), filled(ctx, np.zeros((), np.int64), none)
    return tuple(emit_all(ctx, TopKOp, ctx.value(0), k=k, axis=axis, is_ascend=ascend, dtype="int64"))


def unique(ctx: Context) -> tuple[Narrowed | SSAValue, ...]:
    """unique of a vector, or of the rows of a matrix for an axis."""
    data, shape, ascending = ctx.value(0), ctx.shape(0), ctx.is_one("sorted", True)
    if not ctx.has_attribute("axis"):
        flat = ctx.emit(ReshapeOp, data, newshape=(prod(shape),), allowzero=int(holds_zero(shape)))
        values, indices, inverse, counts, number = emit_all(ctx, UniqueOp, flat, sorted=ascending)
        return Narrowed(values, number), Narrowed(indices, number), inverse, Narrowed(counts, number)
    axis = axis_of(ctx, ctx.int("axis", 0), len(shape))
    order = (axis, *(at for at in range(len(shape)) if at != axis))
    first = ctx.emit(TransposeOp, data, axes=order)
    moved = shape_of(first)
    rows = ctx.emit(ReshapeOp, first, newshape=(moved[0], prod(moved[1:])), allowzero=int(holds_zero(moved)))
    values, indices, inverse, counts, number = emit_all(ctx, UniqueOp, rows, sorted=ascending)
    back = ctx.emit(ReshapeOp, values, newshape=moved, allowzero=int(holds_zero(moved)))
    values = ctx.emit(TransposeOp, back, axes=[order.index(at) for at in range(len(shape))])
    return Narrowed(values, number, axis), Narrowed(indices, number), inverse, Narrowed(counts, number)


def unique_of_microsoft(ctx: Context) -> tuple[Narrowed | SSAValue, ...]:
    """Of a vector, in order of appearance: elements, which of them each one is, counts."""
    values, _, inverse, counts, number = emit_all(ctx, UniqueOp, ctx.value(0), sorted=False)
    return Narrowed(values, number), inverse, Narrowed(counts, number)


TABLE = {
    "TopK": Converter(topk),
    "Unique": Converter(unique),
}
MICROSOFT = {"Unique": Converter(unique_of_microsoft)}
