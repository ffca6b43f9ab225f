"""Random numbers of the options' seeds, or of the program's; other ones than LiteRT's."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.operator import Operator
from ...dialects.relay.random import DrawNormalOp, DrawUniformOp
from ...dialects.relay.reduce import MaxOp
from ..importing.converter import Converter
from ..importing.draws import chosen, drawn
from ..importing.terms import exp, term
from .context import Context
from .values import DTYPES


def _seed(ctx: Context) -> int | None:
    """Of two seeds of the options; without any, None for the program's."""
    first, second = (int(ctx.int(name, 0)) & 0xFFFFFFFF for name in ("Seed", "Seed2"))
    return (second << 32 | first) or None


def _random(op: type[Operator]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        shape = ctx.known_ints(0, "a shape")
        if min(shape, default=0) < 0:
            ctx.fail("a shape of positive extents", str(list(shape)))
        ctx.fits(shape, np.dtype(np.float32))
        return drawn(ctx, op, shape, "float32", _seed(ctx))

    return Converter(convert)


def multinomial(ctx: Context) -> SSAValue:
    """For each row of logarithms (batch, classes) so many classes at random, by their probabilities."""
    (count,) = ctx.known_ints(1, "a number of samples") or (0,)
    if len(ctx.shape(0)) != 2 or not ctx.shape(0)[1] or count < 0 or ctx.out().type not in ("INT32", "INT64"):
        ctx.fail("logarithms (batch, classes), integers as classes", f"{list(ctx.shape(0))} and {ctx.out().type}")
    batch, classes = ctx.shape(0)
    ctx.fits((batch, count, classes), np.dtype(np.float32))
    odds = exp(term(ctx, 0) - term(ctx, 0).apply(MaxOp, axis=[1], keepdims=True))
    return chosen(ctx, odds, count, _seed(ctx)).to(DTYPES[ctx.out().type].name).value


TABLE = {
    "MULTINOMIAL": Converter(multinomial),
    "RANDOM_STANDARD_NORMAL": _random(DrawNormalOp),
    "RANDOM_UNIFORM": _random(DrawUniformOp),
}
