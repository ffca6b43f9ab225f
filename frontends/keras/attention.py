"""Attention, AdditiveAttention, MultiHeadAttention and GroupQueryAttention."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import ExpandDimsOp
from ..importing.terms import Term, sigmoid, tanh, where
from ..meanings.attention import attended, both, heads_first, masked, score_dtype, visible, weigh
from ..meanings.einsum import einsum
from ..meanings.moves import swap_last
from ..meanings.products import batch_matmul
from .context import Config, Context
from .masks import OWNERS, Masks
from .rows import Row
from .weights import Variables


def seen_by_position(ctx: Context, queries: int, keys: int, causal: bool, window: int | None = None) -> Term | None:
    """(queries, keys): true where a query sees a key by their positions; None where it sees all."""
    at_most = 0 if causal else None if window is None else window - 1
    frontier = visible(ctx, queries, keys, None if window is None else 1 - window, at_most)
    return None if frontier is None else frontier.seen


def bias_of(mask: Term | None, dtype: np.dtype[np.generic], low: float | None = None) -> Term | None:
    """A mask as an addend of scores: `low` where it is false; None without a mask.

    By default, scores are nothing beside that number, of which softmax makes as much for one key as for another.
    """
    low = -0.7 * float(np.finfo(np.dtype(np.float32) if dtype.itemsize > 2 else dtype.name).max) if low is None else low
    return None if mask is None else masked(mask, dtype, low)


def _attended(ctx: Context, score: Callable[[Term, Term], Term]) -> tuple[SSAValue, ...]:
    """The values weighted by the scores of queries for keys; and the weights, if a call wants them."""
    operands = [Term(ctx, value) for value in ctx.operands()]
    if len(operands) not in (2, 3):
        ctx.fail("a list of query and value, perhaps a key", f"{len(operands)} tensors")
    query, value, key = operands[0], operands[1], operands[-1]
    scores = score(query, key)
    of_query, of_value, *_ = [*ctx.masks(ctx.argument(1, "mask") or []), None, None]
    causal = ctx.argument(4, "use_causal_mask", False) is True or ctx.flag("causal", False)
    mask = seen_by_position(ctx, scores.shape[-2], scores.shape[-1], causal)
    if of_value is not None:
        row = Term(ctx, of_value)
        mask = both(row.reshape(row.shape[0], 1, row.shape[1]), mask)
    bias = bias_of(mask, scores.dtype, -65504.0 if scores.dtype == np.float16 else -1e9)
    weights = weigh(scores, bias).weights
    result = batch_matmul(weights, value)
    if of_query is not None:
        column = Term(ctx, of_query)
        result = where(column.reshape(*column.shape, 1), result, 0.0)
    wanted = ctx.argument(3, "return_attention_scores", False) is True
    return (result.value, weights.value) if wanted else (result.value,)


def _pairs(query: Term, key: Term) -> Term:
    """(batch, queries, keys, size): the sum of each query and each key."""
    return query.apply(ExpandDimsOp, axis=2) + key.apply(ExpandDimsOp, axis=1)


def attention(ctx: Context) -> tuple[SSAValue, ...]:
    mode = ctx.choice("score_mode", ("dot", "concat"), "dot")

    def score(query: Term, key: Term) -> Term:
        scale = Term(ctx, ctx.weight("scale", ())) if ctx.has_weight("scale") else None
        if mode == "dot":
            product = batch_matmul(query, swap_last(key))
            return product if scale is None else product * scale
        pairs = _pairs(query, key)
        total = tanh(pairs if scale is None else pairs * scale).apply(SumOp, axis=(-1,), keepdims=False)
        return total * Term(ctx, ctx.weight("concat_score_weight", ()))

    return _attended(ctx, score)


def additive_attention(ctx: Context) -> tuple[SSAValue, ...]:
    def score(query: Term, key: Term) -> Term:
        pairs = tanh(_pairs(query, key))
        if ctx.has_weight("scale"):
            pairs = pairs * Term(ctx, ctx.weight("scale", query.shape[-1:]))
        return pairs.apply(SumOp, axis=(-1,), keepdims=False)

    return _attended(ctx, score)


def _projected(ctx: Context, name: str, x: Term, heads: int, size: int) -> Term:
    """(batch, .., features) -> (batch, .., heads, size)."""
    letters = string.ascii_lowercase[: len(x.shape) - 1]
    kernel = Term(ctx, ctx.weight(f"{name}.kernel", (x.shape[-1], heads, size)))
    result = einsum(x, kernel, equation=f"{letters}x,xyz->{letters}yz")
    return result + Term(ctx, ctx.weight(f"{name}.bias", (heads, size))) if ctx.has_weight(f"{name}.bias") else result


def _mask(ctx: Context, queries: int, keys: int) -> Term | None:
    """The masks of a call, by position, of queries, values and keys, and of pairs of them, as one with heads."""
    window = ctx.option("sliding_window")
    if window is not None:
        window = ctx.int("sliding_window", least=1)
    mask = seen_by_position(ctx, queries, keys, ctx.argument(9, "use_causal_mask", False) is True, window)
    for at, name in ((3, "query_mask"), (4, "value_mask"), (5, "key_mask")):
        if (own := ctx.mask(at, name)) is not None:
            row = Term(ctx, own)
            batch, length = row.shape
            mask = both(mask, row.reshape(*(batch, 1, length, 1) if name == "query_mask" else (batch, 1, 1, length)))
    if (own := ctx.mask(6, "attention_mask")) is not None:
        pairs = Term(ctx, own)
        mask = both(mask, pairs.reshape(pairs.shape[0], 1, *pairs.shape[1:]) if len(pairs.shape) == 3 else pairs)
    return mask


def multi_head_attention(ctx: Context) -> tuple[SSAValue, ...]:
    heads, size = ctx.int("num_heads", least=1), ctx.int("key_dim", least=1)
    width = size if ctx.option("value_dim") is None else ctx.int("value_dim", least=1)
    return _heads(ctx, heads, heads, size, width)


def group_query_attention(ctx: Context) -> tuple[SSAValue, ...]:
    heads, groups, size = (
        ctx.int("num_query_heads", least=1),
        ctx.int("num_key_value_heads", least=1),
        ctx.int("head_dim", least=1),
    )
    if heads % groups:
        ctx.fail(f"query heads that {groups} key heads share", str(heads))
    return _heads(ctx, heads, groups, size, size)


def _heads(ctx: Context, heads: int, groups: int, size: int, width: int) -> tuple[SSAValue, ...]:
    """Projections, attention of each head, and the projection of all heads' results."""
    argument, value = Term(ctx, ctx.data(0, "query")), Term(ctx, ctx.data(1, "value"))
    key = value if ctx.argument(2, "key") is None else Term(ctx, ctx.data(2, "key"))
    own, rank = argument.shape, len(argument.shape)
    axes = ctx.option("attention_axes")
    if axes is not None and tuple(ctx.axis(axis, rank) for axis in axes) != tuple(range(1, rank - 1)):
        ctx.fail("attention over all axes between batch and features", f"attention_axes {axes}")
    q = _projected(ctx, "query_dense", argument, heads, size)
    k, v = _projected(ctx, "key_dense", key, groups, size), _projected(ctx, "value_dense", value, groups, width)
    q, k, v = (heads_first(x.reshape(x.shape[0], prod(x.shape[1:-2]), *x.shape[-2:])) for x in (q, k, v))
    scores_wanted = ctx.argument(7, "return_attention_scores", False) is True
    mask = _mask(ctx, q.shape[2], k.shape[2])
    # Keras weighs the keys of a query that sees none with 0, or, where it takes a kernel of its backend, all alike.
    empty = mask is not None and (scores_wanted or rank != 3 or ctx.option("dropout", 0.0) != 0)
    bias = bias_of(mask, score_dtype(q), -np.inf if empty else None)
    weighted, steps = attended(q, k, v, bias, may_be_empty=empty)
    result = heads_first(weighted).reshape(*own[:-1], heads, width)
    if ctx.flag("use_gate", False):
        result = result * sigmoid(_projected(ctx, "gate_dense", argument, heads, width))
    kernel = Term(ctx, ctx.weight("output_dense.kernel"))
    outputs = kernel.shape[2:]
    ctx.weight_place("output_dense.kernel", (heads, width, *outputs))
    letters, after = string.ascii_lowercase[: rank - 1], string.ascii_uppercase[: len(outputs)]
    result = einsum(result, kernel, equation=f"{letters}yz,yz{after}->{letters}{after}")
    if ctx.has_weight("output_dense.bias"):
        result = result + Term(ctx, ctx.weight("output_dense.bias", outputs))
    return (result.value, steps.weights.to(q.dtype).value) if scores_wanted else (result.value,)


