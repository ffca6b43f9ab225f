# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Decompositions of the operators that torch calls for whole layers in inference and does not decompose itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_BY_KEY = 1
"""The kind of a mask of shape [batch, keys]. Others are [queries, keys] and [batch, heads, queries, keys]."""


def _kept(mask: Tensor | None, kind: int | None) -> Tensor | None:
    """Return the mask of the positions that attention reads, to broadcast over heads; torch's mask is the opposite."""
    if mask is None:
        return None
    kept = mask == 0
    return kept[:, None, None, :] if kind == _BY_KEY else kept


def _attention(
    query: Tensor, heads: int, qkv: tuple[Tensor, Tensor], out: tuple[Tensor, Tensor], kept: Tensor | None
) -> Tensor:
    """Attention of a tensor [batch, length, features] to itself, with its projections."""
    parts = functional.linear(query, *qkv).unflatten(2, (3, heads, -1))
    q, k, v = (parts.select(2, at).transpose(1, 2) for at in range(3))
    mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=kept)
    return functional.linear(mixed.transpose(1, 2).flatten(2), *out)


def _encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """A layer of a transformer's encoder: attention, two dense layers, and a normalization before or after each."""
    kept = _kept(mask, mask_type)

    def first(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    def attended(x: Tensor) -> Tensor:
        return _attention(x, num_heads, (qkv_weight, qkv_bias), (proj_weight, proj_bias), kept)

    def dense(x: Tensor) -> Tensor:
        inner = functional.linear(x, ffn_weight_1, ffn_bias_1)
        inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(inner, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attended(first(src))
        return x + dense(second(x))
    x = first(src + attended(src))
    return second(x + dense(x))


def _multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Attention of a tensor to itself; other kinds stay whole."""
    if need_weights or query is not key or query is not value:
        return NotImplemented
    kept = _kept(mask, mask_type)
    mixed = _attention(query, num_head, (qkv_weight, qkv_bias), (proj_weight, proj_bias), kept)
    return mixed, query.new_empty((0,))


RULES: Mapping[Any, Callable[..., Any]] = {
    torch.ops.aten._native_multi_head_attention.default: _multi_head_attention,
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer,
}
"""Operator -> its decomposition."""
