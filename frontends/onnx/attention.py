"""Attention: products, softmax and what is between them; positions turned by RotaryEmbedding stand beside."""

from __future__ import annotations

import numpy as np
from onnx import helper

from ...dialects.relay.transform import PadOp
from ...dialects.sizes import UndecidedSize, decide
from ..importing.attributes import Flag, Float, Int
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.attention import (
    added,
    attended,
    behind,
    bias_of,
    masked,
    merge_heads,
    score_dtype,
    split_heads,
    visible,
    within,
)
from .context import Context


def _bias_of_mask(mask: Term, keys: int, dtype: np.dtype[np.generic]) -> Term:
    """The bias that a mask is, which may be of less keys than there are: it hides the others."""
    bias = bias_of(mask, dtype)
    missing = keys - bias.shape[-1]
    if decide(missing, "<=", 0) is None:
        raise UndecidedSize(f"whether {bias.shape[-1]} are {keys} keys", (bias.shape[-1], keys))
    return bias.apply(PadOp, -np.inf, pad_width=[*[0] * (2 * len(bias.shape) - 1), missing]) if missing > 0 else bias


def _attention(
    ctx: Context,
    query: Term,
    key: Term,
    value: Term,
    mask: Term | None,
    past_key: Term | None,
    past_value: Term | None,
    lengths: Term | None,
    causal: bool,
    left: int,
    right: int,
    heads: int,
    key_heads: int,
    scale: float | None,
    softcap: float,
    precision: int | None,
    mode: int,
) -> tuple[Term, ...]:
    """Y, the keys and values with those of the past, and the scores as `mode` says.

    Modes 1 and 2 are those of the standard as corrected after its release 1.19: after softcap, and after the bias.
    """
    if flat := len(query.shape) == 3:
        query, key, value = (split_heads(x, n) for x, n in ((query, heads), (key, key_heads), (value, key_heads)))
    key, value = behind(past_key, key), behind(past_value, value)
    rows = key.shape[:-1], value.shape[:-1]
    for a, b in zip(*rows, strict=False):
        ctx.require_equal(a, b)
    if rows[0] != rows[1]:
        ctx.fail("as many values as keys", f"{list(value.shape)} and {list(key.shape)}")
    queries, keys, dtype = query.shape[2], key.shape[2], score_dtype(query)
    bias, may_be_empty = None if mask is None else _bias_of_mask(mask, keys, dtype), mask is not None
    offset: int | Term = 0 if past_key is None else past_key.shape[2]
    if lengths is not None:
        lengths = lengths.to("int64")
        offset = lengths.reshape(lengths.shape[0], 1, 1, 1) - queries
    ends = [*([right] if right >= 0 else []), *([0] if causal else [])]
    if frontier := visible(ctx, queries, keys, -left if left >= 0 else None, min(ends, default=None), offset):
        bias, may_be_empty = added(bias, masked(frontier.seen, dtype)), may_be_empty or frontier.some_see_none
    if lengths is not None:
        bias, may_be_empty = added(bias, masked(within(keys, lengths), dtype)), True
    wider = None if precision is None else helper.tensor_dtype_to_np_dtype(precision)
    result, steps = attended(
        *(query, key, value, bias, scale), softcap=softcap, may_be_empty=may_be_empty, precision=wider
    )
    if not 0 <= mode < len(steps):
        ctx.fail("qk_matmul_output_mode 0, 1, 2 or 3", str(mode))
    return merge_heads(result) if flat else result, key, value, steps[mode].to(query.dtype)


TABLE = {
    "Attention": row(
        _attention,
        "Q K V attn_mask? past_key? past_value? nonpad_kv_seqlen?",
        causal=Flag(False, name="is_causal", others=False),
        left=Int(-1, name="left_window_size"),
        right=Int(-1, name="right_window_size"),
        heads=Int(0, name="q_num_heads"),
        key_heads=Int(0, name="kv_num_heads"),
        scale=Float(None),
        softcap=Float(0.0),
        precision=Int(None, name="softmax_precision"),
        mode=Int(0, name="qk_matmul_output_mode"),
    ),
}
