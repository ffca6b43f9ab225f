"""Resized images of integers, and logarithms of softmax."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.division import TruncDivideOp
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.transform import TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.terms import Term, log, term, where
from .context import Context
from .fixed_point import out_scale, scale_of
from .indexing import size_of

_ONE = 1 << 10
"""Coordinates are counted in steps of this part of a pixel."""


def _neighbours(ctx: Context, extent: int, size: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """For each place of the result the pixel before, the one after, and how far it is from the first."""
    step = (_ONE * extent + size // 2) // size
    if ctx.flag("AlignCorners") and size > 1:
        step = (_ONE * (extent - 1) + (size - 1) // 2) // (size - 1)
    places = np.arange(size) * step
    if ctx.flag("HalfPixelCenters"):
        places = places + step // 2 - _ONE // 2
    # C++ divides towards zero.
    before = np.maximum(np.trunc(places / _ONE).astype(np.int64), 0)
    after = np.minimum(np.trunc((places + _ONE - 1) / _ONE).astype(np.int64), extent - 1)
    return before, after, places - _ONE * before


def _places(ctx: Context, extent: int, size: int) -> tuple[tuple[AnyArray, AnyArray], tuple[AnyArray, AnyArray]]:
    """The pixels before and after each place, and their weights, in float32 as the kernel rounds."""
    places = np.arange(size, dtype=np.float32)
    if ctx.flag("AlignCorners") and size > 1:
        scaled = places * (np.float32(extent - 1) / np.float32(size - 1))
    elif ctx.flag("HalfPixelCenters"):
        scaled = (places + np.float32(0.5)) * (np.float32(extent) / np.float32(size)) - np.float32(0.5)
    else:
        scaled = places * (np.float32(extent) / np.float32(size))
    before = np.maximum(np.floor(scaled), 0).astype(np.int32)
    after = np.minimum(np.ceil(scaled), extent - 1).astype(np.int32)
    far = scaled - before.astype(np.float32)
    return (before, after), (np.float32(1) - far, far)


def _resized_as_floats(ctx: Context) -> SSAValue:
    """Four neighbours times both weights of each, summed in the order of the kernel, rounded upward at halves."""
    (height, width), (_, *image, _) = size_of(ctx), ctx.shape(0)
    rows, row_weights = _places(ctx, image[0], height)
    columns, column_weights = _places(ctx, image[1], width)
    x, parts = term(ctx, 0).to("float32"), list[Term]()
    for column in (0, 1):
        for row in (0, 1):
            pixels = ctx.emit(TakeOp, x.value, ctx.constant(rows[row], "rows"), axis=1)
            pixels = Term(ctx, ctx.emit(TakeOp, pixels, ctx.constant(columns[column], "columns"), axis=2))
            down = ctx.constant(row_weights[row].reshape(1, height, 1, 1), "weights")
            across = ctx.constant(column_weights[column].reshape(1, 1, width, 1), "weights")
            parts.append(pixels * Term(ctx, down) * Term(ctx, across))
    total = parts[0] + parts[1] + parts[2] + parts[3] + 0.5
    return total.to("int32").to("uint8").value


def resize_bilinear(ctx: Context) -> SSAValue:
    """In integers: weights of 10 bits along each axis, the sum rounded with halves away from 0. uint8 as floats."""
    if ctx.info(0).type == "UINT8":
        return _resized_as_floats(ctx)
    size, (_, *image, _) = size_of(ctx), ctx.shape(0)
    dtype = "int64" if ctx.info(0).type == "INT16" else "int32"
    found = [term(ctx, 0).to(dtype)]
    for axis, (extent, wanted) in enumerate(zip(image, size, strict=True), 1):
        before, after, far = _neighbours(ctx, extent, wanted)
        shape = tuple(wanted if at == axis else 1 for at in range(4))
        (x,) = found
        parts: list[Term] = []
        for pixels, weight in ((before, _ONE - far), (after, far)):
            part = ctx.emit(TakeOp, x.value, ctx.constant(pixels.astype(np.int32), "pixels"), axis=axis)
            parts.append(Term(ctx, part) * Term(ctx, ctx.constant(weight.astype(dtype).reshape(shape), "weights")))
        found = [parts[0] + parts[1]]
    (total,) = found
    half = _ONE * _ONE // 2
    moved = where(total > 0, total + half, total - half).apply(TruncDivideOp, _ONE * _ONE)
    return moved.to(ctx.out().type.lower()).value


def log_softmax(ctx: Context) -> SSAValue:
    """By a table of exponentials of how far a number is below the largest of its row; halves to even."""
    x = term(ctx, 0).to("int32")
    if ctx.info(0).type == "INT16":
        ctx.fail("numbers of 8 bits", "int16")
    largest = x.apply(reduce.MaxOp, axis=[-1], keepdims=True)
    step = np.float32(scale_of(ctx, 0))
    powers = np.exp(-step * np.arange(256, dtype=np.float32)).astype(np.float32)
    table = ctx.constant(powers, "exponentials")
    total = log(Term(ctx, ctx.emit(TakeOp, table, (largest - x).value, axis=0)).sum(-1))
    real = x.to("float32") * float(step) - (largest.to("float32") * float(step) + total)
    zero, dtype = int(ctx.out_quantization().zero_point[0]), ctx.out().type.lower()
    steps = (real / out_scale(ctx)).apply(ew.RoundOp).to("int32") + zero
    return steps.clip(*map(float, limits(dtype))).to(dtype).value


QUANTIZED = {
    "LOG_SOFTMAX": Converter(log_softmax),
    "RESIZE_BILINEAR": Converter(resize_bilinear),
}
