"""Order: sorted along an axis by one operand, and the greatest."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.sorting import ArgsortOp, TopKOp
from ...dialects.sizes import decide
from ..importing.converter import Converter
from ..importing.terms import Term
from .context import Context


def _sort(ctx: Context) -> tuple[SSAValue, ...]:
    """All operands in the order of the one that the comparator reads."""
    word, _, number = ctx.node.body.partition(" ")
    if word not in ("ascending", "descending") or not ctx.inputs:
        ctx.fail("a comparison of the elements of one operand", ctx.node.body_text or "another")
    shape = ctx.shape(0)
    ctx.same_shapes(*range(len(ctx.inputs)))
    axis = ctx.integer("dimension", len(shape) - 1)
    axis = ctx.axis(axis % len(shape) if -len(shape) <= axis < len(shape) else axis, len(shape))
    key = int(number)
    data = ctx.term(key)
    if data.dtype == np.bool_:
        data = data.to("int8")
    ascend = word == "ascending"
    if len(ctx.inputs) == 1:
        values = ctx.emit(TopKOp, data.value, k=0, axis=axis, is_ascend=ascend, ret_type="values")
        return (Term(ctx, values).to(ctx.dtype(0)).value,)
    places = ctx.emit(ArgsortOp, data.value, axis=axis, is_ascend=ascend, dtype="int64")
    return tuple(ctx.emit(GatherOp, value, places, axis=axis) for value in ctx.values())


def _top_k(ctx: Context) -> tuple[SSAValue, ...]:
    """The greatest along the last axis, with their places."""
    k = ctx.integer("k")
    shape = ctx.shape(0)
    if k < 1 or not shape or decide(k, "<=", shape[-1]) is False:
        ctx.fail(f"a number of elements from 1 to that of the last axis of {list(shape)}", str(k))
    return ctx.emit_all(TopKOp, ctx.value(0), k=k, axis=len(shape) - 1, is_ascend=False, dtype="int32")


TABLE: dict[str, Converter[Context]] = {"sort": Converter(_sort), "top_k": Converter(_top_k)}
