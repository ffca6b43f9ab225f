"""Order: sorted along an axis by one operand, and the greatest."""

from __future__ import annotations

from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.sorting import ArgsortOp, TopKOp
from ..importing.attributes import Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.reductions import top_k
from .context import Context


def _sort(ctx: Context) -> tuple[SSAValue, ...]:
    """All operands in the order of those that the comparator reads."""
    words = ctx.node.body.split()
    keys = [(word, int(number)) for word, number in zip(words[0::2], words[1::2], strict=True)]
    if not ctx.inputs or not keys or any(word not in ("ascending", "descending") for word, _ in keys):
        ctx.fail("a comparison of the elements of operands", ctx.node.body_text or "another")
    shape = ctx.shape(0)
    ctx.same_shapes(*range(len(ctx.inputs)))
    axis = ctx.int("dimension", len(shape) - 1)
    axis = ctx.axis(axis % len(shape) if -len(shape) <= axis < len(shape) else axis, len(shape))
    if len(ctx.inputs) == 1 and len(keys) == 1:
        ascend = keys[0][0] == "ascending"
        values = ctx.emit(TopKOp, _numbers(ctx, 0).value, k=0, axis=axis, is_ascend=ascend, ret_type="values")
        return (Term(ctx, values).to(ctx.dtype(0)).value,)
    places: SSAValue | None = None
    # Sorting keeps the order of equals, so the last key comes first.
    for word, number in reversed(keys):
        data = _numbers(ctx, number).value
        data = data if places is None else ctx.emit(GatherOp, data, places, axis=axis)
        order = ctx.emit(ArgsortOp, data, axis=axis, is_ascend=word == "ascending", dtype="int64")
        places = order if places is None else ctx.emit(GatherOp, places, order, axis=axis)
    assert places is not None
    return tuple(ctx.emit(GatherOp, value, places, axis=axis) for value in ctx.values())


def _numbers(ctx: Context, index: int) -> Term:
    """Input `index`; truth values as integers."""
    data = ctx.term(index)
    return data.to("int8") if data.dtype == np.bool_ else data


TABLE: dict[str, Converter[Context]] = {
    "sort": Converter(_sort),
    "top_k": row(partial(top_k, dtype="int32"), "operand", k=Int()),
}
