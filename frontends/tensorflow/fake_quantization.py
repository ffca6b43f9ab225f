"""Numbers rounded as a quantised network would have them, as training with quantisation writes it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.sorting import SearchSortedOp
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.terms import Term, constant, maximum, minimum, term
from .context import Context


def _rounded(ctx: Context, low: Any, high: Any) -> SSAValue:
    """Between the nearest numbers to `low` and `high` that have 0 as one of the steps between them (float32)."""
    bits, first = ctx.int("num_bits", 8), int(ctx.flag("narrow_range"))
    if not 2 <= bits <= 16 or not (low < high).all():
        ctx.fail("2 to 16 bits and a range of numbers", f"{bits} bits, {low.tolist()} to {high.tolist()}")
    last = np.float32((1 << bits) - 1)
    scale = (high - low) / (last - np.float32(first))
    zero = np.clip(first - low / scale, first, last)
    zero = np.floor(zero + np.float32(0.5))
    least, most = (first - zero) * scale, (last - zero) * scale
    inverse = np.float32(1) / scale
    steps = np.floor(-least * inverse + np.float32(0.5))
    x = maximum(minimum(term(ctx, 0), _term(ctx, most)), _term(ctx, least)) - _term(ctx, least)
    counts = (x * _term(ctx, inverse) - _term(ctx, steps) + 0.5).apply(ew.FloorOp)
    return (counts * _term(ctx, scale)).value


def _term(ctx: Context, array: Any) -> Term:
    return constant(ctx, cast(Array, np.asarray(array, np.float32)), "range")


def by_attributes(ctx: Context) -> SSAValue:
    low, high = (np.float32(ctx.float(name, default)) for name, default in (("min", -6.0), ("max", 6.0)))
    return _rounded(ctx, low, high)


def by_inputs(ctx: Context) -> SSAValue:
    """A range for all numbers, or one for each channel, which are along the last axis."""
    return _rounded(ctx, ctx.array(1, "the least number"), ctx.array(2, "the greatest number"))


def bucketize(ctx: Context) -> SSAValue:
    """The number of boundaries that each number is not below."""
    bounds = np.asarray(() if (stated := ctx.attribute("boundaries")) is None else stated.list.f, np.float32)
    value = term(ctx, 0).to("float32").value
    return ctx.emit(SearchSortedOp, ctx.constant(bounds, "boundaries"), value, right=True, dtype="int32")


TABLE = {
    "Bucketize": Converter(bucketize),
    "FakeQuantWithMinMaxArgs": Converter(by_attributes),
    "FakeQuantWithMinMaxVars": Converter(by_inputs),
    "FakeQuantWithMinMaxVarsPerChannel": Converter(by_inputs),
}
