"""The attention of com.microsoft, which onnxruntime's transformer optimiser writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, EqualOp, LessOp
from ...dialects.relay.logic import LogicalAndOp, WhereOp
from ...dialects.relay.nn import LayerNormOp
from ...dialects.relay.transform import ConcatenateOp, SqueezeOp, StridedSliceOp, SumOp, TakeOp, TransposeOp
from ...dialects.sizes import same_shape
from ..importing.attention import Scores, added, as_wide, cast_to, distance, frontier, masked, weighted
from ..importing.converter import Converter, Result
from ..importing.products import product, reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import places
from .attention import Heads, merge_heads, split_heads
from .context import Context
from .known import filled


def _cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), axes=(axis,))


def _at(ctx: Context, value: SSAValue, axis: int, index: int) -> SSAValue:
    """The part at `index`, the axis gone."""
    return ctx.emit(SqueezeOp, _cut(ctx, value, axis, index, index + 1), axis=(axis,))


def _joined(ctx: Context, past: SSAValue | None, value: SSAValue) -> SSAValue:
    """Keys or values (batch, heads, length, size) after those of the past."""
    return value if past is None else ctx.emit(ConcatenateOp, [past, value], axis=2)


@dataclass
class _Mask:
    """A mask that leaves keys out: `filter`, a large negative number, is added to their scores."""

    ctx: Context
    query: SSAValue
    keys: int
    filter: float

    @property
    def outside(self) -> SSAValue:
        return self.ctx.scalar(self.filter, self.query)

    def raw(self, mask: SSAValue) -> SSAValue:
        """A mask (batch, keys), (batch, queries, keys) or (batch, 1, queries, keys) of what takes part."""
        ctx, shape = self.ctx, shape_of(mask)
        wide = {2: (*shape[:1], 1, 1, *shape[1:]), 3: (*shape[:1], 1, *shape[1:])}.get(len(shape), shape)
        queries = shape_of(self.query)[2]
        if len(wide) != 4 or wide[2] not in (1, queries) or wide[3] != self.keys:
            ctx.fail(f"a mask of {self.keys} keys", str(list(shape)))
        left_out = ctx.emit(EqualOp, mask, ctx.scalar(0, mask))
        bias = ctx.emit(WhereOp, left_out, self.outside, ctx.scalar(0.0, self.query))
        return reshaped(ctx, bias, wide)

    def lengths(self, count: SSAValue, start: SSAValue | None = None) -> SSAValue:
        """Of each sequence the keys before `count` (batch), from `start` on, take part."""
        ctx, batch = self.ctx, shape_of(count)[0]
        dtype = dtype_of(count).name
        inside = ctx.emit(LessOp, places(ctx, self.keys, dtype=dtype).value, reshaped(ctx, count, (batch, 1, 1, 1)))
        if start is not None:
            before = places(ctx, self.keys, dtype=dtype, start=1).value
            from_start = ctx.emit(LessOp, reshaped(ctx, start, (batch, 1, 1, 1)), before)
            inside = ctx.emit(LogicalAndOp, inside, from_start)
        return masked(ctx, inside, self.query, self.outside)

    def index(self, mask: SSAValue) -> SSAValue:
        """A `mask_index`: raw, or lengths (batch), or ends and then starts (2 * batch)."""
        shape, batch = shape_of(mask), shape_of(self.query)[0]
        if len(shape) > 1:
            return self.raw(mask)
        if same_shape(shape, (batch,)):
            return self.lengths(mask)
        if same_shape(shape, (2 * batch,)):
            ends, starts = _cut(self.ctx, mask, 0, 0, batch), _cut(self.ctx, mask, 0, batch, 2 * batch)
            return self.lengths(ends, starts)
        self.ctx.fail(f"a mask of {batch} sequences", str(list(shape)))

    def causal(self, past: int, window: int = -1) -> SSAValue:
        """Keys behind the query, or more than `window` before it, are left out."""
        far = distance(self.ctx, shape_of(self.query)[2], self.keys, past)
        return frontier(self.ctx, far, None if window < 0 else 1 - window, 0, self.query)[0]


def _attended(ctx: Context, heads: Heads, bias: SSAValue | None, softcap: float = 0.0) -> tuple[SSAValue, SSAValue]:
    """The result (batch, length, heads * size), and the product of query and key."""
    own = dtype_of(heads[0])
    query, key, value = (as_wide(ctx, tensor) for tensor in heads)
    # Zero says that there is no scale, too.
    scale = ctx.float("scale", 0.0) or None
    scores = Scores(ctx, query, key, scale, softcap, bias)
    result = merge_heads(ctx, weighted(ctx, scores.compute(), value))
    return cast_to(ctx, result, own), cast_to(ctx, scores.steps[0], own)


def attention(ctx: Context) -> tuple[SSAValue, ...]:
    """The input times the weights of query, key and value at once; present keys and values are one tensor."""
    total = product(ctx, ctx.value(0), ctx.value(1))
    if ctx.has(2):
        total = ctx.emit(AddOp, total, ctx.value(2))
    return projected_attention(ctx, total, 3, 4, 5)


def projected_attention(ctx: Context, total: SSAValue, index: int, past: int, score_bias: int) -> tuple[SSAValue, ...]:
    """`attention` of query, key and value, which are one tensor; mask, past and bias are those inputs, if there."""
    ctx.only("do_rotary", 0)
    ctx.only("past_present_share_buffer", 0)
    heads, hidden = ctx.int("num_heads", 0), shape_of(total)[2]
    sizes = ctx.ints("qkv_hidden_sizes", None) or (hidden // 3,) * 3
    starts = (0, sizes[0], sizes[0] + sizes[1])
    query, key, value = (
        split_heads(ctx, _cut(ctx, total, 2, start, start + size), heads)
        for start, size in zip(starts, sizes, strict=True)
    )
    before = ctx.shape(past)[3] if ctx.has(past) else 0
    if ctx.has(past):
        key, value = (_joined(ctx, _at(ctx, ctx.value(past), 0, i), tensor) for i, tensor in enumerate((key, value)))
    mask = _Mask(ctx, as_wide(ctx, query), shape_of(key)[2], ctx.float("mask_filter_value", -10000.0))
    bias = mask.index(ctx.value(index)) if ctx.has(index) else None
    if ctx.is_one("unidirectional"):
        bias = added(ctx, bias, mask.causal(before))
    if ctx.has(score_bias):
        bias = added(ctx, bias, as_wide(ctx, ctx.value(score_bias)))
    result, _ = _attended(ctx, (query, key, value), bias)
    if not any(ctx.node.output[1:]):
        return (result,)
    apart = [reshaped(ctx, tensor, (1, *shape_of(tensor))) for tensor in (key, value)]
    return result, ctx.emit(ConcatenateOp, apart, axis=0)


def multi_head_attention(ctx: Context) -> tuple[SSAValue, ...]:
    """Query, key and value apart or packed, with biases, padding mask, bias and past."""
    heads = ctx.int("num_heads", 0)
    parts = _unpacked(ctx, heads)
    if ctx.has(3):
        parts = _biased(ctx, parts)
    query, key, value = (split_heads(ctx, tensor, heads) if len(shape_of(tensor)) == 3 else tensor for tensor in parts)
    past = [ctx.value(index) if ctx.has(index) else None for index in (6, 7)]
    key, value = _joined(ctx, past[0], key), _joined(ctx, past[1], value)
    before = 0 if past[0] is None else shape_of(past[0])[2]
    mask = _Mask(ctx, as_wide(ctx, query), shape_of(key)[2], ctx.float("mask_filter_value", -10000.0))
    bias = mask.index(ctx.value(4)) if ctx.has(4) else None
    if ctx.is_one("unidirectional"):
        bias = added(ctx, bias, mask.causal(before))
    if ctx.has(5):
        bias = added(ctx, bias, as_wide(ctx, ctx.value(5)))
    result, scores = _attended(ctx, (query, key, value), bias)
    return result, key, value, scores


def _unpacked(ctx: Context, heads: int) -> list[SSAValue]:
    """Query, key and value, each (batch, length, hidden), or (batch, heads, length, size) as they are given."""
    query = ctx.value(0)
    if len(shape_of(query)) == 5:
        # (batch, length, heads, 3, size)
        return [ctx.emit(TransposeOp, _at(ctx, query, 3, part), axes=(0, 2, 1, 3)) for part in range(3)]
    if not ctx.has(2):
        # (batch, length, heads, 2, size)
        packed = ctx.value(1)
        if len(shape_of(packed)) != 5 or shape_of(packed)[2] != heads:
            ctx.fail("a value, or keys and values packed", str(list(shape_of(packed))))
        return [query, *(ctx.emit(TransposeOp, _at(ctx, packed, 3, part), axes=(0, 2, 1, 3)) for part in range(2))]
    return [query, ctx.value(1), ctx.value(2)]


def _biased(ctx: Context, parts: list[SSAValue]) -> list[SSAValue]:
    """Each with its part of the biases, which follow each other."""
    start, found = 0, list[SSAValue]()
    for part in parts:
        shape = shape_of(part)
        size = shape[2] if len(shape) == 3 else shape[1] * shape[3]
        bias = _cut(ctx, ctx.value(3), 0, start, start + size)
        if len(shape) == 4:
            bias = reshaped(ctx, bias, (shape[1], 1, shape[3]))
        found.append(ctx.emit(AddOp, part, bias))
        start += size
    return found


def embed_layer_norm(ctx: Context) -> tuple[Result, ...]:
    """The sum of the embeddings of word, position and segment, normalised; how many of each mask's elements are set."""
    ids = ctx.value(0)
    batch, length = shape_of(ids)
    if ctx.has(8):
        positions = ctx.emit(TakeOp, ctx.value(3), ctx.value(8), axis=0)
    else:
        positions = _cut(ctx, ctx.value(3), 0, 0, length)
    total = ctx.emit(AddOp, ctx.emit(TakeOp, ctx.value(2), ids, axis=0), positions)
    if ctx.has(1) and ctx.has(4):
        total = ctx.emit(AddOp, total, ctx.emit(TakeOp, ctx.value(4), ctx.value(1), axis=0))
    result = ctx.emit(LayerNormOp, total, ctx.value(5), ctx.value(6), epsilon=ctx.float("epsilon", 1e-12))
    counts = filled(ctx, np.zeros((), np.int32), (batch,))
    if ctx.has(7):
        counts = cast_to(ctx, ctx.emit(SumOp, ctx.value(7), axis=(1,)), np.dtype(np.int32))
    return result, counts, total


MICROSOFT = {
    "Attention": Converter(attention, unread={"rotary_embedding_dim": "of do_rotary"}),
    "EmbedLayerNormalization": Converter(
        embed_layer_norm, unread={"mask_index_type": "says the type of an output, which is int32"}
    ),
    "MultiHeadAttention": Converter(multi_head_attention),
}
