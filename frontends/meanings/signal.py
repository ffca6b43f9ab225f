"""Fourier transforms of signals, whose real and imaginary parts lie along the last axis, and windows over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...dialects.relay.signal import DftOp
from ...dialects.sizes import decide, size_max, symbols_of
from ...support.dtypes import Array
from ..importing.context import Context
from ..importing.terms import Term, constant, cos, places
from .creation import fill
from .pads import fitted
from .slices import unstack


def parts_of(x: Term) -> tuple[Term, ...]:
    """The real and, where there is one, the imaginary part."""
    if (count := x.shape[-1]) not in (1, 2):
        x.ctx.fail("1 or 2 parts along the last axis", str(count))
    return unstack(x, -1, count)


def transformed(parts: Sequence[Term], length: int, inverse: bool = False) -> tuple[Term, Term]:
    """The transform along the last axis of a real part, or of both, which are cut off at a length or filled with 0."""
    real, *others = (fitted(part, len(part.shape) - 1, length) for part in parts)
    ctx = real.ctx
    (imaginary,) = others or (fill(ctx, real.shape, constant(ctx, np.zeros((), real.dtype), "scalar")),)
    re, im = ctx.emit_all(DftOp, real.value, imaginary.value, inverse=inverse)
    return Term(ctx, re), Term(ctx, im)


def cosine_window(
    shares: Sequence[float], ctx: Context, size: int, dtype: np.dtype[Any], periodic: bool
) -> Term | Array:
    """The sum of cosines of 0, 1, .. periods over a length, of these shares: known where the size is."""
    if decide(0, "<=", size) is False:
        ctx.fail("a size of at least 0", str(size))
    length = size if periodic else size - 1
    if symbols_of(size):
        at = places(ctx, size, dtype="float64")
        turns = at / at.number(size_max(length, 1))
        waves = [cos(turns * (2 * np.pi * periods)) * share for periods, share in enumerate(shares) if periods]
        return (reduce(Term.__add__, waves) + shares[0]).to(dtype)
    ctx.fits((size,), dtype)
    angles = 2 * np.pi * np.arange(size) / max(length, 1)
    return np.sum([share * np.cos(periods * angles) for periods, share in enumerate(shares)], axis=0).astype(dtype)
