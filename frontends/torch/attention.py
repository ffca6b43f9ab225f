"""Scaled dot product attention."""

from __future__ import annotations

from math import prod
from typing import cast

from ...dialects.relay.transform import BroadcastToOp
from ...dialects.sizes import Size, broadcast_sizes, same_shape
from ..importing.attributes import Flag, Float
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.attention import added, attended, bias_of, masked, score_dtype, visible
from .context import Context


def _of_heads(x: Term, batch: tuple[int, ...]) -> Term:
    """(.., heads, length, size) of any axes in front, as four."""
    *own, length, size = x.shape
    if len(own) > 1 and len(own) < len(batch):
        x.ctx.fail("query, key and value of as many axes", f"shape {list(x.shape)}")
    return x.reshape(prod(own[:-1]), own[-1] if own else 1, length, size)


def _of_four_axes(bias: Term, scores: tuple[int, ...]) -> Term:
    """The bias of scores, whose axes in front of three are a batch."""
    if len(bias.shape) > 4:
        return bias.apply(BroadcastToOp, shape=scores).reshape(prod(scores[:-3]), *scores[-3:])
    # Of scores of three axes the first are heads of one batch.
    return bias.reshape(1, *bias.shape) if len(bias.shape) == 3 and len(scores) == 3 else bias


def _of_one_batch(*parts: Term) -> tuple[Term, ...]:
    """Query, key and value, whose axes in front broadcast."""
    batch: tuple[Size, ...] | None = ()
    for x in parts:
        batch = None if batch is None else broadcast_sizes(batch, x.shape[:-2])
    if batch is None:
        return parts
    shapes = (cast("tuple[int, ...]", (*batch, *x.shape[-2:])) for x in parts)
    return tuple(
        x if same_shape(x.shape, shape) else x.apply(BroadcastToOp, shape=shape)
        for x, shape in zip(parts, shapes, strict=True)
    )


def _attention(
    query: Term,
    key: Term,
    value: Term,
    mask: Term | None,
    dropout: float,
    causal: bool,
    scale: float | None,
    shared: bool,
) -> Term:
    """softmax(query key^T scale + mask) value; heads of the query may share those of key and value.

    A mask of truth values hides keys where it is false. A query without keys gives 0.
    """
    ctx = query.ctx
    if dropout > 0:
        ctx.fail("a model in inference mode", "dropout in training mode (call .eval() before torch.export)")
    query, key, value = (query, key, value) if shared else _of_one_batch(query, key, value)
    *batch, queries, _ = query.shape
    scores = (*batch, queries, key.shape[-2])
    dtype, may_be_empty = score_dtype(query), mask is not None
    bias = None if mask is None else _of_four_axes(bias_of(mask, dtype), scores)
    if causal and (frontier := visible(ctx, queries, key.shape[-2], None, 0)):
        bias, may_be_empty = added(bias, masked(frontier.seen, dtype)), may_be_empty or frontier.some_see_none
    q, k, v = (_of_heads(x, tuple(batch)) for x in (query, key, value))
    result, _ = attended(q, k, v, bias, scale, may_be_empty=may_be_empty)
    return result.reshape(*batch, queries, value.shape[-1])


TABLE: dict[str, Converter[Context]] = {
    "aten.scaled_dot_product_attention.default": row(
        _attention,
        "query key value attn_mask?",
        dropout=Float(0.0, name="dropout_p"),
        causal=Flag(False, name="is_causal"),
        scale=Float(None),
        shared=Flag(False, name="enable_gqa"),
    ),
}
