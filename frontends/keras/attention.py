"""Attention, AdditiveAttention, MultiHeadAttention and GroupQueryAttention."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import ExpandDimsOp, TransposeOp
from ..importing.attention import Scores, masked, weighted
from ..importing.einsum import contraction
from ..importing.products import batch_matmul, reshaped, transposed
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, absolute, places, sigmoid, tanh, where
from .context import Config, Context
from .masks import OWNERS, Masks
from .rows import Row
from .weights import Variables


def _both(a: Term | None, b: Term | None) -> Term | None:
    if a is None or b is None:
        return a or b
    return a.apply(LogicalAndOp, b)


def seen_by_position(ctx: Context, queries: int, keys: int, causal: bool, window: int | None = None) -> Term | None:
    """(queries, keys): true where a query sees a key by their positions; None where it sees all."""
    mask: Term | None = None
    rows, columns = places(ctx, queries, 2, 0, "int32"), places(ctx, keys, 2, 1, "int32")
    if causal:
        mask = columns < rows + 1
    if window is not None:
        mask = _both(mask, absolute(rows - columns) < float(window))
    return mask


def lowest(dtype: np.dtype[np.generic]) -> float:
    """A number beside which scores are nothing, of which softmax makes as much for one key as for another."""
    return -0.7 * float(np.finfo(np.float32 if dtype.itemsize > 2 else dtype.name).max)


def hidden(ctx: Context, mask: Term | None, like: SSAValue, low: float) -> SSAValue | None:
    """A mask as an addend of scores: `low` where it is false; None without a mask."""
    return None if mask is None else masked(ctx, mask.value, like, ctx.scalar(low, like))


def _attended(ctx: Context, score: Callable[[SSAValue, SSAValue], Term]) -> tuple[SSAValue, SSAValue]:
    """The values weighted by the scores of queries for keys; and the weights."""
    operands = ctx.operands()
    if len(operands) not in (2, 3):
        ctx.fail("a list of query and value, perhaps a key", f"{len(operands)} tensors")
    query, value, key = operands[0], operands[1], operands[-1]
    scores = score(query, key)
    of_query, of_value, *_ = [*ctx.masks(ctx.argument(1, "mask") or []), None, None]
    causal = ctx.argument(4, "use_causal_mask", False) is True or ctx.flag("causal", False)
    mask = seen_by_position(ctx, scores.shape[-2], scores.shape[-1], causal)
    if of_value is not None:
        batch, keys = shape_of(of_value)
        mask = _both(Term(ctx, of_value).reshape(batch, 1, keys), mask)
    bias = hidden(ctx, mask, scores.value, -65504.0 if scores.dtype == np.float16 else -1e9)
    weights = Scores(ctx, query, key, bias=bias).weights(scores.value)
    result = batch_matmul(ctx, weights, value)
    if of_query is not None:
        result = where(Term(ctx, of_query).reshape(*shape_of(of_query), 1), Term(ctx, result), 0.0).value
    return result, weights


def _tuple(ctx: Context, result: SSAValue, weights: SSAValue, index: int) -> tuple[SSAValue, ...]:
    return (result, weights) if ctx.argument(index, "return_attention_scores", False) is True else (result,)


def _pairs(ctx: Context, query: SSAValue, key: SSAValue) -> Term:
    """(batch, queries, keys, size): the sum of each query and each key."""
    return Term(ctx, ctx.emit(ExpandDimsOp, query, axis=2)) + Term(ctx, ctx.emit(ExpandDimsOp, key, axis=1))


def attention(ctx: Context) -> tuple[SSAValue, ...]:
    mode = ctx.choice("score_mode", ("dot", "concat"), "dot")

    def score(query: SSAValue, key: SSAValue) -> Term:
        scale = Term(ctx, ctx.weight("scale", ())) if ctx.has_weight("scale") else None
        if mode == "dot":
            product = Term(ctx, batch_matmul(ctx, query, transposed(ctx, key)))
            return product if scale is None else product * scale
        both = _pairs(ctx, query, key)
        total = tanh(both if scale is None else both * scale).apply(SumOp, axis=(-1,), keepdims=False)
        return total * Term(ctx, ctx.weight("concat_score_weight", ()))

    return _tuple(ctx, *_attended(ctx, score), 3)


def additive_attention(ctx: Context) -> tuple[SSAValue, ...]:
    def score(query: SSAValue, key: SSAValue) -> Term:
        both = tanh(_pairs(ctx, query, key))
        if ctx.has_weight("scale"):
            both = both * Term(ctx, ctx.weight("scale", shape_of(query)[-1:]))
        return both.apply(SumOp, axis=(-1,), keepdims=False)

    return _tuple(ctx, *_attended(ctx, score), 3)


def _projected(ctx: Context, name: str, value: SSAValue, heads: int, size: int) -> SSAValue:
    """(batch, .., features) -> (batch, .., heads, size)."""
    rank, features = len(shape_of(value)), shape_of(value)[-1]
    letters = string.ascii_lowercase[: rank - 1]
    kernel = ctx.weight(f"{name}.kernel", (features, heads, size))
    result = contraction(ctx, f"{letters}x,xyz->{letters}yz", [Term(ctx, value), Term(ctx, kernel)])
    if ctx.has_weight(f"{name}.bias"):
        result = (Term(ctx, result) + Term(ctx, ctx.weight(f"{name}.bias", (heads, size)))).value
    return result


def _mask(ctx: Context, queries: int, keys: int) -> Term | None:
    """The masks of a call, by position, of queries, values and keys, and of pairs of them, as one with heads."""
    window = ctx.option("sliding_window")
    if window is not None:
        window = ctx.int("sliding_window", least=1)
    mask = seen_by_position(ctx, queries, keys, ctx.argument(9, "use_causal_mask", False) is True, window)
    for at, name in ((3, "query_mask"), (4, "value_mask"), (5, "key_mask")):
        if (own := ctx.mask(at, name)) is not None:
            batch, length = shape_of(own)
            shape = (batch, 1, length, 1) if name == "query_mask" else (batch, 1, 1, length)
            mask = _both(mask, Term(ctx, own).reshape(*shape))
    if (own := ctx.mask(6, "attention_mask")) is not None:
        term = Term(ctx, own)
        mask = _both(mask, term.reshape(term.shape[0], 1, *term.shape[1:]) if len(term.shape) == 3 else term)
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
    argument, value = ctx.data(0, "query"), ctx.data(1, "value")
    key = ctx.optional(2, "key") or value
    own = shape_of(argument)
    rank = len(own)
    axes = ctx.option("attention_axes")
    every = tuple(range(1, rank - 1))
    if axes is not None and tuple(ctx.axis(axis, rank) for axis in axes) != every:
        ctx.fail("attention over all axes between batch and features", f"attention_axes {axes}")
    q = _projected(ctx, "query_dense", argument, heads, size)
    k, v = _projected(ctx, "key_dense", key, groups, size), _projected(ctx, "value_dense", value, groups, width)

    def flat(tensor: SSAValue) -> SSAValue:
        batch, *inner, number, extent = shape_of(tensor)
        return reshaped(ctx, tensor, (batch, prod(inner), number, extent))

    scores_wanted = ctx.argument(7, "return_attention_scores", False) is True
    q, k, v = (ctx.emit(TransposeOp, flat(tensor), axes=(0, 2, 1, 3)) for tensor in (q, k, v))
    mask = _mask(ctx, shape_of(q)[2], shape_of(k)[2])
    # Keras weighs the keys of a query that sees none with 0, or, where it takes a kernel of its backend, all alike.
    empty = mask is not None and (scores_wanted or rank != 3 or ctx.option("dropout", 0.0) != 0)
    bias = hidden(ctx, mask, q, -np.inf if empty else lowest(dtype_of(q)))
    weights = Scores(ctx, q, k, bias=bias, may_be_empty=empty).compute()
    heads_last = ctx.emit(TransposeOp, weighted(ctx, weights, v), axes=(0, 2, 1, 3))
    result = reshaped(ctx, heads_last, (*own[:-1], heads, width))
    if ctx.flag("use_gate", False):
        gate = sigmoid(Term(ctx, _projected(ctx, "gate_dense", argument, heads, width)))
        result = (Term(ctx, result) * gate).value
    kernel = ctx.weight("output_dense.kernel")
    outputs = shape_of(kernel)[2:]
    ctx.weight_place("output_dense.kernel", (heads, width, *outputs))
    letters, after = string.ascii_lowercase[: rank - 1], string.ascii_uppercase[: len(outputs)]
    result = contraction(ctx, f"{letters}yz,yz{after}->{letters}{after}", [Term(ctx, result), Term(ctx, kernel)])
    if ctx.has_weight("output_dense.bias"):
        result = (Term(ctx, result) + Term(ctx, ctx.weight("output_dense.bias", outputs))).value
    return (result, weights) if scores_wanted else (result,)


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
