"""MoE: mixtures of experts. Every expert computes every token, and those that a token does not go to weigh nothing."""

from __future__ import annotations

import math
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import MinimumOp, ReluOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import StridedSliceOp, TransposeOp
from ..importing.activations import gelu_tanh
from ..importing.converter import Converter
from ..importing.products import product, transposed
from ..importing.terms import Term, sigmoid, wide_term
from .context import Context
from .known import filled_value


def moe(ctx: Context) -> SSAValue:
    """The sum, over the `k` most probable experts of each token, of what their layers make of it, by probability."""
    data, experts = wide_term(ctx, 0), ctx.shape(1)[1]
    rows = data.reshape(1, prod(data.shape[:-1]), data.shape[-1])
    inner = _layer(ctx, rows, 2, 3)
    match kind := ctx.str("activation_type", "relu"):
        case "relu":
            inner = inner.apply(ReluOp)
        case "gelu":
            inner = gelu_tanh(inner)
        case "silu":
            inner = inner * sigmoid(inner)
        case "identity":
            pass
        case "swiglu":
            inner = _swiglu(ctx, inner, rows)
        case _:
            ctx.fail("activation_type relu, gelu, silu, swiglu or identity", repr(kind))
    if kind != "swiglu" and ctx.has(6):
        inner = inner * _layer(ctx, rows, 6, 7)
    parts = _layer(ctx, inner, 4, 5)
    shares = Term(ctx, ctx.emit(TransposeOp, _shares(ctx).value, axes=(1, 0)))
    total = (parts * shares.reshape(experts, rows.shape[1], 1)).sum(0)
    return total.reshape(*data.shape).to(ctx.dtype(0)).value


def _layer(ctx: Context, rows: Term, weight: int, bias: int) -> Term:
    """The products (experts, tokens, outputs) with weights (experts, outputs, inputs), and biases."""
    total = Term(ctx, product(ctx, rows.value, transposed(ctx, wide_term(ctx, weight).value)))
    if not ctx.has(bias):
        return total
    experts, outputs = ctx.shape(bias)
    return total + wide_term(ctx, bias).reshape(experts, 1, outputs)


def _swiglu(ctx: Context, inner: Term, rows: Term) -> Term:
    """`G sigmoid(alpha G) (L + beta)` of a gate and a line: of one layer, every other of its outputs or its halves, or
    of two layers."""
    units = inner.shape[-1]
    match ctx.int("swiglu_fusion", 0):
        case 0:
            gate, line = inner, _layer(ctx, rows, 6, 7)
        case 1:
            gate, line = (_part(ctx, inner, start, units, 2) for start in (0, 1))
        case 2:
            gate, line = (_part(ctx, inner, start, start + units // 2, 1) for start in (0, units // 2))
        case other:
            ctx.fail("swiglu_fusion 0, 1 or 2", str(other))
    limit = ctx.float("swiglu_limit", math.inf)
    if limit < math.inf:
        gate, line = gate.apply(MinimumOp, limit), line.clip(-limit, limit)
    alpha, beta = ctx.float("activation_alpha", 1.0), ctx.float("activation_beta", 0.0)
    return gate * sigmoid(gate * alpha) * (line + beta)


def _part(ctx: Context, value: Term, begin: int, end: int, stride: int) -> Term:
    axis = len(value.shape) - 1
    cut = ctx.emit(StridedSliceOp, value.value, begin=(begin,), end=(end,), strides=(stride,), axes=(axis,))
    return Term(ctx, cut)


def _shares(ctx: Context) -> Term:
    """Return the weight of each expert for each token: 0 unless it is among the `k` most probable."""
    if ctx.int("use_sparse_mixer", 0):
        ctx.fail("use_sparse_mixer 0", "1")
    tokens, experts = ctx.shape(1)
    k = ctx.int("k", 1)
    if not 1 <= k <= experts:
        ctx.fail(f"k in [1, {experts}]", str(k))
    shares = wide_term(ctx, 1).apply(SoftmaxOp, axis=-1)
    values, places = ctx.emit_all(TopKOp, shares.value, k=k, axis=-1, dtype="int64")
    most = Term(ctx, values)
    if ctx.int("normalize_routing_weights", 0):
        most = most / most.sum(1)
    none = filled_value(ctx, np.zeros((), most.dtype), (tokens, experts), "none")
    return Term(ctx, ctx.emit(ScatterElementsOp, none, places, most.value, axis=1))


MICROSOFT = {"MoE": Converter(moe)}
