"""The input of a gate of a recurrent layer in integers, normalised over the units."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.logic import RightShiftOp
from ..importing.terms import Term, where
from .context import Context
from .fixed_point import multiplied, scale_of
from .quantized_quotients import inverse_roots, rescaled

_FINE = 1 << 10
"""Steps between two integers that means are counted in."""
_GUARD = 10_000
"""Of a coefficient's scale: what stands for a variance below 1."""


def normalised(ctx: Context, x: Term, coefficients: int, bias: Term) -> Term:
    """Numbers of 16 bits (batch, units), int32, less their mean, by their deviation, times the coefficients in input
    `coefficients`, plus a bias; int32 in steps of 2^-12, not yet cut off at 16 bits."""
    units = x.shape[-1]
    if ctx.info(coefficients).type != "INT16" or ctx.shape(coefficients) != (units,):
        actual = f"{ctx.info(coefficients).type} of shape {list(ctx.shape(coefficients))}"
        ctx.fail(f"{units} coefficients of int16 as input {coefficients}", actual)
    scale = np.float32(scale_of(ctx, coefficients))
    wide = x.to("int64")
    mean = wide.sum(1) * _FINE / wide.number(units)
    variance = (wide * wide).sum(1) * (_FINE * _FINE // units) - mean * mean
    variance = variance.apply(RightShiftOp, 20)
    variance = where(variance < 1, variance.number(max(1, int(np.float32(_GUARD) * scale))), variance)
    result = rescaled(wide * _FINE - mean, *inverse_roots(ctx, variance)).to("int32")
    result = result * Term(ctx, ctx.value(coefficients)).to("int32") + bias
    # Back to integers, halves away from 0.
    below = where(result < 0, result.number(1), result.number(0))
    result = (result + _FINE // 2 - below).apply(RightShiftOp, 10)
    return Term(ctx, multiplied(ctx, result.value, float(scale) * 2.0**12))
