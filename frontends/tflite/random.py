"""Random numbers: the same in every call, as a seed says; other ones than LiteRT's, which go on from call to call."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.logic import LessEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.random import SeededNormalOp, SeededUniformOp
from ...dialects.relay.reduce import MaxOp
from ..importing.converter import Converter
from ..importing.terms import Term, exp, term
from .context import Context
from .values import DTYPES


def _seed(ctx: Context) -> int:
    """Of two seeds of the options; without any, of where the operator stands."""
    first, second = (int(ctx.option(name, 0)) & 0xFFFFFFFF for name in ("Seed", "Seed2"))
    return (second << 32 | first) or ctx.node.index + 1


def _random(op: type[Operator]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        shape = ctx.known_ints(0, "a shape")
        if min(shape, default=0) < 0:
            ctx.fail("a shape of positive extents", str(list(shape)))
        ctx.fits(shape, np.dtype(np.float32))
        return ctx.emit(op, shape=shape, dtype="float32", seed=_seed(ctx))

    return Converter(convert)


def multinomial(ctx: Context) -> SSAValue:
    """For each row of logarithms (batch, classes) so many classes at random: how many sums of the probabilities before
    a class are at most an even number."""
    (count,) = ctx.known_ints(1, "a number of samples") or (0,)
    if len(ctx.shape(0)) != 2 or not ctx.shape(0)[1] or count < 0 or ctx.out().type not in ("INT32", "INT64"):
        ctx.fail("logarithms (batch, classes), integers as classes", f"{list(ctx.shape(0))} and {ctx.out().type}")
    batch, classes = ctx.shape(0)
    ctx.fits((batch, count, classes), np.dtype(np.float32))
    odds = exp(term(ctx, 0) - term(ctx, 0).apply(MaxOp, axis=[1], keepdims=True))
    below = odds.apply(CumsumOp, axis=1)
    even = Term(ctx, ctx.emit(SeededUniformOp, shape=(batch, count), dtype="float32", seed=_seed(ctx)))
    even = (even * odds.sum(1)).reshape(batch, count, 1)
    passed = Term(ctx, ctx.emit(LessEqualOp, below.reshape(batch, 1, classes).value, even.value)).to("int32")
    found = passed.sum(2).reshape(batch, count).clip(0.0, classes - 1.0)
    return found.to(DTYPES[ctx.out().type].name).value


TABLE = {
    "MULTINOMIAL": Converter(multinomial),
    "RANDOM_STANDARD_NORMAL": _random(SeededNormalOp),
    "RANDOM_UNIFORM": _random(SeededUniformOp),
}
