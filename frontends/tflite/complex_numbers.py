"""Transforms of real images, and the parts of complex numbers. A complex tensor is one of floats here, whose last axis
has real and imaginary parts; only these operators take one."""

from __future__ import annotations

from collections.abc import Sequence

from ..importing.rows import row
from ..importing.terms import Term, sqrt
from ..meanings.moves import stack, swap_last
from ..meanings.signal import parts_of, transformed
from ..meanings.slices import cut, element

COMPLEX = "COMPLEX64"


def rfft2d(x: Term, lengths: Sequence[int]) -> Term:
    """Of real images along the last two axes; of the last only frequencies that are not negative."""
    if len(lengths) != 2 or any(n < 1 or n & (n - 1) for n in lengths) or len(x.shape) < 2:
        x.ctx.fail("images, and two lengths that are powers of 2", f"{list(x.shape)} and {list(lengths)}")
    rows, columns = lengths
    halves = (cut(part, len(x.shape) - 1, 0, columns // 2 + 1) for part in transformed([x], columns))
    return stack(*map(swap_last, transformed([swap_last(part) for part in halves], rows)), axis=-1)


def length(x: Term) -> Term:
    re, im = parts_of(x)
    return sqrt(re * re + im * im)


def real(x: Term) -> Term:
    return element(x, len(x.shape) - 1, 0)


def imaginary(x: Term) -> Term:
    return element(x, len(x.shape) - 1, 1)


TABLE = {
    "COMPLEX_ABS": row(length, "x"),
    "IMAG": row(imaginary, "x"),
    "REAL": row(real, "x"),
    "RFFT2D": row(rfft2d, "images lengths:ints"),
}
