"""The attention of com.microsoft, which onnxruntime's transformer optimiser writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from ...dialects.relay.nn import LayerNormOp
from ...dialects.relay.transform import SumOp, TakeOp
from ...dialects.sizes import same_shape
from ..importing.attributes import Flag, Float, Int, Ints
from ..importing.converter import Result
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import products
from ..meanings.attention import (
    added,
    attended,
    behind,
    heads_first,
    masked,
    merge_heads,
    score_dtype,
    split_heads,
    visible,
    within,
)
from ..meanings.moves import stack
from ..meanings.norms import affine
from ..meanings.slices import cut, element
from .context import Context
from .known import filled


def _seen(mask: Term, query: Term, keys: int) -> Term:
    """True at the keys that take part, (batch or 1, 1, queries or 1, keys).

    mask: what is not 0 where a key does, (batch, keys), (batch, queries, keys) or (batch, 1, queries, keys); or the
    number of keys of each sequence (batch), or their ends and then their starts (2 * batch).
    """
    shape, (batch, _, queries, _) = mask.shape, query.shape
    if same_shape(shape, (batch,)):
        return within(keys, mask)
    if same_shape(shape, (2 * batch,)):
        return within(keys, cut(mask, 0, 0, batch), cut(mask, 0, batch, 2 * batch))
    if len(shape) == 1:
        mask.ctx.fail(f"a mask of {batch} sequences", str(list(shape)))
    wide = {2: (*shape[:1], 1, 1, *shape[1:]), 3: (*shape[:1], 1, *shape[1:])}.get(len(shape), shape)
    if len(wide) != 4 or wide[2] not in (1, queries) or wide[3] != keys:
        mask.ctx.fail(f"a mask of {keys} keys", str(list(shape)))
    return mask.to("bool").reshape(*wide)


def _bias_of(
    query: Term, keys: int, past: int, mask: Term | None, more: Term | None, causal: bool, outside: float
) -> Term | None:
    """The bias of scores: `outside`, a large negative number, where the mask hides keys; keys behind the query; `more`.

    past: the keys before those of the first query.
    """
    dtype = score_dtype(query)
    bias = None if mask is None else masked(_seen(mask, query, keys), dtype, outside)
    if causal and (frontier := visible(query.ctx, query.shape[2], keys, None, 0, past)):
        bias = added(bias, masked(frontier.seen, dtype))
    return added(bias, None if more is None else more.to(dtype))


def _attention(
    x: Term, weight: Term, bias: Term | None, mask: Term | None, past: Term | None, more: Term | None, **attributes: Any
) -> tuple[Term, ...]:
    """The input times the weights of query, key and value at once; present keys and values are one tensor."""
    return projected_attention(affine(products.matmul(x, weight), None, bias), mask, past, more, **attributes)


def projected_attention(
    total: Term,
    mask: Term | None,
    past: Term | None,
    more: Term | None,
    heads: int,
    sizes: Sequence[int] | None,
    scale: float,
    causal: bool,
    outside: float,
) -> tuple[Term, ...]:
    """`attention` of query, key and value, which are one tensor (batch, length, sizes); more: the bias of scores."""
    ctx = cast(Context, total.ctx)
    ctx.only("do_rotary", 0)
    ctx.only("past_present_share_buffer", 0)
    first, second, third = sizes or (total.shape[2] // 3,) * 3
    ends = (0, first, first + second, first + second + third)
    query, key, value = (split_heads(cut(total, 2, begin, end), heads) for begin, end in pairwise(ends))
    if past is not None:
        key, value = (behind(element(past, 0, at), x) for at, x in enumerate((key, value)))
    bias = _bias_of(query, key.shape[2], 0 if past is None else past.shape[3], mask, more, causal, outside)
    # Zero says that there is no scale, too.
    result = merge_heads(attended(query, key, value, bias, scale or None)[0])
    if not any(ctx.node.output[1:]):
        return (result,)
    return result, stack(key, value, axis=0)


def _multi_head_attention(
    query: Term,
    key: Term | None,
    value: Term | None,
    biases: Term | None,
    mask: Term | None,
    more: Term | None,
    past_key: Term | None,
    past_value: Term | None,
    heads: int,
    scale: float,
    causal: bool,
    outside: float,
) -> tuple[Term, ...]:
    """Query, key and value apart or packed, with biases, padding mask, bias of scores (`more`) and past."""
    parts = _unpacked(query, key, value, heads)
    parts = parts if biases is None else _biased(parts, biases)
    query, key, value = (split_heads(x, heads) if len(x.shape) == 3 else x for x in parts)
    key, value = behind(past_key, key), behind(past_value, value)
    past = 0 if past_key is None else past_key.shape[2]
    bias = _bias_of(query, key.shape[2], past, mask, more, causal, outside)
    result, steps = attended(query, key, value, bias, scale or None)
    return merge_heads(result), key, value, steps.product.to(query.dtype)


def _unpacked(query: Term, key: Term | None, value: Term | None, heads: int) -> list[Term]:
    """Query, key and value, each (batch, length, hidden), or (batch, heads, length, size) as they are given."""
    if len(query.shape) == 5:
        # (batch, length, heads, 3, size)
        return [heads_first(element(query, 3, part)) for part in range(3)]
    if key is not None and value is not None:
        return [query, key, value]
    # (batch, length, heads, 2, size)
    if key is None or len(key.shape) != 5 or key.shape[2] != heads:
        query.ctx.fail("a value, or keys and values packed", "none" if key is None else str(list(key.shape)))
    return [query, *(heads_first(element(key, 3, part)) for part in range(2))]


def _biased(parts: Sequence[Term], biases: Term) -> list[Term]:
    """Each with its part of the biases, which follow each other."""
    start, results = 0, list[Term]()
    for x in parts:
        *_, last = x.shape
        size = last if len(x.shape) == 3 else x.shape[1] * last
        bias = cut(biases, 0, start, start + size)
        results.append(x + (bias if len(x.shape) == 3 else bias.reshape(x.shape[1], 1, last)))
        start += size
    return results


def _embed_layer_norm(
    ctx: Context,
    ids: Term,
    segments: Term | None,
    words: Term,
    positions: Term,
    kinds: Term | None,
    gamma: Term,
    beta: Term,
    mask: Term | None,
    places: Term | None,
    epsilon: float,
) -> tuple[Result | Term, ...]:
    """The sum of the embeddings of word, position and segment, normalised; how many of each mask's elements are set."""
    batch, length = ids.shape
    rows = cut(positions, 0, 0, length) if places is None else positions.apply(TakeOp, places, axis=0)
    total = words.apply(TakeOp, ids, axis=0) + rows
    if segments is not None and kinds is not None:
        total = total + kinds.apply(TakeOp, segments, axis=0)
    result = total.apply(LayerNormOp, gamma, beta, epsilon=epsilon)
    counts = filled(ctx, np.zeros((), np.int32), (batch,))
    return result, counts if mask is None else mask.apply(SumOp, axis=(1,)).to("int32"), total


_OF_SCORES: Mapping[str, Any] = {
    "heads": Int(0, name="num_heads"),
    "scale": Float(0.0),
    "causal": Flag(False, name="unidirectional", others=False),
    "outside": Float(-10000.0, name="mask_filter_value"),
}
OF_ATTENTION: Mapping[str, Any] = {**_OF_SCORES, "sizes": Ints(None, name="qkv_hidden_sizes")}
"""The attributes of attention whose query, key and value come together."""

MICROSOFT = {
    "Attention": row(
        _attention,
        "input weights bias? mask_index? past? attention_bias?",
        unread={"rotary_embedding_dim": "of do_rotary"},
        **OF_ATTENTION,
    ),
    "EmbedLayerNormalization": row(
        _embed_layer_norm,
        "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? position_ids?",
        unread={"mask_index_type": "says the type of an output, which is int32"},
        epsilon=Float(1e-12),
    ),
    "MultiHeadAttention": row(
        _multi_head_attention,
        "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value?",
        **_OF_SCORES,
    ),
}
