"""Scaled dot product attention."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import BroadcastToOp
from ...dialects.sizes import Size, broadcast_sizes, same_shape
from ..importing.attention import Scores, added, as_wide, cast_to, distance, frontier, masked, weighted
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from .context import Context
from .shaping import broadcast


def _of_heads(ctx: Context, value: SSAValue, batch: tuple[int, ...]) -> SSAValue:
    """(.., heads, length, size) of any axes in front, as four."""
    *own, length, size = shape_of(value)
    if len(own) > 1 and len(own) < len(batch):
        ctx.fail("query, key and value of as many axes", f"shape {list(shape_of(value))}")
    heads = own[-1] if own else 1
    return reshaped(ctx, value, (prod(own[:-1]), heads, length, size))


def _bias(ctx: Context, query: SSAValue, scores: tuple[int, ...]) -> tuple[SSAValue | None, bool]:
    """The bias of scores, and whether that may leave a query without keys."""
    bias: SSAValue | None = None
    may_be_empty = False
    if ctx.given("attn_mask"):
        mask = ctx.of("attn_mask")
        bias = masked(ctx, mask, query) if dtype_of(mask) == np.bool_ else cast_to(ctx, mask, dtype_of(query))
        may_be_empty = True
        if len(shape_of(bias)) > 4:
            bias = reshaped(ctx, ctx.emit(BroadcastToOp, bias, shape=scores), (prod(scores[:-3]), *scores[-3:]))
        elif len(shape_of(bias)) == 3 and len(scores) == 3:
            # What were axes in front of three are a batch of one head.
            bias = reshaped(ctx, bias, (1, *shape_of(bias)))
    if ctx.flag("is_causal"):
        queries, keys = scores[-2:]
        steps, empty = frontier(ctx, distance(ctx, queries, keys), None, 0, query)
        bias, may_be_empty = added(ctx, bias, steps), may_be_empty or empty
    return bias, may_be_empty


def _of_one_batch(ctx: Context, values: list[SSAValue]) -> list[SSAValue]:
    """Query, key and value, whose axes in front broadcast unless heads share those of key and value."""
    if ctx.flag("enable_gqa"):
        return values
    batch: tuple[Size, ...] = ()
    for value in values:
        wider = broadcast_sizes(batch, shape_of(value)[:-2])
        if wider is None:
            return values
        batch = wider
    return [broadcast(ctx, value, cast("tuple[int, ...]", (*batch, *shape_of(value)[-2:]))) for value in values]


def attention(ctx: Context) -> SSAValue:
    """softmax(query key^T scale + mask) value; heads of the query may share those of key and value.

    A mask of truth values hides keys where it is false. A query without keys gives 0.
    """
    if ctx.float("dropout_p", 0.0) > 0:
        ctx.fail("a model in inference mode", "dropout in training mode (call .eval() before torch.export)")
    query, key, value = _of_one_batch(ctx, [ctx.of(name) for name in ("query", "key", "value")])
    batch = shape_of(query)[:-2]
    wide = [as_wide(ctx, item) for item in (query, key, value)]
    flat = [_of_heads(ctx, item, batch) for item in wide]
    scores = (*batch, shape_of(query)[-2], shape_of(key)[-2])
    bias, may_be_empty = _bias(ctx, flat[0], scores)
    scale = ctx.float("scale", 0.0) if ctx.given("scale") else None
    weights = Scores(ctx, flat[0], flat[1], scale=scale, bias=bias, may_be_empty=may_be_empty).compute()
    result = weighted(ctx, weights, flat[2])
    wanted = (*batch, shape_of(query)[-2], shape_of(value)[-1])
    if not same_shape(shape_of(result), wanted):
        result = reshaped(ctx, result, wanted)
    return cast_to(ctx, result, dtype_of(query))


TABLE: dict[str, Converter[Context]] = {
    "aten.scaled_dot_product_attention.default": Converter(attention),
}
