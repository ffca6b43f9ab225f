"""Attention: scores of queries for keys, what hides keys, and the values weighted; heads apart and together."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import sqrt
from typing import Any, NamedTuple, cast

import numpy as np

from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.normalization import SoftmaxOp
from ...dialects.relay.reduce import MaxOp
from ...dialects.relay.transform import BroadcastToOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, same
from ..importing.context import Context
from ..importing.terms import Term, constant, places, tanh, where, wide
from .moves import concatenate, swap_last
from .products import scaled
from .slices import cut

# Heads.


def heads_first(x: Term) -> Term:
    """(batch, length, heads, size) -> (batch, heads, length, size), and back."""
    return x.apply(TransposeOp, axes=(0, 2, 1, 3))


def split_heads(x: Term, heads: int) -> Term:
    """(batch, length, heads * size) -> (batch, heads, length, size)."""
    batch, length, hidden = x.shape
    if heads < 1 or hidden % heads:
        x.ctx.fail(f"a hidden size that {heads} heads share", str(hidden))
    return heads_first(x.reshape(batch, length, heads, hidden // heads))


def merge_heads(x: Term) -> Term:
    """(batch, heads, length, size) -> (batch, length, heads * size)."""
    batch, heads, length, size = x.shape
    return heads_first(x).reshape(batch, length, heads * size)


def behind(past: Term | None, x: Term) -> Term:
    """Keys or values (batch, heads, length, size) after those of the past."""
    return x if past is None else concatenate(past, x, axis=2)


# What hides keys: masks of truth values, true at what counts, and biases, which are added to scores.


def both(*masks: Term | None) -> Term | None:
    """The conjunction of the masks that there are."""
    own = [mask for mask in masks if mask is not None]
    return reduce(lambda a, b: a.apply(LogicalAndOp, b), own) if own else None


def added(*biases: Term | None) -> Term | None:
    """The sum of the biases that there are."""
    own = [bias for bias in biases if bias is not None]
    return reduce(Term.__add__, own) if own else None


def score_dtype(x: Term) -> np.dtype[np.generic]:
    """The dtype of the scores of queries: halves are float32 from the first product to the last."""
    return np.dtype(np.float32) if x.dtype.itemsize < 4 else x.dtype


def masked(seen: Term, dtype: np.dtype[np.generic], outside: float = -np.inf) -> Term:
    """The bias for scores of a dtype: 0 where `seen`, elsewhere `outside`."""
    zero, low = (constant(seen.ctx, np.asarray(number).astype(dtype), "scalar") for number in (0.0, outside))
    return where(seen, zero, low)


def bias_of(mask: Term, dtype: np.dtype[np.generic]) -> Term:
    """The bias for scores of a dtype that a mask is, of truth values or of numbers."""
    return masked(mask, dtype) if mask.dtype == np.bool_ else mask.to(dtype)


def within(keys: int, count: Term, start: Term | None = None) -> Term:
    """(batch, 1, 1, keys): true before `count` (batch), and from `start` (batch) on."""
    ctx, dtype, row = count.ctx, count.dtype.name, (count.shape[0], 1, 1, 1)
    inside = places(ctx, keys, dtype=dtype) < count.reshape(*row)
    if start is None:
        return inside
    return inside.apply(LogicalAndOp, start.reshape(*row) < places(ctx, keys, dtype=dtype, start=1))


class Visible(NamedTuple):
    """The keys that queries see by their positions."""

    seen: Term
    """(.., queries, keys)"""
    some_see_none: bool
    """True if there may be queries without keys."""


def visible(
    ctx: Context, queries: int, keys: int, at_least: int | None, at_most: int | None, offset: int | Term = 0
) -> Visible | None:
    """Return where `at_least <= key - query - offset <= at_most`; None where all queries see all keys.

    offset: the position of the first query, a size; or a term that differs between the rows of a batch.
    """
    if at_least is None and at_most is None:
        return None
    start = 0 if isinstance(offset, Term) else offset
    if any(isinstance(size, SizeExpr) for size in cast("tuple[Size, ...]", (queries, keys, start))):
        far = places(ctx, keys, 2, 1) - places(ctx, queries, 2, 0, start=start)
    else:
        array = np.arange(keys, dtype=np.int64)[None, :] - np.arange(queries, dtype=np.int64)[:, None] - start
        if not isinstance(offset, Term):
            none = np.ones_like(array, np.bool_)
            seen = (none if at_least is None else array >= at_least) & (none if at_most is None else array <= at_most)
            return Visible(constant(ctx, seen, "seen"), not bool(seen.any(axis=1).all()))
        far = constant(ctx, array, "places")
    ends: list[Term | None] = []
    if at_most is not None:
        ends.append(far < (offset + (at_most + 1) if isinstance(offset, Term) else at_most + 1))
    if at_least is not None:
        ends.append(far > (offset + (at_least - 1) if isinstance(offset, Term) else at_least - 1))
    return Visible(cast(Term, both(*ends)), at_least is not None or isinstance(offset, Term))


# Scores.


class Steps(NamedTuple):
    """The results on the way to the weights: (batch, heads, queries, keys) each."""

    product: Term
    capped: Term
    biased: Term
    weights: Term


def product(query: Term, key: Term, scale: float | None = None) -> Term:
    """The scores of queries for keys, scaled by 1 / sqrt(size) by default; query heads may share a key's."""
    (_, heads, _, size), (_, key_heads, _, _) = query.shape, key.shape
    if not same(heads, key_heads) and (key_heads < 1 or heads % key_heads):
        query.ctx.fail(f"query heads that {key_heads} key heads share", str(heads))
    return scaled(_by_heads(query, key, swap_last), 1 / sqrt(size) if scale is None else scale)


