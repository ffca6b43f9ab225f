"""DFT and STFT. Signals have real, or real and imaginary, parts along the last axis."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import GreaterOp, MultiplyOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.signal import DftOp, StftOp
from ...dialects.relay.transform import SqueezeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, proves, same
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, places, where
from ..meanings.pads import padded
from .context import Context
from .known import filled_value
from .shaping import axis_of


def _parts(ctx: Context, data: SSAValue) -> list[SSAValue]:
    """Real and, where there is one, imaginary part."""
    last = len(shape_of(data)) - 1
    count = shape_of(data)[last]
    if count not in (1, 2):
        ctx.fail("1 or 2 parts along the last axis", str(count))
    cut = [
        ctx.emit(StridedSliceOp, data, begin=(at,), end=(at + 1,), strides=(1,), axes=(last,)) for at in range(count)
    ]
    return [ctx.emit(SqueezeOp, part, axis=(last,)) for part in cut]


def _zeros(ctx: Context, like: SSAValue) -> SSAValue:
    return filled_value(ctx, np.zeros((), dtype_of(like)), shape_of(like), "zeros")


def _fitted(ctx: Context, part: SSAValue, length: int) -> SSAValue:
    """The first elements along the last axis, or zeros behind."""
    shape = shape_of(part)
    if length == shape[-1]:
        return part
    return padded(Term(ctx, part), [*[(0, 0)] * (len(shape) - 1), (0, length - shape[-1])]).value


def dft(ctx: Context) -> SSAValue:
    """dft along the last axis, to which the axis is brought; of one side, the other is that of a real signal."""
    rank = len(ctx.shape(0))
    if ctx.opset >= 20:
        axis = axis_of(ctx, int(ctx.single(2, "an axis")) if ctx.has(2) else -2, rank)
    else:
        axis = axis_of(ctx, ctx.int("axis", 1), rank)
    if axis == rank - 1:
        ctx.fail("an axis before the last", str(axis))
    inverse, onesided = ctx.flag("inverse"), ctx.flag("onesided")
    extent = ctx.shape(0)[axis]
    length = 2 * (extent - 1) if inverse and onesided else extent
    if ctx.has(1):
        length = ctx.size(1, "a length")
    ctx.require_least(extent, 1, f"whether there is one of {extent} elements")
    if same(extent, 0):
        ctx.fail("a signal of at least one element", str(list(ctx.shape(0))))
    order = (*(at for at in range(rank - 1) if at != axis), axis)
    back = [order.index(at) for at in range(rank - 1)]
    given = length // 2 + 1 if inverse and onesided else length
    parts = [_fitted(ctx, ctx.emit(TransposeOp, part, axes=order), given) for part in _parts(ctx, ctx.value(0))]
    if len(parts) == 1:
        parts.append(_zeros(ctx, parts[0]))
    if inverse and onesided:
        parts = _two_sided(ctx, parts, length)
    found = ctx.emit_all(DftOp, *parts, inverse=inverse)
    if onesided:
        found = found[:1] if inverse else [_fitted(ctx, part, length // 2 + 1) for part in found]
    return ctx.emit(StackOp, *(ctx.emit(TransposeOp, part, axes=back) for part in found), axis=-1)


def _two_sided(ctx: Context, parts: list[SSAValue], length: int) -> list[SSAValue]:
    """The other half of a spectrum whose signal is real: conjugates, in reverse order."""
    if isinstance(cast(Size, length), SizeExpr):
        return _open_two_sided(ctx, parts, length)
    places = np.arange(length)
    mirrored = places > length // 2
    where = ctx.constant(np.where(mirrored, length - places, places), "mirrored")
    whole = [ctx.emit(TakeOp, part, where, axis=len(shape_of(part)) - 1) for part in parts]
    # What is not conjugated has no imaginary part.
    alone = (places == 0) | (2 * places == length)
    sign = np.where(alone, 0, np.where(mirrored, -1, 1)).astype(dtype_of(parts[0]))
    return [whole[0], ctx.emit(MultiplyOp, whole[1], ctx.constant(sign, "sign"))]


def _open_two_sided(ctx: Context, parts: list[SSAValue], length: int) -> list[SSAValue]:
    """The same of a length that the call decides."""
    at = places(ctx, length)
    mirrored = Term(ctx, ctx.emit(GreaterOp, at.value, ctx.scalar(length // 2, at.value)))
    from_end = at * -1 + length
    source = where(mirrored, from_end, at)
    whole = [ctx.emit(TakeOp, part, source.value, axis=len(shape_of(part)) - 1) for part in parts]
    one = Term(ctx, whole[0]).number(1)
    sign = where(mirrored, one * -1, one)
    sign = where((at * 2).equal(length), 0, where(at.equal(0), 0, sign))
    return [whole[0], ctx.emit(MultiplyOp, whole[1], sign.value)]


def stft(ctx: Context) -> SSAValue:
    """stft of a real signal; of a complex one, dft of its frames."""
    step = int(ctx.single(1, "a frame step"))
    length = ctx.shape(2)[0] if ctx.has(2) else ctx.shape(0)[1]
    if ctx.has(3):
        length = ctx.size(3, "a frame length")
    data = ctx.value(0)
    window = ctx.value(2) if ctx.has(2) else filled_value(ctx, np.ones((), dtype_of(data)), (length,), "window")
    onesided = ctx.flag("onesided", True)
    samples = ctx.shape(0)[1]
    if proves(length, "<", 1) or proves(samples, "<", length):
        ctx.fail(f"windows of 1 to {samples} samples", str(length))
    ctx.require(length - 1)
    ctx.require_least(samples, length, f"whether {samples} samples are {length}")
    parts = _parts(ctx, data) if len(shape_of(data)) == 3 else [data]
    if len(parts) == 1:
        spectrum = ctx.emit(
            StftOp,
            parts[0],
            window,
            n_fft=length,
            hop_length=step,
            win_length=shape_of(window)[0],
            onesided=onesided,
        )
        return ctx.emit(TransposeOp, spectrum, axes=(0, 2, 1, 3))
    count = (shape_of(parts[0])[1] - length) // step + 1
    if isinstance(cast(Size, count), int) and isinstance(cast(Size, length), int):
        positions = ctx.constant(np.arange(count)[:, None] * step + np.arange(length), "frames")
    else:
        positions = (places(ctx, count, 2) * step + places(ctx, length, 2, 1)).value
    frames = [ctx.emit(MultiplyOp, ctx.emit(TakeOp, part, positions, axis=1), window) for part in parts]
    spectrum = ctx.emit_all(DftOp, *frames)
    return ctx.emit(StackOp, *(_fitted(ctx, p, length // 2 + 1 if onesided else length) for p in spectrum), axis=-1)


TABLE = {"DFT": Converter(dft), "STFT": Converter(stft)}
