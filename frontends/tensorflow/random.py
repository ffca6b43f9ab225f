"""Random numbers of a node's seeds, or of the program's; other ones than TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.reduce import MaxOp
from ...dialects.sizes import proves
from ..importing.converter import Converter
from ..importing.draws import chosen, integers, normal, number_type, uniform
from ..importing.terms import Term, exp, term
from .context import Context


def _seed(ctx: Context) -> int | None:
    """The two seeds of a node together; None, for the program's, where both are 0."""
    first, second = (ctx.int(name, 0) & 0xFFFFFFFF for name in ("seed", "seed2"))
    return (second << 32 | first) or None


def _shape(ctx: Context, dtype: np.dtype[np.generic]) -> tuple[int, ...]:
    shape = ctx.known_ints(0, "a shape")
    if any(proves(extent, "<", 0) for extent in shape):
        ctx.fail("extents of at least 0", str(list(shape)))
    ctx.fits(shape, dtype)
    return tuple(shape)


def _numbers(draw: Callable[..., Term]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        dtype = ctx.element("dtype", np.dtype("float32"))
        return draw(ctx, _shape(ctx, dtype), number_type(dtype), _seed(ctx)).to(dtype).value

    return Converter(convert)


def _whole_numbers(ctx: Context) -> SSAValue:
    """From `minval` to before `maxval`, both known."""
    low, high = ctx.one(1, "a least number"), ctx.one(2, "a number above all")
    dtype = ctx.dtype(1)
    return integers(ctx, low, high, _shape(ctx, dtype), _seed(ctx)).to(dtype).value


def _multinomial(ctx: Context) -> SSAValue:
    """For each row of logarithms (batch, classes) so many classes, by their probabilities."""
    logits, count = term(ctx, 0), ctx.one(1, "a number of samples")
    if len(logits.shape) != 2:
        ctx.fail("logarithms (batch, classes)", str(list(logits.shape)))
    logits = logits.to(number_type(logits.dtype))
    odds = exp(logits - logits.apply(MaxOp, axis=[1], keepdims=True))
    return chosen(ctx, odds, count, _seed(ctx)).to(ctx.element("output_dtype", np.dtype("int64"))).value


TABLE = {
    "Multinomial": Converter(_multinomial),
    "RandomStandardNormal": _numbers(normal),
    "RandomUniform": _numbers(uniform),
    "RandomUniformInt": Converter(_whole_numbers),
}
