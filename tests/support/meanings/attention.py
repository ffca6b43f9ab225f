# pyright: basic
"""Attention: scales, masks of truth values and of numbers, causal ones, heads that queries share."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning

_RNG = np.random.default_rng(15)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


def attention(query: Array, key: Array, value: Array, *masks: Array, causal: bool, scale: float | None) -> Array:
    """Return the means of values (batch, heads, keys, size) that queries and keys weigh; masks say what counts."""
    heads = query.shape[1] // key.shape[1]
    key, value = (np.repeat(part.astype(np.float64), heads, 1) for part in (key, value))
    scores = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    for mask in masks:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ value).astype(np.float32)


def _packed(x: Array) -> Array:
    """Return heads (batch, heads, length, size) beside each other: (batch, length, heads * size)."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def _of_packed(query: Array, key: Array, value: Array, **options: Any) -> Array:
    heads = [part.reshape(*part.shape[:2], -1, 6).transpose(0, 2, 1, 3) for part in (query, key, value)]
    return _packed(attention(*heads, **options))


def _capped(query: Array, key: Array, value: Array) -> Array:
    """Return attention with scores held between -3 and 3 by a tangent."""
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5
    weights = np.exp(3 * np.tanh(scores / 3))
    return (weights / weights.sum(-1, keepdims=True) @ value).astype(np.float32)


def _case(label: str, *masks: Array, queries: int = 4, keys: int = 4, heads: int = 2, shared: int = 2,
          causal: bool = False, scale: float | None = None) -> Case:  # fmt: skip
    arrays = [_random(2, heads, queries, 6), _random(2, shared, keys, 6), _random(2, shared, keys, 6)]
    return Case(label, [*arrays, *masks], {"causal": causal, "scale": scale})


_SEEN = _RNG.integers(0, 2, (2, 1, 4, 5)).astype(bool)
_SEEN[..., 0] = True
_LENGTHS = np.arange(5) < np.array([2, 5])[:, None, None, None]
_BIAS = _random(2, 2, 4, 5)
_BIAS[0, 0, :, 3] = -np.inf
_PLAIN = [_case("plain", keys=5), _case("scaled", scale=0.25), _case("causal", causal=True),
          _case("causal of more keys", keys=6, causal=True), _case("causal of more queries", queries=6,
              causal=True)]  # fmt: skip
_MASKED = [_case("mask", _SEEN, keys=5), _case("key lengths", np.broadcast_to(_LENGTHS, (2, 1, 4, 5)).copy(), keys=5)]
_BIASED = [_case("bias", _BIAS, keys=5), _case("bias of a row", _BIAS[:1, :1, :1, :].copy() * 2, keys=5, scale=1.0)]
_SHARED = [_case("grouped", keys=5, heads=4), _case("of one head", keys=5, heads=4, shared=1),
           _case("grouped, causal", heads=4, causal=True)]  # fmt: skip


def _onnx(net: Any, query: Any, key: Any, value: Any, *masks: Any, causal: bool, scale: float | None) -> Any:
    more = {} if scale is None else {"scale": scale}
    return net("Attention", query, key, value, *masks, is_causal=int(causal), **more)


def _torch(net: Any, query: Any, key: Any, value: Any, *masks: Any, causal: bool, scale: float | None) -> Any:
    more: dict[str, Any] = {} if scale is None else {"scale": scale}
    more |= {"attn_mask": masks[0]} if masks else {}
    more |= {"enable_gqa": True} if key.shape[1] != query.shape[1] else {}
    return net("aten.scaled_dot_product_attention.default", query=query, key=key, value=value, is_causal=causal, **more)


def _keras(net: Any, query: Any, key: Any, value: Any, *masks: Any, causal: bool, scale: float | None) -> Any:
    turned = [net("Transpose", part, axes=[0, 2, 1, 3]) for part in (query, key, value)]
    truth = bool(masks) and masks[0].dtype == np.bool_
    bias, mask = (None, masks[0]) if truth else (masks[0] if masks else None, None)
    result = net("DotProductAttention", *turned, bias, mask, scale, is_causal=causal)
    return net("Transpose", result, axes=[0, 2, 1, 3])


def _packed_onnx(net: Any, query: Any, key: Any, value: Any, causal: bool, scale: float | None) -> Any:
    heads = query.shape[-1] // 6
    more = {} if scale is None else {"scale": scale}
    return net("Attention", query, key, value, q_num_heads=heads, kv_num_heads=heads, is_causal=int(causal), **more)


def _packed_microsoft(net: Any, query: Any, key: Any, value: Any, causal: bool, scale: float | None) -> Any:
    more = {} if scale is None else {"scale": scale}
    return net("MultiHeadAttention", query, key, value, domain="com.microsoft", num_heads=query.shape[-1] // 6,
               unidirectional=int(causal), **more)  # fmt: skip


_BY = {"onnx": _onnx, "torch": _torch, "keras": _keras}
_HIDDEN = _SEEN.copy()
_HIDDEN[0, 0, 1] = False


def _hidden(nothing: Any) -> Any:
    def expected(query: Array, key: Array, value: Array, mask: Array, **options: Any) -> Array:
        result = attention(query, key, value, mask, **options)
        result[0, :, 1] = value[0].mean(1) if nothing == "mean" else nothing
        return result

    return expected


_PACKED = [Case(case.name, [_packed(x) for x in case.inputs], case.options)
           for case in (*_PLAIN[:3], _case("one head", heads=1, shared=1, scale=1.0))]  # fmt: skip
_ALONE = [Case("one head", [_packed(x) for x in case.inputs], {})
          for case in [_case("", heads=1, shared=1, keys=5)]]  # fmt: skip


_NOTHING = [_case("a row that sees nothing", _HIDDEN, keys=5)]
TABLE = [
    Meaning("attention", attention, _PLAIN, _BY, note="causal: query i sees keys up to i, however many there are"),
    Meaning("attention_masked", attention, _MASKED, _BY),
    Meaning("attention_biased", attention, _BIASED, _BY),
    Meaning("attention_of_shared_heads", attention, _SHARED, _BY),
    Meaning("attention_of_packed_heads", _of_packed, _PACKED, {
        "onnx": _packed_onnx, "onnx microsoft": _packed_microsoft}),
    Meaning("attention_without_scale", lambda *parts: _of_packed(*parts, causal=False, scale=1.0), _ALONE, {
        "keras": lambda net, query, key, value: net.layer(
            "Attention", [query, value, key], use_scale=False, score_mode="dot", dropout=0.0),
        "torch": lambda net, query, key, value: _torch(net, query, key, value, causal=False, scale=1.0),
        "onnx": lambda net, query, key, value: _packed_onnx(net, query, key, value, False, 1.0)},
            note="the layer of Keras does not scale"),
    Meaning("attention_capped", _capped, [Case("plain", _case("").inputs)], {
        "onnx": lambda net, query, key, value: net("Attention", query, key, value, softcap=3.0),
        "keras": lambda net, query, key, value: net("Transpose", net(
            "DotProductAttention", *(net("Transpose", part, axes=[0, 2, 1, 3]) for part in (query, key, value)),
            attn_logits_soft_cap=3.0), axes=[0, 2, 1, 3])}),
    Meaning("attention_of_nothing_is_0", _hidden(0), _NOTHING, {"torch": _torch, "onnx": _onnx}),
    Meaning("attention_of_nothing_is_the_mean", _hidden("mean"), _NOTHING, {"keras": _keras}),
]  # fmt: skip
