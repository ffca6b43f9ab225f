"""GroupQueryAttention of com.microsoft: heads of keys that queries share, and a cache that each row fills in part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import RoundOp
from ...dialects.relay.transform import PadOp, StridedSliceOp, TakeOp
from ...dialects.sizes import Size, decide, proves, same
from ..importing.converter import Converter
from ..importing.terms import Term, constant, maximum, places, term, where, wide
from ..meanings.attention import (
    added,
    attended,
    behind,
    both,
    masked,
    merge_heads,
    score_dtype,
    split_heads,
    visible,
    within,
)
from ..meanings.indices import check_indices
from ..meanings.slices import cut
from .context import Context
from .rotary import turned

_QUANTIZED = ("PER_TENSOR", "PER_CHANNEL")


def group_query_attention(ctx: Context) -> tuple[SSAValue, ...]:
    """The result (batch, length, heads * size), and the keys and values with those of the past.

    As in onnxruntime, row `b` has `seqlens_k[b] + 1` keys; the new ones stand behind its own past, and zeros follow.
    """
    ctx.only("qk_output", 0)
    ctx.only("sliding_window_cache", 0)
    query, key, value = _heads(ctx)
    cache = _Cache(ctx, query.shape[2])
    check_indices(term(ctx, 5), [cache.extent], ignored=())
    if ctx.is_one("do_rotary"):
        cos, sin = cache.angles(query.shape[3])
        turn, interleaved = 2 * cos.shape[-1], ctx.is_one("rotary_interleaved")
        query, key = (turned(x, cos, sin, interleaved, turn) for x in (query, key))
    (key, real_key), (value, real_value) = cache.joined(key, 3, "k"), cache.joined(value, 4, "v")
    bias = added(cache.mask(query), _scores_bias(ctx, cache.extent) if ctx.has(10) else None)
    # A window of no keys leaves nothing, which is 0.
    options = {"may_be_empty": ctx.int("local_window_size", -1) == 0, "sink": _sink(ctx, query)}
    scale, softcap = ctx.float("scale", 0.0) or None, ctx.float("softcap", 0.0)
    result, _ = attended(query, real_key, real_value, bias, scale, softcap=softcap, **options)
    return merge_heads(result).value, key.value, value.value


def _heads(ctx: Context) -> list[Term]:
    """Query, key and value (batch, heads, length, size), which may come in one tensor."""
    heads, key_heads = ctx.int("num_heads", 0), ctx.int("kv_num_heads", 0)
    parts = [term(ctx, 0), *(term(ctx, index) for index in (1, 2) if ctx.has(index))]
    if len(parts) == 1:
        size = ctx.shape(0)[2] // max(heads + 2 * key_heads, 1)
        ends = (0, heads * size, (heads + key_heads) * size, (heads + 2 * key_heads) * size)
        parts = [cut(parts[0], 2, *bounds) for bounds in pairwise(ends)]
    return [split_heads(part, count) for part, count in zip(parts, (heads, key_heads, key_heads), strict=True)]


def _sink(ctx: Context, query: Term) -> Term | None:
    """The score (1, heads, 1, 1) of a key without a value, if there is one: `head_sink`, or 0."""
    heads, smooth = query.shape[1], ctx.int("smooth_softmax", 0) > 0
    if ctx.has(11):
        ctx.require_shape(11, (heads,), "a head_sink")
        return term(ctx, 11).to(score_dtype(query)).reshape(1, heads, 1, 1)
    return constant(ctx, np.zeros((1, heads, 1, 1), score_dtype(query)), "sink") if smooth else None


def _scores_bias(ctx: Context, keys: int) -> Term:
    """Input 10, (.., queries, total_sequence_length), for all places of the cache."""
    bias = wide(term(ctx, 10))
    missing = keys - bias.shape[3]
    return bias if same(missing, 0) else bias.apply(PadOp, 0.0, pad_width=(*[0] * 7, missing))


@dataclass
class _Cache:
    """The keys, or values, of a past and the new ones: (batch, heads, extent, size)."""

    ctx: Context
    length: int
    """The number of new ones."""

    @cached_property
    def past(self) -> int:
        """The extent of the past, of which each row fills a part."""
        return self.ctx.shape(3)[2] if self.ctx.has(3) else 0

    @cached_property
    def total(self) -> Size | None:
        """The keys of the row that has most; None where only a call decides it."""
        known = self.ctx.tensor(6)
        return None if known.array is None else self.ctx.size(6, "total_sequence_length")

    @cached_property
    def extent(self) -> int:
        """The extent afterwards: room for the past and the new ones, or a cache that is as large as it may become.

        A total that only a call decides is taken for that of the former.
        """
        whole = self.past + self.length
        if self.total is None:
            check_indices(term(self.ctx, 6), [whole + 1], ignored=())
            return whole
        if proves(self.total, "<=", self.past):
            return self.past
        if decide(self.total, "==", whole) is False:
            self.ctx.fail(f"a total_sequence_length of {whole}, or at most {self.past}", str(self.total))
        self.ctx.require_equal(self.total, whole)
        return whole

    @property
    def counts(self) -> Term:
        """Return the number of keys of each row: (batch, 1)."""
        return term(self.ctx, 5).reshape(self.ctx.shape(0)[0], 1).to("int64") + 1

    @cached_property
    def starts(self) -> Term:
        """Of each row where its new keys stand: (batch, 1)."""
        return maximum(self.counts - self.length, 0)

    def positions(self) -> Term:
        """Of the new keys, (batch, length): those of `position_ids`, of a first prompt from the first of all on."""
        steps = places(self.ctx, self.length, 2, 1)
        following = self.starts + steps
        if not self.ctx.has(9):
            return following
        stated = term(self.ctx, 9).to("int64")
        first = stated.apply(StridedSliceOp, begin=(0, 0), end=(1, 1), axes=(0, 1))
        from_first = first + following * 0 + steps
        prompt = True if not self.ctx.has(3) else None
        if prompt is None and self.total is not None:
            prompt = decide(self.total, "==", self.length)
        if prompt is None:
            total = term(self.ctx, 6).to("int64").reshape(1, 1)
            return where(total.equal(total.number(self.length)), from_first, stated)
        return from_first if prompt else stated

    def angles(self, size: int) -> list[Term]:
        """Cosine and sine of the new keys, (batch, 1, length, size / 2)."""
        ctx, positions = self.ctx, self.positions()
        batch, length = positions.shape
        tables = [term(ctx, index).apply(TakeOp, positions, axis=0) for index in (7, 8)]
        half = tables[0].shape[-1]
        if proves(2 * half, ">", size):
            ctx.fail(f"caches of at most {size // 2} columns", str(half))
        return [table.reshape(batch, 1, length, half) for table in tables]

    def joined(self, x: Term, index: int, which: str) -> tuple[Term, Term]:
        """Keys or values with those of the past, input `index`: as they are kept, and as numbers to compute with."""
        ctx, mode = self.ctx, self.ctx.word(f"{which}_quant_type", "NONE")
        own = ctx.dtype(index) if ctx.has(index) else x.dtype
        if mode not in ("NONE", *_QUANTIZED) or (mode == "NONE") != (own == x.dtype):
            ctx.fail(f"{which}_quant_type that fits a cache of {own}", repr(mode))
        if mode == "NONE":
            kept = self._behind_past(x, index)
            return kept, kept
        if own != np.int8 or ctx.int("kv_cache_bit_width", 8) != 8:
            ctx.fail("a quantised cache of int8", f"{own} of {ctx.int('kv_cache_bit_width', 8)} bits")
        scale = term(ctx, 12 + "kv".index(which))
        heads, size = x.shape[1], x.shape[3]
        scale = scale.reshape(1, 1, 1, 1) if mode == "PER_TENSOR" else scale.reshape(1, heads, 1, size)
        kept = self._behind_past((wide(x) / scale).apply(RoundOp).clip(-128.0, 127.0).to("int8"), index)
        return kept, kept.to("float32") * scale

    def _behind_past(self, new: Term, index: int) -> Term:
        if not self.ctx.has(index):
            return new
        past, here = term(self.ctx, index), places(self.ctx, self.extent, 2, 1)
        spread = (new.shape[0], 1, self.extent, 1)
        before = (here < self.starts).reshape(*spread)
        filled = (here < self.counts).reshape(*spread)
        if same(self.length, 1):
            room = self.extent - self.past
            kept = past if same(room, 0) else past.apply(PadOp, 0, pad_width=(0, 0, 0, 0, 0, room, 0, 0))
            return where(before, kept, where(filled, new, 0))
        source = where(here < self.starts, here, here - self.starts + self.past)
        row = behind(past, new).apply(TakeOp, source, axis=2, batch_dims=1)
        return where((here < self.starts + self.length).reshape(*spread), row, 0)

    def mask(self, query: Term) -> Term:
        """The bias of the scores of queries: minus infinity for keys that they do not see."""
        ctx, (batch, _, queries, _) = self.ctx, query.shape
        window, causal = ctx.int("local_window_size", -1), ctx.int("causal", 1) == 1
        if window >= 0 and not causal:
            ctx.fail("a local_window_size of -1 where causal is 0", str(window))
        offset = self.starts.reshape(batch, 1, 1, 1) if ctx.has(3) else 0
        at_least = 1 - window if window >= 0 else None
        frontier = visible(ctx, queries, self.extent, at_least, 0, offset) if causal else None
        seen = both(within(self.extent, self.counts.reshape(batch)), frontier and frontier.seen)
        assert seen is not None
        return masked(seen, score_dtype(query))


MICROSOFT = {
    "GroupQueryAttention": Converter(
        group_query_attention,
        unread={
            **dict.fromkeys(("cos_cache", "position_ids", "rotary_interleaved", "sin_cache"), "of do_rotary"),
            **dict.fromkeys(("k_scale", "kv_cache_bit_width", "v_scale"), "of a quantised cache"),
            "qk_norm_epsilon": "of norms, whose weights are refused",
            "total_sequence_length": "of a cache",
        },
    ),
}
