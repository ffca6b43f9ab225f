"""Resized images of integers, and logarithms of softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.division import TruncDivideOp
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.transform import TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, constant, log, term, where
from .context import Context
from .fixed_point import out_scale, scale_of
from .images import ALIGNED, CENTRED, check_size

_ONE = 1 << 10
"""Coordinates are counted in steps of this part of a pixel."""


def _neighbours(extent: int, size: int, aligned: bool, centred: bool) -> tuple[AnyArray, AnyArray, AnyArray]:
    """For each place of the result the pixel before, the one after, and how far it is from the first."""
    step = (_ONE * extent + size // 2) // size
    if aligned and size > 1:
        step = (_ONE * (extent - 1) + (size - 1) // 2) // (size - 1)
    places = np.arange(size) * step
    if centred:
        places = places + step // 2 - _ONE // 2
    # C++ divides towards zero.
    before = np.maximum(np.trunc(places / _ONE).astype(np.int64), 0)
    after = np.minimum(np.trunc((places + _ONE - 1) / _ONE).astype(np.int64), extent - 1)
    return before, after, places - _ONE * before


def _places(
    extent: int, size: int, aligned: bool, centred: bool
) -> tuple[tuple[AnyArray, AnyArray], tuple[AnyArray, AnyArray]]:
    """The pixels before and after each place, and their weights, in float32 as the kernel rounds."""
    places = np.arange(size, dtype=np.float32)
    if aligned and size > 1:
        scaled = places * (np.float32(extent - 1) / np.float32(size - 1))
    elif centred:
        scaled = (places + np.float32(0.5)) * (np.float32(extent) / np.float32(size)) - np.float32(0.5)
    else:
        scaled = places * (np.float32(extent) / np.float32(size))
    before = np.maximum(np.floor(scaled), 0).astype(np.int32)
    after = np.minimum(np.ceil(scaled), extent - 1).astype(np.int32)
    far = scaled - before.astype(np.float32)
    return (before, after), (np.float32(1) - far, far)


def _resized_as_floats(image: Term, size: Sequence[int], aligned: bool, centred: bool) -> Term:
    """Four neighbours times both weights of each, summed in the order of the kernel, rounded upward at halves."""
    (height, width), (_, *extents, _) = size, image.shape
    rows, row_weights = _places(extents[0], height, aligned, centred)
    columns, column_weights = _places(extents[1], width, aligned, centred)
    x, parts = image.to("float32"), list[Term]()
    for column in (0, 1):
        for line in (0, 1):
            pixels = x.apply(TakeOp, constant(x.ctx, rows[line], "rows"), axis=1)
            pixels = pixels.apply(TakeOp, constant(x.ctx, columns[column], "columns"), axis=2)
            down = constant(x.ctx, row_weights[line].reshape(1, height, 1, 1), "weights")
            across = constant(x.ctx, column_weights[column].reshape(1, 1, width, 1), "weights")
            parts.append(pixels * down * across)
    total = parts[0] + parts[1] + parts[2] + parts[3] + 0.5
    return total.to("int32").to("uint8")


def _resize_bilinear(x: Term, size: Sequence[int], aligned: bool, centred: bool) -> Term:
    """In integers: weights of 10 bits along each axis, the sum rounded with halves away from 0. uint8 as floats."""
    check_size(x, size)
    own, (_, *image, _) = x.dtype, x.shape
    if own == np.uint8:
        return _resized_as_floats(x, size, aligned, centred)
    x = x.to("int64" if own == np.int16 else "int32")
    for axis, (extent, wanted) in enumerate(zip(image, size, strict=True), 1):
        before, after, far = _neighbours(extent, wanted, aligned, centred)
        shape = tuple(wanted if at == axis else 1 for at in range(4))
        parts: list[Term] = []
        for pixels, weight in ((before, _ONE - far), (after, far)):
            part = x.apply(TakeOp, constant(x.ctx, pixels.astype(np.int32), "pixels"), axis=axis)
            parts.append(part * constant(x.ctx, weight.astype(x.dtype).reshape(shape), "weights"))
        x = parts[0] + parts[1]
    half = _ONE * _ONE // 2
    return where(x > 0, x + half, x - half).apply(TruncDivideOp, _ONE * _ONE).to(own)


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
    "RESIZE_BILINEAR": row(_resize_bilinear, "input size:ints", aligned=ALIGNED, centred=CENTRED),
}
