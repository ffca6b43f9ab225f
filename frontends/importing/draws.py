"""Random numbers of a node: of a seed of its own, or of the program's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.logic import LessEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.random import DrawNormalOp, DrawUniformOp
from ...dialects.relay.reduce import SumOp
from .context import Context
from .terms import Term, minimum


def drawn(
    ctx: Context, op: type[Operator], shape: Sequence[int], dtype: str, seed: int | None, **ends: float
) -> SSAValue:
    """Numbers of a shape and dtype, a float dtype; `ends` are attributes of the operator."""
    return ctx.emit(op, shape=tuple(shape), dtype=dtype, seed=seed, **ends)


def uniform(ctx: Context, shape: Sequence[int], dtype: str = "float32", seed: int | None = None) -> Term:
    """Numbers evenly distributed in [0, 1)."""
    return Term(ctx, drawn(ctx, DrawUniformOp, shape, dtype, seed))


def normal(ctx: Context, shape: Sequence[int], dtype: str = "float32", seed: int | None = None) -> Term:
    """Numbers of the standard normal distribution."""
    return Term(ctx, drawn(ctx, DrawNormalOp, shape, dtype, seed))


def integers(ctx: Context, low: int, high: int, shape: Sequence[int], seed: int | None = None) -> Term:
    """Whole numbers (int64) evenly distributed in [low, high)."""
    if high <= low:
        ctx.fail("an upper end above the lower one", f"[{low}, {high})")
    even = uniform(ctx, shape, "float64", seed)
    # The largest fraction times a large number rounds up to it.
    return minimum((even * float(high - low)).to("int64"), high - low - 1) + low


def chosen(ctx: Context, odds: Term, count: int, seed: int | None = None) -> Term:
    """For each row of odds (batch, classes), `count` classes (int32) with replacement, by their share of the sum.

    A sample is the number of classes up to which the odds sum up to at most a random part of the whole.
    """
    rows, classes = odds.shape
    below = odds.apply(CumsumOp, axis=1)
    even = uniform(ctx, (rows, count), odds.dtype.name, seed) * odds.sum(1)
    passed = Term(ctx, ctx.emit(LessEqualOp, below.reshape(rows, 1, classes).value, even.reshape(rows, count, 1).value))
    return minimum(passed.to("int32").apply(SumOp, axis=[2]), classes - 1)


def number_type(dtype: np.dtype[np.generic]) -> str:
    """The float dtype in which numbers are drawn for what is computed in another one."""
    return "float64" if dtype.name == "float64" else "float32"
