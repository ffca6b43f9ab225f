"""Transforms of real images, and the parts of complex numbers. A complex tensor is one of floats here, whose last axis
has real and imaginary parts; only these operators take one."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.signal import DftOp
from ...dialects.relay.transform import PadOp, SqueezeOp, StridedSliceOp, TransposeOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, sqrt
from .context import Context
from .shaping import cut

COMPLEX = "COMPLEX64"


def _fitted(ctx: Context, x: SSAValue, extents: tuple[int, int]) -> SSAValue:
    """With the last two axes cut, or filled up with zeros, to extents."""
    shape = shape_of(x)
    end = [*shape[:-2], *(min(n, wanted) for n, wanted in zip(shape[-2:], extents, strict=True))]
    x = ctx.emit(StridedSliceOp, x, begin=[0] * len(shape), end=end, strides=[1] * len(shape))
    width = [0] * (2 * len(shape))
    width[-3::2] = [wanted - n for n, wanted in zip(end[-2:], extents, strict=True)]
    return ctx.emit(PadOp, x, ctx.number(0, "float32"), pad_width=width) if any(width) else x


def rfft2d(ctx: Context) -> SSAValue:
    """Of real images along the last two axes; of the last only frequencies that are not negative."""
    lengths = ctx.known_ints(1, "lengths")
    if len(lengths) != 2 or any(n < 1 or n & (n - 1) for n in lengths) or len(ctx.shape(0)) < 2:
        ctx.fail("images, and two lengths that are powers of 2", f"{list(ctx.shape(0))} and {list(lengths)}")
    real = _fitted(ctx, ctx.value(0), (lengths[0], lengths[1]))
    rank = len(shape_of(real))
    order = [*range(rank - 2), rank - 1, rank - 2]
    found = ctx.emit_all(DftOp, real, (Term(ctx, real) * 0.0).value)
    halves = [cut(ctx, part, rank - 1, 0, lengths[1] // 2 + 1) for part in found]
    found = ctx.emit_all(DftOp, *(ctx.emit(TransposeOp, part, axes=order) for part in halves))
    return ctx.emit(StackOp, [ctx.emit(TransposeOp, part, axes=order) for part in found], axis=-1)


def _part(ctx: Context, at: int) -> Term:
    x = ctx.value(0)
    axis = len(shape_of(x)) - 1
    return Term(ctx, ctx.emit(SqueezeOp, cut(ctx, x, axis, at, at + 1), axis=(axis,)))


def length(ctx: Context) -> SSAValue:
    re, im = _part(ctx, 0), _part(ctx, 1)
    return sqrt(re * re + im * im).value


def real(ctx: Context) -> SSAValue:
    return _part(ctx, 0).value


def imaginary(ctx: Context) -> SSAValue:
    return _part(ctx, 1).value


TABLE = {
    "COMPLEX_ABS": Converter(length),
    "IMAG": Converter(imaginary),
    "REAL": Converter(real),
    "RFFT2D": Converter(rfft2d),
}
