"""The operators in which torch runs attention of several heads, and layers of a transformer's encoder, as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import LogicalNotOp, ReluOp
from ..importing.converter import Converter
from ..importing.terms import Term
from ..meanings import norms
from ..meanings.activations import gelu_erf
from ..meanings.attention import attended, bias_of, merge_heads, score_dtype, split_heads
from ..meanings.slices import cut, split
from .context import Context
from .products import linear

_SHAPES = {0: "a mask of queries and keys", 1: "a mask of the batch and keys", 2: "a mask of four axes"}


def _mask(ctx: Context) -> Term | None:
    """The mask of scores (batch, heads, queries, keys); torch's truth values hide keys where they are true."""
    if not ctx.given("mask"):
        return None
    mask, kind = ctx.term("mask"), ctx.int("mask_type", 2)
    shape = mask.shape
    if kind not in _SHAPES or len(shape) != (4 if kind == 2 else 2):
        ctx.fail(_SHAPES.get(kind, "mask_type 0, 1 or 2"), f"shape {list(shape)} of mask_type {kind}")
    if kind < 2:
        mask = mask.reshape(*(1, 1, *shape) if kind == 0 else (shape[0], 1, 1, shape[1]))
    return mask.apply(LogicalNotOp) if mask.dtype.kind == "b" else mask


def _attended(ctx: Context, rows: Sequence[Term], heads: int) -> tuple[Term, Term]:
    """Query, key and value (batch, length, width) to results (batch, length, width), and weights."""
    query, key, value = (split_heads(x, heads) for x in rows)
    mask = _mask(ctx)
    bias = None if mask is None else bias_of(mask, score_dtype(query))
    result, steps = attended(query, key, value, bias, may_be_empty=mask is not None)
    return merge_heads(result), steps.weights.to(query.dtype)


def _projected(ctx: Context, x: Term) -> Term:
    return linear(x, ctx.term("proj_weight"), ctx.term("proj_bias"))


def _of_all(ctx: Context, data: Term, heads: str) -> tuple[Term, Term]:
    """Attention of data to themselves."""
    both = linear(data, ctx.term("qkv_weight"), ctx.term("qkv_bias"))
    result, weights = _attended(ctx, split(both, -1, 3), ctx.int(heads))
    return _projected(ctx, result), weights


def _attention(ctx: Context) -> tuple[SSAValue, ...]:
    """Results, and if they are asked for the weights of each head, or their mean."""
    places = [ctx.at(name) for name in ("query", "key", "value")]
    if len({*places}) == 1:
        result, weights = _of_all(ctx, ctx.term("query"), "num_head")
    else:
        width = ctx.int("embed_dim")
        rows: list[Term] = []
        for at, name in enumerate(("query", "key", "value")):
            own = (cut(ctx.term(f"qkv_{part}"), 0, at * width, (at + 1) * width) for part in ("weight", "bias"))
            rows.append(linear(ctx.term(name), *own))
        result, weights = _attended(ctx, rows, ctx.int("num_head"))
        result = _projected(ctx, result)
    if not ctx.flag("need_weights", True):
        return (result.value,)
    if ctx.flag("average_attn_weights", True):
        weights = weights.mean(1).reshape(weights.shape[0], *weights.shape[2:])
    return result.value, weights.value


def _encoder_layer(ctx: Context) -> SSAValue:
    """Attention and two dense layers, each with what it is added to, and norms before or behind them."""
    x, first, epsilon = ctx.term("src"), ctx.flag("norm_first"), ctx.float("eps", 0.0)

    def normed(x: Term, which: int) -> Term:
        weight, bias = (ctx.term(f"norm_{part}_{which}") for part in ("weight", "bias"))
        return norms.layer_norm(x, weight, bias, (len(x.shape) - 1,), epsilon)

    def dense(x: Term) -> Term:
        inner = linear(x, ctx.term("ffn_weight_1"), ctx.term("ffn_bias_1"))
        inner = gelu_erf(inner) if ctx.flag("use_gelu") else inner.apply(ReluOp)
        return linear(inner, ctx.term("ffn_weight_2"), ctx.term("ffn_bias_2"))

    def attended(x: Term) -> Term:
        return _of_all(ctx, x, "num_heads")[0]

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
