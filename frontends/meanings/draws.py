"""Random numbers, of a seed of their own or of the program's, and what is made of them: choices, dropout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import sqrt
from typing import Any

import numpy as np

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.logic import LessEqualOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.random import DrawNormalOp, DrawUniformOp
from ...dialects.relay.reduce import MaxOp, SumOp
from ...dialects.sizes import same
from ..importing.context import Context
from ..importing.terms import Term, exp, minimum, where

Dtype = np.dtype[Any]
_FLOAT, _DOUBLE, _INT, _LONG = map(np.dtype, ("float32", "float64", "int32", "int64"))
_WORD = 0xFFFFFFFF


def seeded(function: Callable[..., Term]) -> Callable[..., Term]:
    """A function of one seed as one of two, the lower and the upper 32 bits; both 0 are no seed."""

    @wraps(function)
    def computed(*operands: Any, seed: int, seed2: int, **options: Any) -> Term:
        return function(*operands, seed=((seed2 & _WORD) << 32 | seed & _WORD) or None, **options)

    return computed


def number_type(dtype: Dtype) -> Dtype:
    """The float dtype in which numbers are drawn for what is computed in another one."""
    return _DOUBLE if dtype == _DOUBLE else _FLOAT


def uniform(
    ctx: Context,
    shape: Sequence[int],
    dtype: Dtype = _FLOAT,
    seed: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Term:
    """Numbers of a float dtype, evenly distributed in [low, high)."""
    return Term(ctx, ctx.emit(DrawUniformOp, shape=tuple(shape), dtype=dtype.name, seed=seed, low=low, high=high))


def normal(
    ctx: Context,
    shape: Sequence[int],
    dtype: Dtype = _FLOAT,
    seed: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
) -> Term:
    """Numbers of a float dtype, normally distributed."""
    return Term(ctx, ctx.emit(DrawNormalOp, shape=tuple(shape), dtype=dtype.name, seed=seed, mean=mean, scale=scale))


def integers(
    ctx: Context, shape: Sequence[int], low: int, high: int, dtype: Dtype = _LONG, seed: int | None = None
) -> Term:
    """Whole numbers evenly distributed in [low, high)."""
    if high <= low:
        ctx.fail("an upper end above the lower one", f"[{low}, {high})")
    even = uniform(ctx, shape, _DOUBLE, seed)
    # The largest fraction times a large number rounds up to it.
    return (minimum((even * float(high - low)).to("int64"), high - low - 1) + low).to(dtype)


def below(ctx: Context, chance: Term | float, shape: Sequence[int], dtype: Dtype, seed: int | None = None) -> Term:
    """Truth values, each true with a chance; both are compared as `number_type` has numbers for a dtype."""
    number = number_type(dtype)
    return uniform(ctx, shape, number, seed) < (chance.to(number) if isinstance(chance, Term) else chance)


def bernoulli(x: Term, chance: Term | float | None = None, dtype: Dtype | None = None, seed: int | None = None) -> Term:
    """1 with a chance, else 0, in the shape of `x`; without a chance each element of `x` is its own."""
    kept = below(x.ctx, x if chance is None else chance, x.shape, x.dtype, seed)
    return kept.to(x.dtype if dtype is None else dtype)


def chosen(odds: Term, count: int, seed: int | None = None) -> Term:
    """For each row of odds (batch, classes), `count` classes (int32) with replacement, by their share of the sum.

    A sample is the number of classes up to which the odds sum up to at most a random part of the whole.
    """
    ctx, (rows, classes) = odds.ctx, odds.shape
    sums = odds.apply(CumsumOp, axis=1).reshape(rows, 1, classes)
    even = uniform(ctx, (rows, count), odds.dtype, seed) * odds.sum(1)
    passed = sums.apply(LessEqualOp, even.reshape(rows, count, 1))
    return minimum(passed.to("int32").apply(SumOp, axis=[2]), classes - 1)


def multinomial(logits: Term, count: int, dtype: Dtype = _INT, seed: int | None = None) -> Term:
    """`chosen` by the logarithms of odds."""
    if len(logits.shape) != 2 or not is_float(logits.dtype) or same(logits.shape[1], 0):
        logits.ctx.fail("logarithms (batch, classes)", f"{logits.dtype} of shape {list(logits.shape)}")
    x = logits.to(number_type(logits.dtype))
    return chosen(exp(x - x.apply(MaxOp, axis=[1], keepdims=True)), count, seed).to(dtype)


_SATURATION = -1.7580993408473766
"""The value of SELU at minus infinity, which alpha dropout puts in the place of elements."""


def of_channels(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """The shape of a mask of whole channels, which lie along an axis."""
    return tuple(extent if at in (0, axis % len(shape)) else 1 for at, extent in enumerate(shape))


def dropout(x: Term, rate: float, shape: Sequence[int] | None = None, seed: int | None = None) -> tuple[Term, Term]:
    """The data without a random part, the rest as much larger; and a mask, of a shape, of that rest."""
    kept = below(x.ctx, 1.0 - rate, x.shape if shape is None else shape, x.dtype, seed)
    return where(kept, x * (1 / (1 - rate) if rate < 1 else 0.0), 0.0), kept


def alpha_dropout(x: Term, rate: float, shape: Sequence[int] | None = None, seed: int | None = None) -> Term:
    """The data, of which a part is as SELU's least value, brought to the mean and variance that all had."""
    if rate >= 1:
        return x * 0.0
    factor = 1 / sqrt((1 - rate) * (1 + rate * _SATURATION**2))
    kept = below(x.ctx, 1.0 - rate, x.shape if shape is None else shape, x.dtype, seed)
    return where(kept, x * factor, _SATURATION * factor) - _SATURATION * factor * rate