def _by_heads(x: Term, y: Term, matrix: Callable[[Term], Term]) -> Term:
    """The products (batch, heads, rows, columns) of the matrices of heads, of `y` perhaps less; `matrix` of those."""
    (batch, heads, rows, terms), (_, shared, *own) = x.shape, y.shape
    if same(heads, shared):
        x, y = x.reshape(batch * heads, rows, terms), y.reshape(batch * heads, *own)
    else:
        x, y = x.reshape(batch, shared, heads // shared, rows, terms), y.reshape(batch, shared, 1, *own)
    result = x.apply(BatchMatmulOp, matrix(y), transpose_b=False)
    return result.reshape(batch, heads, rows, result.shape[-1])


def weigh(
    scores: Term,
    bias: Term | None = None,
    *,
    softcap: float = 0.0,
    may_be_empty: bool = False,
    precision: np.dtype[np.generic] | None = None,
    sink: Term | None = None,
) -> Steps:
    """Return the weights of the values by scores (.., queries, keys), and the steps to them.

    softcap: where above 0, the bound that scores are held between by a tangent. bias: added to the scores.
    may_be_empty: true if it may leave a query without any key; all its weights are then 0.
    precision: in which the softmax is computed, if that is more than that of the scores.
    sink: the scores of one more key, which has no value, that broadcast to (.., queries, 1).
    """
    capped = scaled(tanh(scaled(scores, 1 / softcap)), softcap) if softcap > 0 else scores
    biased = capped if bias is None else capped + bias
    if precision is None or precision.itemsize <= scores.dtype.itemsize:
        precision = scores.dtype
    weights = _softmax(biased.to(precision), sink)
    if may_be_empty and bias is not None:
        highest = bias.apply(MaxOp, axis=(-1,), keepdims=True)
        weights = where(highest.equal(-np.inf), 0.0, weights)
    return Steps(scores, capped, biased, weights.to(scores.dtype))


def _softmax(scores: Term, sink: Term | None) -> Term:
    """Along the keys and the sink, whose weight is nobody's."""
    if sink is None:
        return scores.apply(SoftmaxOp, axis=-1)
    *rows, keys = scores.shape
    column = sink.to(scores.dtype).apply(BroadcastToOp, shape=(*rows, 1))
    return cut(concatenate(scores, column, axis=len(rows)).apply(SoftmaxOp, axis=-1), len(rows), 0, keys)


def weighted(weights: Term, value: Term) -> Term:
    """The values (batch, value heads, keys, size), weighted: (batch, heads, queries, size)."""
    return _by_heads(weights, value, lambda matrix: matrix)


def attended(
    query: Term, key: Term, value: Term, bias: Term | None = None, scale: float | None = None, **options: Any
) -> tuple[Term, Steps]:
    """The values weighted, (batch, heads, queries, size) in the dtype of the query, and the steps in that of scores.

    query, key, value: (batch, heads, length, size), of key and value perhaps less heads, which those of the query
    share. bias: of `score_dtype`. options: those of `weigh`.
    """
    own, (query, key, value) = query.dtype, map(wide, (query, key, value))
    steps = weigh(product(query, key, scale), bias, **options)
    return weighted(steps.weights, value).to(own), steps
