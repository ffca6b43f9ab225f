"""Numbers rounded as a quantised network would have them, as training with quantisation writes it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...dialects.relay import elementwise as ew
from ...support.dtypes import Array
from ..importing.attributes import Flag, Float, Floats, Int
from ..importing.rows import row
from ..importing.terms import Term, constant, maximum, minimum
from ..meanings.sorting import bucketize


def _rounded(x: Term, low: Any, high: Any, bits: int, narrow: bool) -> Term:
    """Between the nearest numbers to `low` and `high` that have 0 as one of the steps between them (float32)."""
    low, high, first = np.float32(low), np.float32(high), int(narrow)
    if not 2 <= bits <= 16 or not (low < high).all():
        x.ctx.fail("2 to 16 bits and a range of numbers", f"{bits} bits, {low.tolist()} to {high.tolist()}")
    last = np.float32((1 << bits) - 1)
    scale = (high - low) / (last - np.float32(first))
    zero = np.clip(first - low / scale, first, last)
    zero = np.floor(zero + np.float32(0.5))
    least, most = (first - zero) * scale, (last - zero) * scale
    inverse = np.float32(1) / scale
    steps = np.floor(-least * inverse + np.float32(0.5))
    x = maximum(minimum(x, _term(x, most)), _term(x, least)) - _term(x, least)
    return (x * _term(x, inverse) - _term(x, steps) + 0.5).apply(ew.FloorOp) * _term(x, scale)


def _term(x: Term, array: Any) -> Term:
    return constant(x.ctx, cast(Array, np.asarray(array, np.float32)), "range")


_BITS, _NARROW = Int(8, name="num_bits"), Flag(False, name="narrow_range")
_RANGES = row(_rounded, "inputs min:array max:array", bits=_BITS, narrow=_NARROW)
"""A range for all numbers, or one for each channel, which are along the last axis."""
TABLE = {
    "Bucketize": row(bucketize, "input", edges=Floats((), name="boundaries")),
    "FakeQuantWithMinMaxArgs": row(
        _rounded, "inputs", low=Float(-6.0, name="min"), high=Float(6.0, name="max"), bits=_BITS, narrow=_NARROW
    ),
    "FakeQuantWithMinMaxVars": _RANGES,
    "FakeQuantWithMinMaxVarsPerChannel": _RANGES,
}
