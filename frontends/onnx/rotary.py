"""RotaryEmbedding: pairs of features turned by an angle that grows with the position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, MultiplyOp, SubtractOp
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, ReshapeOp, StridedSliceOp, TakeOp
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import term
from ..meanings.indices import check_indices
from .context import Context


def turned(ctx: Context, x: SSAValue, angles: Sequence[SSAValue], interleaved: bool, size: int) -> SSAValue:
    """`x` (.., features) whose first `size` features are turned; `angles` are cosine and sine (.., size / 2).

    A pair are neighbours if `interleaved`, else features half of `size` apart.
    """
    rank, features = len(shape_of(x)), shape_of(x)[-1]
    cos, sin = angles

    def part(begin: int, end: int, stride: int = 1) -> SSAValue:
        return ctx.emit(StridedSliceOp, x, begin=(begin,), end=(end,), strides=(stride,), axes=(rank - 1,))

    half = size // 2
    first, second = (part(0, size, 2), part(1, size, 2)) if interleaved else (part(0, half), part(half, size))
    real = ctx.emit(SubtractOp, ctx.emit(MultiplyOp, first, cos), ctx.emit(MultiplyOp, second, sin))
    imaginary = ctx.emit(AddOp, ctx.emit(MultiplyOp, first, sin), ctx.emit(MultiplyOp, second, cos))
    if interleaved:
        pair = [ctx.emit(ExpandDimsOp, value, axis=rank) for value in (real, imaginary)]
        both = ctx.emit(ConcatenateOp, pair, axis=rank)
        parts = [ctx.emit(ReshapeOp, both, newshape=(*shape_of(x)[:-1], size))]
    else:
        parts = [real, imaginary]
    if size < features:
        parts.append(part(size, features))
    return parts[0] if len(parts) == 1 else ctx.emit(ConcatenateOp, parts, axis=rank - 1)


def rotary(ctx: Context, x: SSAValue, cos: SSAValue, sin: SSAValue, positions: SSAValue | None) -> SSAValue:
    """`x` (batch, heads, length, size) or (batch, length, heads * size).

    The caches are (places, size / 2), of which `positions` (batch, length) are taken, or (batch, length, size / 2).
    """
    shape = shape_of(x)
    heads = ctx.int("num_heads", 0)
    if len(shape) == 3:
        if heads < 1 or shape[2] % heads:
            ctx.fail(f"a hidden size that num_heads={heads} share", str(shape[2]))
        x = ctx.emit(ReshapeOp, x, newshape=(*shape[:2], heads, shape[2] // heads))
    axis = 2 if len(shape) == 3 else 1
    size = ctx.int("rotary_embedding_dim", 0) or shape_of(x)[3]
    angles: list[SSAValue] = []
    for cache in (cos, sin):
        if positions is not None:
            cache = ctx.emit(TakeOp, cache, positions, axis=0)
        if shape_of(cache)[-1] != size // 2 or len(shape_of(cache)) != 3:
            ctx.fail(f"caches of {size // 2} columns", str(list(shape_of(cache))))
        angles.append(ctx.emit(ExpandDimsOp, cache, axis=axis))
    result = turned(ctx, x, angles, ctx.is_one("interleaved"), size)
    return reshaped(ctx, result, shape)


def rotary_embedding(ctx: Context) -> SSAValue:
    ctx.require_shape(2, ctx.shape(1), "sines as many as cosines")
    positions = ctx.value(3) if ctx.has(3) else None
    if positions is not None:
        check_indices(term(ctx, 3), ctx.shape(1)[:1])
    return rotary(ctx, ctx.value(0), ctx.value(1), ctx.value(2), positions)


def microsoft_rotary_embedding(ctx: Context) -> SSAValue:
    """Positions come second: (batch, length), or the first of the length, for all."""
    ctx.only("is_packed_batching", 0)
    ctx.only("scale", 1.0)
    x, positions = ctx.value(0), ctx.value(1)
    shape = shape_of(x)
    length = shape[1] if len(shape) == 3 else shape[2]
    if shape_of(positions) in ((1,), ()):
        steps = ctx.constant(np.arange(length, dtype=dtype_of(positions)).reshape(1, length), "places")
        positions = ctx.emit(AddOp, reshaped(ctx, positions, (1, 1)), steps)
    if ctx.int("num_heads", 0) == 0 and len(shape) == 3 and not ctx.int("rotary_embedding_dim", 0):
        # Without a number of heads, the caches say how large one is.
        size = 2 * ctx.shape(2)[1]
        apart = ctx.emit(ReshapeOp, x, newshape=(*shape[:2], shape[2] // size, size))
        angles = [
            ctx.emit(ExpandDimsOp, ctx.emit(TakeOp, ctx.value(index), positions, axis=0), axis=2) for index in (2, 3)
        ]
        return reshaped(ctx, turned(ctx, apart, angles, ctx.is_one("interleaved"), size), shape)
    return rotary(ctx, x, ctx.value(2), ctx.value(3), positions)


TABLE = {
    "RotaryEmbedding": Converter(rotary_embedding),
}
MICROSOFT = {
    "RotaryEmbedding": Converter(microsoft_rotary_embedding),
}
