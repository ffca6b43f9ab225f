"""Attention as frontends share it: scores of queries for keys, what hides keys, and the values weighted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from math import sqrt
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, EqualOp, TanhOp
from ...dialects.relay.logic import LogicalOrOp, WhereOp
from ...dialects.relay.nn import BatchMatmulOp, SoftmaxOp
from ...dialects.relay.reduce import MaxOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, StridedSliceOp
from ...dialects.sizes import Size, SizeExpr, same
from .context import Context
from .products import reshaped, scaled, transposed
from .tensor import dtype_of, shape_of
from .terms import Term, places


def cast_to(ctx: Context, value: SSAValue, dtype: np.dtype[np.generic]) -> SSAValue:
    return value if dtype_of(value) == dtype else ctx.emit(CastOp, value, dtype=dtype.name)


def as_wide(ctx: Context, value: SSAValue) -> SSAValue:
    """Half precision as float32, others as they are."""
    return cast_to(ctx, value, np.dtype(np.float32)) if dtype_of(value).itemsize < 4 else value


def infinite(ctx: Context, like: SSAValue) -> SSAValue:
    """Minus infinity, a scalar of the element type of `like`."""
    return ctx.scalar(-np.inf, like)


def masked(ctx: Context, allowed: SSAValue, like: SSAValue, outside: SSAValue | None = None) -> SSAValue:
    """0 where `allowed`, elsewhere `outside`, by default minus infinity: what is added to scores like `like`."""
    return ctx.emit(WhereOp, allowed, ctx.scalar(0.0, like), infinite(ctx, like) if outside is None else outside)


def added(ctx: Context, bias: SSAValue | None, more: SSAValue) -> SSAValue:
    return more if bias is None else ctx.emit(AddOp, bias, more)


@dataclass
class Scores:
    """The scores of a query for each key, from the product on to the weights of the values."""

    ctx: Context
    query: SSAValue
    key: SSAValue
    scale: float | None = None
    """1 / sqrt(size) by default."""
    softcap: float = 0.0
    bias: SSAValue | None = None
    """Added to the scores, (.., queries, keys)."""
    may_be_empty: bool = False
    """True if the bias may leave a query without any key; its result is then 0."""
    precision: np.dtype[np.generic] | None = None
    """In which the softmax is computed, if that is more than those of query and key."""
    sink: SSAValue | None = None
    """The scores of one more key, which has no value, that broadcast to (batch, heads, queries, 1)."""
    steps: list[SSAValue] = field(default_factory=list[SSAValue])
    """(batch, heads, queries, keys): the product, then after softcap, bias and softmax."""

    def compute(self) -> SSAValue:
        """The weights of the values."""
        return self.weights(self._product())

    def weights(self, scores: SSAValue) -> SSAValue:
        """The weights of the values by scores (.., queries, keys), whatever these are."""
        ctx, dtype = self.ctx, dtype_of(self.query)
        self.steps = [scores]
        if self.softcap > 0:
            scores = ctx.emit(TanhOp, scaled(ctx, scores, 1 / self.softcap))
            scores = scaled(ctx, scores, self.softcap)
        self.steps.append(scores)
        scores = scores if self.bias is None else ctx.emit(AddOp, scores, self.bias)
        self.steps.append(scores)
        if self.precision is not None and self.precision.itemsize > dtype.itemsize:
            scores = ctx.emit(CastOp, scores, dtype=self.precision.name)
        weights = self._softmax(scores)
        if self.may_be_empty and self.bias is not None:
            highest = ctx.emit(MaxOp, self.bias, axis=(-1,), keepdims=True)
            empty = ctx.emit(EqualOp, highest, infinite(ctx, highest))
            weights = ctx.emit(WhereOp, empty, ctx.scalar(0.0, weights), weights)
        weights = cast_to(ctx, weights, dtype)
        self.steps.append(weights)
        return weights

    def _softmax(self, scores: SSAValue) -> SSAValue:
        """Along the keys and the sink, whose weight is nobody's."""
        ctx, rank, keys = self.ctx, len(shape_of(scores)), shape_of(scores)[-1]
        if self.sink is None:
            return ctx.emit(SoftmaxOp, scores, axis=-1)
        column = ctx.emit(BroadcastToOp, cast_to(ctx, self.sink, dtype_of(scores)), shape=(*shape_of(scores)[:-1], 1))
        weights = ctx.emit(SoftmaxOp, ctx.emit(ConcatenateOp, [scores, column], axis=rank - 1), axis=-1)
        return ctx.emit(StridedSliceOp, weights, begin=(0,), end=(keys,), axes=(rank - 1,))

    def _product(self) -> SSAValue:
        """Query heads that share a key are rows of one product."""
        ctx, query, key = self.ctx, self.query, self.key
        (batch, heads, length, size), (_, key_heads, keys, _) = shape_of(query), shape_of(key)
        if not same(heads, key_heads) and (key_heads < 1 or heads % key_heads):
            ctx.fail(f"query heads that {key_heads} key heads share", str(heads))
        scale = 1 / sqrt(size) if self.scale is None else self.scale
        rows = reshaped(ctx, query, (batch * key_heads, heads // key_heads * length, size))
        columns = transposed(ctx, reshaped(ctx, key, (batch * key_heads, keys, size)))
        product = ctx.emit(BatchMatmulOp, rows, columns, transpose_b=False)
        return scaled(ctx, reshaped(ctx, product, (batch, heads, length, keys)), scale)


def weighted(ctx: Context, weights: SSAValue, value: SSAValue) -> SSAValue:
    """The values (batch, value heads, keys, size), weighted: (batch, heads, queries, size)."""
    (batch, heads, length, keys), (_, value_heads, _, size) = shape_of(weights), shape_of(value)
    rows = reshaped(ctx, weights, (batch * value_heads, heads // value_heads * length, keys))
    columns = reshaped(ctx, value, (batch * value_heads, keys, size))
    result = ctx.emit(BatchMatmulOp, rows, columns, transpose_b=False)
    return reshaped(ctx, result, (batch, heads, length, size))


def distance(ctx: Context, queries: int, keys: int, offset: int = 0) -> Any:
    """(queries, keys) int64: how much farther the key is than the query, and more than an offset.

    An array where the extents are known, else a term.
    """
    if any(isinstance(size, SizeExpr) for size in cast("tuple[Size, ...]", (queries, keys, offset))):
        return places(ctx, keys, 2, 1) - places(ctx, queries, 2, 0, start=offset)
    return np.arange(keys, dtype=np.int64)[None, :] - np.arange(queries, dtype=np.int64)[:, None] - offset


def frontier(
    ctx: Context, far: Any, at_least: int | None, at_most: int | None, like: SSAValue
) -> tuple[SSAValue, bool]:
    """Return the bias for scores like `like`: 0 where `at_least <= far <= at_most`, else minus infinity.

    And whether that may leave a query without keys.
    """
    hidden = [] if at_least is None else [far < at_least]
    hidden += [] if at_most is None else [far > at_most]
    if isinstance(far, Term):
        outside = reduce(lambda a, b: a.apply(LogicalOrOp, b), hidden)
        return ctx.emit(WhereOp, outside.value, infinite(ctx, like), ctx.scalar(0.0, like)), len(hidden) > 1
    outside = reduce(np.logical_or, hidden)
    steps = np.where(outside, -np.inf, 0.0).astype(dtype_of(like))
    return ctx.constant(steps, "frontier"), bool(outside.all(axis=1).any())