def _dense(config: Config) -> Sequence[Variables]:
    """In the order in which Keras creates the projections, whose attributes have an underscore in some versions."""
    names = ("kernel", "bias") if config.get("use_bias", True) else ("kernel",)
    parts = ["query", "key", *(["gate"] if config.get("use_gate", False) else []), "value"]
    projections = [Variables(names, f"{part}_dense", (f"_{part}_dense",), part) for part in parts]
    return [*projections, Variables(names, "output_dense", ("_output_dense",), "attention_output")]


def _of_attention(config: Config) -> Sequence[Variables]:
    names = [*(["scale"] if config.get("use_scale", False) else [])]
    names += ["concat_score_weight"] if config.get("score_mode", "dot") == "concat" else []
    return (Variables(tuple(names)),)


def _of_additive(config: Config) -> Sequence[Variables]:
    return (Variables(("scale",) if config.get("use_scale", True) else ()),)


_OF_LIST = Masks({"mask": 1}, kept=lambda config: 1)
_OF_EACH = Masks({f"{owner}_mask": 3 + at for at, owner in enumerate(OWNERS)}, kept=lambda config: 1)
TABLE = {
    "AdditiveAttention": Row(additive_attention, _of_additive, _OF_LIST),
    "Attention": Row(attention, _of_attention, _OF_LIST),
    "GroupQueryAttention": Row(group_query_attention, _dense, _OF_EACH),
    "GroupedQueryAttention": Row(group_query_attention, _dense, _OF_EACH),
    "MultiHeadAttention": Row(multi_head_attention, _dense, replace(_OF_EACH, takes=True)),
}
