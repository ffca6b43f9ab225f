"""Attention: products, softmax and what is between them; positions turned by RotaryEmbedding stand beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, LessOp
from ...dialects.relay.transform import ConcatenateOp, PadOp, ReshapeOp, TransposeOp
from ...dialects.sizes import UndecidedSize, decide
from ..importing.attention import (
    Scores,
    added,
    as_wide,
    cast_to,
    distance,
    frontier,
    infinite,
    masked,
    weighted,
)
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, places
from .context import Context

Heads = tuple[SSAValue, SSAValue, SSAValue]
"""Query, key and value, (batch, heads, length, size)."""


def split_heads(ctx: Context, value: SSAValue, heads: int) -> SSAValue:
    """(batch, length, heads * size) -> (batch, heads, length, size)."""
    batch, length, hidden = shape_of(value)
    if heads < 1 or hidden % heads:
        ctx.fail(f"a hidden size that {heads} heads share", str(hidden))
    apart = ctx.emit(ReshapeOp, value, newshape=(batch, length, heads, hidden // heads))
    return ctx.emit(TransposeOp, apart, axes=(0, 2, 1, 3))


def merge_heads(ctx: Context, value: SSAValue) -> SSAValue:
    """(batch, heads, length, size) -> (batch, length, heads * size)."""
    batch, heads, length, size = shape_of(value)
    together = ctx.emit(TransposeOp, value, axes=(0, 2, 1, 3))
    return ctx.emit(ReshapeOp, together, newshape=(batch, length, heads * size))


@dataclass
class _Frontier:
    """The keys that a query sees by its position: `at_least <= key - query - offset <= at_most`."""

    ctx: Context
    queries: int
    keys: int
    at_least: int | None
    at_most: int | None

    def per_batch(self, offset: SSAValue, bias: SSAValue | None, like: SSAValue) -> SSAValue | None:
        """The bias with that of an int64 offset (batch, 1, 1, 1)."""
        far: Any = distance(self.ctx, self.queries, self.keys)
        if self.at_most is not None:
            # far - offset <= at_most
            allowed = self.ctx.emit(LessOp, self._placed(far - self.at_most - 1), offset)
            bias = added(self.ctx, bias, masked(self.ctx, allowed, like))
        if self.at_least is not None:
            allowed = self.ctx.emit(LessOp, offset, self._placed(far - self.at_least + 1))
            bias = added(self.ctx, bias, masked(self.ctx, allowed, like))
        return bias

    def _placed(self, far: Any) -> SSAValue:
        return far.value if isinstance(far, Term) else self.ctx.constant(far, "places")


def _bias(ctx: Context, query: SSAValue, keys: int, past: int) -> tuple[SSAValue | None, bool]:
    """Return the bias of the scores, and whether it may leave a query without keys."""
    queries = shape_of(query)[2]
    bias, open_ended = None, False
    if ctx.has(3):
        bias, open_ended = ctx.value(3), True
        bias = masked(ctx, bias, query) if dtype_of(bias) == np.bool_ else cast_to(ctx, bias, dtype_of(query))
        missing = keys - shape_of(bias)[-1]
        if decide(missing, "<=", 0) is None:
            raise UndecidedSize(f"whether {shape_of(bias)[-1]} are {keys} keys", (shape_of(bias)[-1], keys))
        if missing > 0:
            width = [0] * (2 * len(shape_of(bias)) - 1) + [missing]
            bias = ctx.emit(PadOp, bias, infinite(ctx, bias), pad_width=width)
    left, right = ctx.int("left_window_size", -1), ctx.int("right_window_size", -1)
    ends = [] if right < 0 else [right]
    if ctx.is_one("is_causal"):
        ends.append(0)
    at_least, at_most = None if left < 0 else -left, min(ends, default=None)
    if ctx.has(6):
        batch = shape_of(query)[0]
        length = reshaped(ctx, ctx.value(6), (batch, 1, 1, 1))
        length = cast_to(ctx, length, np.dtype(np.int64))
        offset = ctx.emit(AddOp, length, ctx.scalar(-queries, length))
        bias = _Frontier(ctx, queries, keys, at_least, at_most).per_batch(offset, bias, query)
        inside = ctx.emit(LessOp, places(ctx, keys).value, length)
        return added(ctx, bias, masked(ctx, inside, query)), True
    if at_least is not None or at_most is not None:
        steps, empty = frontier(ctx, distance(ctx, queries, keys, past), at_least, at_most, query)
        bias, open_ended = added(ctx, bias, steps), open_ended or empty
    return bias, open_ended


def attention(ctx: Context) -> tuple[SSAValue, ...]:
    """Y, the keys and values with those of the past, and the scores as `qk_matmul_output_mode` says.

    Modes 1 and 2 are those of the standard as corrected after its release 1.19: after softcap, and after the bias.
    """
    flat = len(ctx.shape(0)) == 3
    query, key, value = (ctx.value(index) for index in range(3))
    if flat:
        heads, key_heads = ctx.int("q_num_heads", 0), ctx.int("kv_num_heads", 0)
        query = split_heads(ctx, query, heads)
        key, value = split_heads(ctx, key, key_heads), split_heads(ctx, value, key_heads)
    past = ctx.shape(4)[2] if ctx.has(4) else 0
    if ctx.has(4):
        key = ctx.emit(ConcatenateOp, [ctx.value(4), key], axis=2)
        value = ctx.emit(ConcatenateOp, [ctx.value(5), value], axis=2)
    own, caches, rows = dtype_of(query), (key, value), (shape_of(key)[:-1], shape_of(value)[:-1])
    for a, b in zip(*rows, strict=False):
        ctx.require_equal(a, b)
    if rows[0] != rows[1]:
        ctx.fail("as many values as keys", f"{list(shape_of(value))} and {list(shape_of(key))}")
    # Half precision is computed in float32 from the first product to the last.
    query, key, value = (as_wide(ctx, tensor) for tensor in (query, key, value))
    bias, may_be_empty = _bias(ctx, query, shape_of(key)[2], past)
    scale = ctx.float("scale", 0.0) if ctx.has_attribute("scale") else None
    precision = None
    if ctx.has_attribute("softmax_precision"):
        precision = helper.tensor_dtype_to_np_dtype(ctx.int("softmax_precision", 1))
    scores = Scores(ctx, query, key, scale, ctx.float("softcap", 0.0), bias, may_be_empty, precision)
    result = weighted(ctx, scores.compute(), value)
    if flat:
        result = merge_heads(ctx, result)
    mode = ctx.int("qk_matmul_output_mode", 0)
    if not 0 <= mode <= 3:
        ctx.fail("qk_matmul_output_mode 0, 1, 2 or 3", str(mode))
    return cast_to(ctx, result, own), *caches, cast_to(ctx, scores.steps[mode], own)


TABLE = {
    "Attention": Converter(attention, unread=dict.fromkeys(("q_num_heads", "kv_num_heads"), "of three dimensions")),
}
