"""The operators in which torch runs attention of several heads, and layers of a transformer's encoder, as a whole."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import LogicalNotOp, ReluOp
from ...dialects.relay.transform import TransposeOp
from ..importing.attention import Scores, cast_to, masked, weighted
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from ..meanings import norms
from ..meanings.activations import gelu_erf
from .context import Context
from .products import linear
from .shaping import cut, shaped

_SHAPES = {0: "a mask of queries and keys", 1: "a mask of the batch and keys", 2: "a mask of four axes"}


def _bias(ctx: Context, like: SSAValue) -> SSAValue | None:
    """The bias of scores (batch, heads, queries, keys); a mask of truth values hides keys where it is true."""
    if not ctx.given("mask"):
        return None
    mask, kind = ctx.of("mask"), ctx.int("mask_type", 2)
    shape = shape_of(mask)
    if kind not in _SHAPES or len(shape) != (4 if kind == 2 else 2):
        ctx.fail(_SHAPES.get(kind, "mask_type 0, 1 or 2"), f"shape {list(shape)} of mask_type {kind}")
    if kind < 2:
        mask = shaped(ctx, mask, (1, 1, *shape) if kind == 0 else (shape[0], 1, 1, shape[1]))
    if dtype_of(mask) != np.bool_:
        return cast_to(ctx, mask, dtype_of(like))
    return masked(ctx, ctx.emit(LogicalNotOp, mask), like)


def _attended(ctx: Context, rows: list[SSAValue], heads: int) -> tuple[SSAValue, SSAValue]:
    """Query, key and value (batch, length, width) to results (batch, length, width), and weights."""
    split: list[SSAValue] = []
    for value in rows:
        batch, length, width = shape_of(value)
        if width % heads:
            ctx.fail(f"a width that {heads} heads divide", str(width))
        apart = shaped(ctx, value, (batch, length, heads, width // heads))
        split.append(ctx.emit(TransposeOp, apart, axes=(0, 2, 1, 3)))
    query, key, value = split
    weights = Scores(ctx, query, key, bias=_bias(ctx, query), may_be_empty=ctx.given("mask")).compute()
    together = ctx.emit(TransposeOp, weighted(ctx, weights, value), axes=(0, 2, 1, 3))
    return shaped(ctx, together, shape_of(rows[0])), weights


def _of_all(ctx: Context, data: SSAValue, heads: str) -> tuple[SSAValue, SSAValue]:
    """Attention of data to themselves."""
    both = linear(ctx, data, ctx.of("qkv_weight"), ctx.of("qkv_bias"))
    width = shape_of(both)[-1] // 3
    result, weights = _attended(ctx, [cut(ctx, both, 2, n * width, (n + 1) * width) for n in range(3)], ctx.int(heads))
    return linear(ctx, result, ctx.of("proj_weight"), ctx.of("proj_bias")), weights


def _attention(ctx: Context) -> tuple[SSAValue, ...]:
    """Results, and if they are asked for the weights of each head, or their mean."""
    places = [ctx.at(name) for name in ("query", "key", "value")]
    if len({*places}) == 1:
        result, weights = _of_all(ctx, ctx.of("query"), "num_head")
    else:
        width = ctx.int("embed_dim")
        rows: list[SSAValue] = []
        for at, name in enumerate(("query", "key", "value")):
            parts = [cut(ctx, ctx.of(f"qkv_{part}"), 0, at * width, (at + 1) * width) for part in ("weight", "bias")]
            rows.append(linear(ctx, ctx.of(name), *parts))
        result, weights = _attended(ctx, rows, ctx.int("num_head"))
        result = linear(ctx, result, ctx.of("proj_weight"), ctx.of("proj_bias"))
    if not ctx.flag("need_weights", True):
        return (result,)
    if ctx.flag("average_attn_weights", True):
        weights = Term(ctx, weights).mean(1).reshape(shape_of(weights)[0], *shape_of(weights)[2:]).value
    return result, weights


def _encoder_layer(ctx: Context) -> SSAValue:
    """Attention and two dense layers, each with what it is added to, and norms before or behind them."""
    x, first, epsilon = ctx.term("src"), ctx.flag("norm_first"), ctx.float("eps", 0.0)

    def normed(x: Term, which: int) -> Term:
        weight, bias = (ctx.term(f"norm_{part}_{which}") for part in ("weight", "bias"))
        return norms.layer_norm(x, weight, bias, (len(x.shape) - 1,), epsilon)

    def dense(x: Term) -> Term:
        inner = Term(ctx, linear(ctx, x.value, ctx.of("ffn_weight_1"), ctx.of("ffn_bias_1")))
        inner = gelu_erf(inner) if ctx.flag("use_gelu") else inner.apply(ReluOp)
        return Term(ctx, linear(ctx, inner.value, ctx.of("ffn_weight_2"), ctx.of("ffn_bias_2")))

    def attended(x: Term) -> Term:
        return Term(ctx, _of_all(ctx, x.value, "num_heads")[0])

    if first:
        x = x + attended(normed(x, 1))
        return (x + dense(normed(x, 2))).value
    x = normed(x + attended(x), 1)
    return normed(x + dense(x), 2).value


_WIDTH = {"embed_dim": "the last extent of the input"}

TABLE: dict[str, Converter[Context]] = {
    "aten._native_multi_head_attention.default": Converter(_attention, unread=_WIDTH),
    "aten._transformer_encoder_layer_fwd.default": Converter(_encoder_layer, unread=_WIDTH),
}
