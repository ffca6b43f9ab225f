"""MoE and QMoE: mixtures of experts. Each expert computes all tokens, and those that do not go to it weigh nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import MinimumOp, ReluOp
from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.sorting import TopKOp
from ..importing.converter import Converter
from ..importing.terms import Term, constant, sigmoid, wide_term
from ..meanings.activations import gelu_tanh
from ..meanings.moves import swap_last
from ..meanings.products import matmul
from ..meanings.slices import cut, split
from .context import Context
from .known import filled_value
from .matmul_nbits import unpacked

Layer: TypeAlias = Callable[[Term, int], "Term | None"]
"""Rows (experts or 1, tokens, inputs), and the number of a layer from 0 on -> (experts, tokens, outputs); None without
that layer."""


def moe(ctx: Context) -> SSAValue:
    """The sum, over the `k` most probable experts of each token, of what their layers make of it, by probability."""

    def layer(rows: Term, number: int) -> Term | None:
        weight, bias = 2 + 2 * number, 3 + 2 * number
        return _products(ctx, rows, wide_term(ctx, weight), bias) if ctx.has(weight) else None

    return _mixture(ctx, layer, _shares(ctx, 1, ctx.is_one("normalize_routing_weights")))


def qmoe(ctx: Context) -> SSAValue:
    """`moe` with weights of integers, each with a scale, and perhaps a zero point, of its row or of a block of it."""
    if (kind := ctx.word("quant_type", "int")) != "int":
        ctx.fail("quant_type int", repr(kind))
    if (packed := ctx.int("weights_prepacked", -1)) not in (-1, 0):
        ctx.fail("weights_prepacked 0, weights as they are", str(packed))

    def layer(rows: Term, number: int) -> Term | None:
        weight = 2 + 3 * number
        return _products(ctx, rows, _dequantized(ctx, number), weight + 2) if ctx.has(weight) else None

    normalized = ctx.is_one("normalize_routing_weights")
    return _mixture(ctx, layer, _shares(ctx, 14, normalized) if ctx.has(14) else _shares(ctx, 1, True))


def _dequantized(ctx: Context, number: int) -> Term:
    """The weights (experts, outputs, inputs) of a layer of a QMoE: `(number - zero point) * scale`."""
    index, block = 2 + 3 * number, ctx.int("block_size", 0)
    bits = ctx.int(f"fc{number + 1}_expert_weight_bits", ctx.int("expert_weight_bits", 4))
    if bits not in (2, 4, 8):
        ctx.fail("weights of 2, 4 or 8 bits", str(bits))
    packed, scales = ctx.array(index, "weights"), ctx.array(index + 1, "scales").astype(np.float32)
    experts, outputs, width = packed.shape
    inputs = width * 8 // bits
    blocks = inputs // block if block > 0 else 1
    if scales.size != experts * outputs * blocks:
        ctx.fail(f"scales of [{experts}, {outputs}, {blocks}]", str(list(scales.shape)))
    zeros = np.full((experts, outputs, blocks), 1 << (bits - 1), np.float32)
    if ctx.has(11 + number):
        points = ctx.array(11 + number, "zero points")
        wide = points.reshape(experts, outputs, -1) if block > 0 else points.reshape(experts, 1, -1)
        count = blocks if block > 0 else outputs
        zeros = unpacked(wide, bits, count).reshape(experts, outputs, blocks).astype(np.float32)
    apart = unpacked(packed, bits, inputs).reshape(experts, outputs, blocks, -1).astype(np.float32)
    real = (apart - zeros[..., None]) * scales.reshape(experts, outputs, blocks, 1)
    return constant(ctx, real.reshape(experts, outputs, inputs), f"{ctx.tensor(index).name}.unpacked")


def _mixture(ctx: Context, layer: Layer, shares: Term) -> SSAValue:
    """The layers of all experts, of which each token takes its shares (tokens, experts)."""
    data, experts = wide_term(ctx, 0), ctx.shape(1)[1]
    rows = data.reshape(1, prod(data.shape[:-1]), data.shape[-1])
    inner = _needed(ctx, layer(rows, 0))
    match kind := ctx.word("activation_type", "relu"):
        case "relu":
            inner = inner.apply(ReluOp)
        case "gelu":
            inner = gelu_tanh(inner)
        case "silu":
            inner = inner * sigmoid(inner)
        case "identity":
            pass
        case "swiglu":
            inner = _swiglu(ctx, inner, layer, rows)
        case _:
            ctx.fail("activation_type relu, gelu, silu, swiglu or identity", repr(kind))
    if kind != "swiglu" and (third := layer(rows, 2)) is not None:
        inner = inner * third
    outputs = _needed(ctx, layer(inner, 1))
    total = (outputs * swap_last(shares).reshape(experts, rows.shape[1], 1)).sum(0)
    return total.reshape(*data.shape).to(ctx.dtype(0)).value


def _needed(ctx: Context, layer: Term | None) -> Term:
    if layer is None:
        ctx.fail("weights of all layers", "none of one")
    return layer


def _products(ctx: Context, rows: Term, weight: Term, bias: int) -> Term:
    """The products (experts, tokens, outputs) with weights (experts, outputs, inputs), and biases, input `bias`."""
    total = matmul(rows, weight, transpose_right=True)
    if not ctx.has(bias):
        return total
    experts, outputs = ctx.shape(bias)
    return total + wide_term(ctx, bias).reshape(experts, 1, outputs)


def _swiglu(ctx: Context, inner: Term, layer: Layer, rows: Term) -> Term:
    """`G sigmoid(alpha G) (L + beta)` of a gate and a line: of one layer, every other of its outputs or its halves, or
    of two layers."""
    axis, units = len(inner.shape) - 1, inner.shape[-1]
    match ctx.int("swiglu_fusion", 0):
        case 0:
            gate, line = inner, _needed(ctx, layer(rows, 2))
        case 1:
            gate, line = (cut(inner, axis, start, units, 2) for start in (0, 1))
        case 2:
            gate, line = split(inner, axis, 2)
        case other:
            ctx.fail("swiglu_fusion 0, 1 or 2", str(other))
    limit = ctx.float("swiglu_limit", math.inf)
    if limit < math.inf:
        gate, line = gate.apply(MinimumOp, limit), line.clip(-limit, limit)
    alpha, beta = ctx.float("activation_alpha", 1.0), ctx.float("activation_beta", 0.0)
    return gate * sigmoid(gate * alpha) * (line + beta)


def _shares(ctx: Context, weights: int, normalized: bool) -> Term:
    """Return the weight of each expert for each token: 0 unless it is among the `k` most probable.

    weights: the input with the weights of those that input 1 chooses. normalized: True if those of a token make 1.
    """
    if ctx.int("use_sparse_mixer", 0):
        ctx.fail("use_sparse_mixer 0", "1")
    tokens, experts = ctx.shape(1)
    k = ctx.int("k", 1)
    if not 1 <= k <= experts:
        ctx.fail(f"k in [1, {experts}]", str(k))
    shares = wide_term(ctx, 1).apply(SoftmaxOp, axis=-1)
    values, places = ctx.emit_all(TopKOp, shares.value, k=k, axis=-1, dtype="int64")
    most = Term(ctx, values)
    if weights != 1:
        most = wide_term(ctx, weights).apply(GatherOp, Term(ctx, places), axis=1)
    if normalized:
        most = most / most.sum(1)
    none = filled_value(ctx, np.zeros((), most.dtype), (tokens, experts), "none")
    return Term(ctx, ctx.emit(ScatterElementsOp, none, places, most.value, axis=1))


_ACTIVATION: dict[str, str] = dict.fromkeys(
    ("activation_alpha", "activation_beta", "swiglu_fusion", "swiglu_limit"), "of swiglu"
)
MICROSOFT = {
    "MoE": Converter(moe, unread=_ACTIVATION),
    "QMoE": Converter(qmoe, unread={**_ACTIVATION, "accuracy_level": "allows to round data, which stay as they are"}),
}
