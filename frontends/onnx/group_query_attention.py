"""GroupQueryAttention of com.microsoft: heads of keys that queries share, and a cache that each row fills in part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import RoundOp
from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.transform import ConcatenateOp, PadOp, StridedSliceOp, TakeOp
from ...dialects.sizes import Size, decide, proves, same
from ..importing.attention import Scores, added, as_wide, cast_to, masked, weighted
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, maximum, places, term, where
from ..meanings.indices import check_indices
from .attention import merge_heads, split_heads
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
    cache = _Cache(ctx, shape_of(query)[2])
    check_indices(term(ctx, 5), [cache.extent], ignored=())
    if ctx.is_one("do_rotary"):
        angles = cache.angles(shape_of(query)[3])
        turn, interleaved = 2 * shape_of(angles[0])[-1], ctx.is_one("rotary_interleaved")
        query, key = (turned(ctx, x, angles, interleaved, turn) for x in (query, key))
    (key, real_key), (value, real_value) = cache.joined(key, 3, "k"), cache.joined(value, 4, "v")
    own, query = dtype_of(query), as_wide(ctx, query)
    bias = cache.mask(query)
    if ctx.has(10):
        bias = added(ctx, bias, _scores_bias(ctx, cache.extent))
    scale, softcap = ctx.float("scale", 0.0) or None, ctx.float("softcap", 0.0)
    # A window of no keys leaves nothing, which is 0.
    empty = ctx.int("local_window_size", -1) == 0
    scores = Scores(ctx, query, real_key, scale, softcap, bias, may_be_empty=empty, sink=_sink(ctx, query))
    result = merge_heads(ctx, weighted(ctx, scores.compute(), real_value))
    return cast_to(ctx, result, own), key, value


def _heads(ctx: Context) -> list[SSAValue]:
    """Query, key and value (batch, heads, length, size), which may come in one tensor."""
    heads, key_heads = ctx.int("num_heads", 0), ctx.int("kv_num_heads", 0)
    parts = [ctx.value(0), *(ctx.value(index) for index in (1, 2) if ctx.has(index))]
    if len(parts) == 1:
        size = ctx.shape(0)[2] // max(heads + 2 * key_heads, 1)
        ends = (0, heads * size, (heads + key_heads) * size, (heads + 2 * key_heads) * size)
        parts = [
            ctx.emit(StridedSliceOp, parts[0], begin=(begin,), end=(end,), axes=(2,)) for begin, end in pairwise(ends)
        ]
    counts = (heads, key_heads, key_heads)
    return [split_heads(ctx, part, count) for part, count in zip(parts, counts, strict=True)]


def _sink(ctx: Context, query: SSAValue) -> SSAValue | None:
    """The score (1, heads, 1, 1) of a key without a value, if there is one: `head_sink`, or 0."""
    heads, smooth = shape_of(query)[1], ctx.int("smooth_softmax", 0) > 0
    if ctx.has(11):
        ctx.require_shape(11, (heads,), "a head_sink")
        return term(ctx, 11).to(dtype_of(query)).reshape(1, heads, 1, 1).value
    if smooth:
        return ctx.constant(np.zeros((1, heads, 1, 1), dtype_of(query)), "sink")
    return None


def _scores_bias(ctx: Context, keys: int) -> SSAValue:
    """Input 10, (.., queries, total_sequence_length), for all places of the cache."""
    bias = as_wide(ctx, ctx.value(10))
    missing = keys - shape_of(bias)[3]
    if same(missing, 0):
        return bias
    return ctx.emit(PadOp, bias, ctx.scalar(0.0, bias), pad_width=(*[0] * 7, missing))


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

    def positions(self) -> SSAValue:
        """Of the new keys, (batch, length): those of `position_ids`, of a first prompt from the first of all on."""
        steps = places(self.ctx, self.length, 2, 1)
        following = (self.starts + steps).value
        if not self.ctx.has(9):
            return following
        given = term(self.ctx, 9).to("int64")
        (batch, length), first = given.shape, Term(self.ctx, self._corner(given.value))
        from_first = first + Term(self.ctx, following) * 0 + steps
        prompt = True if not self.ctx.has(3) else None
        if prompt is None and self.total is not None:
            prompt = decide(self.total, "==", self.length)
        if prompt is None:
            total = term(self.ctx, 6).to("int64").reshape(1, 1)
            return where(total.equal(total.number(self.length)), from_first, given.reshape(batch, length)).value
        return from_first.value if prompt else given.value

    def _corner(self, value: SSAValue) -> SSAValue:
        return self.ctx.emit(StridedSliceOp, value, begin=(0, 0), end=(1, 1), axes=(0, 1))

    def angles(self, size: int) -> list[SSAValue]:
        """Cosine and sine of the new keys, (batch, 1, length, size / 2)."""
        ctx, positions = self.ctx, self.positions()
        batch, length = shape_of(positions)
        tables = [ctx.emit(TakeOp, ctx.value(index), positions, axis=0) for index in (7, 8)]
        half = shape_of(tables[0])[-1]
        if proves(2 * half, ">", size):
            ctx.fail(f"caches of at most {size // 2} columns", str(half))
        return [Term(ctx, table).reshape(batch, 1, length, half).value for table in tables]

    def joined(self, value: SSAValue, index: int, which: str) -> tuple[SSAValue, SSAValue]:
        """Keys or values with those of the past, input `index`: as they are kept, and as numbers to compute with."""
        ctx, mode = self.ctx, self.ctx.word(f"{which}_quant_type", "NONE")
        own = ctx.dtype(index) if ctx.has(index) else dtype_of(value)
        if mode not in ("NONE", *_QUANTIZED) or (mode == "NONE") != (own == dtype_of(value)):
            ctx.fail(f"{which}_quant_type that fits a cache of {own}", repr(mode))
        if mode == "NONE":
            kept = self._behind_past(value, index)
            return kept, as_wide(ctx, kept)
        if own != np.int8 or ctx.int("kv_cache_bit_width", 8) != 8:
            ctx.fail("a quantised cache of int8", f"{own} of {ctx.int('kv_cache_bit_width', 8)} bits")
        scale = term(ctx, 12 + "kv".index(which))
        heads, size = shape_of(value)[1], shape_of(value)[3]
        scale = scale.reshape(1, 1, 1, 1) if mode == "PER_TENSOR" else scale.reshape(1, heads, 1, size)
        steps = (Term(ctx, as_wide(ctx, value)) / scale).apply(RoundOp).clip(-128.0, 127.0).to("int8")
        kept = self._behind_past(steps.value, index)
        return kept, (Term(ctx, kept).to("float32") * scale).value

    def _behind_past(self, value: SSAValue, index: int) -> SSAValue:
        if not self.ctx.has(index):
            return value
        past, new = term(self.ctx, index), Term(self.ctx, value)
        here, batch = places(self.ctx, self.extent, 2, 1), new.shape[0]
        wide = (batch, 1, self.extent, 1)
        before = (here < self.starts).reshape(*wide)
        filled = (here < self.counts).reshape(*wide)
        if same(self.length, 1):
            room = self.extent - self.past
            kept = past if same(room, 0) else past.apply(PadOp, 0, pad_width=(0, 0, 0, 0, 0, room, 0, 0))
            return where(before, kept, where(filled, new, 0)).value
        both = Term(self.ctx, self.ctx.emit(ConcatenateOp, [past.value, new.value], axis=2))
        source = where(here < self.starts, here, here - self.starts + self.past)
        row = both.apply(TakeOp, source, axis=2, batch_dims=1)
        return where((here < self.starts + self.length).reshape(*wide), row, 0).value

    def mask(self, query: SSAValue) -> SSAValue:
        """The bias of scores like those of `query`: minus infinity for keys that a query does not see."""
        ctx, (batch, _, queries, _) = self.ctx, shape_of(query)
        window = ctx.int("local_window_size", -1)
        here = places(ctx, self.extent, 4, 3)
        seen = here < self.counts.reshape(batch, 1, 1, 1)
        if ctx.int("causal", 1) == 1:
            own = places(ctx, queries, 4, 2)
            own = own + self.starts.reshape(batch, 1, 1, 1) if ctx.has(3) else own
            seen = seen.apply(LogicalAndOp, here < own + 1)
            if window >= 0:
                seen = seen.apply(LogicalAndOp, here > own - window)
        elif window >= 0:
            ctx.fail("a local_window_size of -1 where causal is 0", str(window))
        return masked(ctx, seen.value, query)


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
