"""Transforms of real images, and the parts of complex numbers. A complex tensor is one of floats here, whose last axis
has real and imaginary parts; only these operators take one."""

from __future__ import annotations

from functools import partial

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.signal import DftOp
from ...dialects.relay.transform import PadOp, SqueezeOp, StridedSliceOp, TransposeOp
from ..importing.rows import row
from ..importing.terms import Term, sqrt
from ..meanings.elementwise import square
from .context import Context
from .shaping import cut

COMPLEX = "COMPLEX64"


def _fitted(x: Term, extents: tuple[int, int]) -> Term:
    """With the last two axes cut, or filled up with zeros, to extents."""
    rank = len(x.shape)
    end = [*x.shape[:-2], *(min(n, wanted) for n, wanted in zip(x.shape[-2:], extents, strict=True))]
    x = x.apply(StridedSliceOp, begin=[0] * rank, end=end, strides=[1] * rank)
    width = [0] * (2 * rank)
    width[-3::2] = [wanted - n for n, wanted in zip(end[-2:], extents, strict=True)]
    return x.apply(PadOp, 0.0, pad_width=width) if any(width) else x


def _rfft2d(ctx: Context, images: Term, lengths: tuple[int, ...]) -> SSAValue:
    """Of real images along the last two axes; of the last only frequencies that are not negative."""
    if len(lengths) != 2 or any(n < 1 or n & (n - 1) for n in lengths) or len(images.shape) < 2:
        ctx.fail("images, and two lengths that are powers of 2", f"{list(images.shape)} and {list(lengths)}")
    real = _fitted(images, (lengths[0], lengths[1]))
    rank = len(real.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    spectrum = ctx.emit_all(DftOp, real.value, (real * 0.0).value)
    halves = [cut(ctx, part, rank - 1, 0, lengths[1] // 2 + 1) for part in spectrum]
    spectrum = ctx.emit_all(DftOp, *(ctx.emit(TransposeOp, part, axes=order) for part in halves))
    return ctx.emit(StackOp, [ctx.emit(TransposeOp, part, axes=order) for part in spectrum], axis=-1)


def _part(x: Term, at: int) -> Term:
    """The real parts, 0, or the imaginary ones, 1."""
    axis = len(x.shape) - 1
    return x.apply(StridedSliceOp, begin=(at,), end=(at + 1,), strides=(1,), axes=(axis,)).apply(
        SqueezeOp, axis=(axis,)
    )


def _length(x: Term) -> Term:
    return sqrt(square(_part(x, 0)) + square(_part(x, 1)))


TABLE = {
    "COMPLEX_ABS": row(_length, "input"),
    "IMAG": row(partial(_part, at=1), "input"),
    "REAL": row(partial(_part, at=0), "input"),
    "RFFT2D": row(_rfft2d, "input lengths:ints"),
}
