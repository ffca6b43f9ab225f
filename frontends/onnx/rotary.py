"""RotaryEmbedding: pairs of features turned by an angle that grows with the position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...dialects.relay.transform import ExpandDimsOp, TakeOp
from ..importing.attributes import Flag, Int
from ..importing.rows import row
from ..importing.terms import Term, places
from ..meanings.indices import check_indices
from ..meanings.moves import concatenate, stack
from ..meanings.slices import cut
from .context import Context


def turned(x: Term, cos: Term, sin: Term, interleaved: bool, size: int) -> Term:
    """`x` (.., features) whose first `size` features are turned by angles (.., size / 2).

    A pair are neighbours if `interleaved`, else features half of `size` apart.
    """
    axis, features = len(x.shape) - 1, x.shape[-1]
    half = size // 2
    ends = ((0, size, 2), (1, size, 2)) if interleaved else ((0, half), (half, size))
    first, second = (cut(x, axis, *bounds) for bounds in ends)
    pair = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        pair = (stack(*pair, axis=-1).reshape(*x.shape[:-1], size),)
    rest = [cut(x, axis, size, features)] if size < features else []
    return concatenate(*pair, *rest, axis=axis) if len(pair) + len(rest) > 1 else pair[0]


def _rotary(
    x: Term, cos: Term, sin: Term, positions: Term | None, heads: int, interleaved: bool, size: int, by_cache: bool
) -> Term:
    """`x` (batch, heads, length, size) or (batch, length, heads * size).

    The caches are (places, size / 2), of which `positions` (batch, length) are taken, or (batch, length, size / 2).
    size: of the features that are turned; 0 are all. by_cache: true if, without a number of heads, the caches say it.
    """
    shape, axis = x.shape, 1
    if len(shape) == 3:
        if by_cache and not heads and not size:
            heads = shape[2] // (2 * cos.shape[1])
        if heads < 1 or shape[2] % heads:
            x.ctx.fail(f"a hidden size that num_heads={heads} share", str(shape[2]))
        x, axis = x.reshape(*shape[:2], heads, shape[2] // heads), 2
    size = size or x.shape[3]
    angles: list[Term] = []
    for cache in (cos, sin):
        cache = cache if positions is None else cache.apply(TakeOp, positions, axis=0)
        if cache.shape[-1] != size // 2 or len(cache.shape) != 3:
            x.ctx.fail(f"caches of {size // 2} columns", str(list(cache.shape)))
        angles.append(cache.apply(ExpandDimsOp, axis=axis))
    return turned(x, *angles, interleaved=interleaved, size=size).reshape(*shape)


def _rotary_embedding(
    ctx: Context, x: Term, cos: Term, sin: Term, positions: Term | None, heads: int, interleaved: bool, size: int
) -> Term:
    ctx.require_shape(2, cos.shape, "sines as many as cosines")
    if positions is not None:
        check_indices(positions, cos.shape[:1])
    return _rotary(x, cos, sin, positions, heads, interleaved, size, by_cache=False)


def _rotary_of_microsoft(
    x: Term, positions: Term, cos: Term, sin: Term, heads: int, interleaved: bool, size: int
) -> Term:
    """Positions come second: (batch, length), or the first of the length, for all."""
    ctx = cast(Context, x.ctx)
    ctx.only("is_packed_batching", 0)
    ctx.only("scale", 1.0)
    if positions.shape in ((1,), ()):
        length = x.shape[1] if len(x.shape) == 3 else x.shape[2]
        positions = positions.reshape(1, 1) + places(ctx, length, 2, 1, positions.dtype.name)
    return _rotary(x, cos, sin, positions, heads, interleaved, size, by_cache=True)


_ATTRIBUTES: Mapping[str, Any] = {
    "heads": Int(0, name="num_heads"),
    "interleaved": Flag(False, others=False),
    "size": Int(0, name="rotary_embedding_dim"),
}
TABLE = {
    "RotaryEmbedding": row(_rotary_embedding, "X cos_cache sin_cache position_ids?", **_ATTRIBUTES),
}
MICROSOFT = {
    "RotaryEmbedding": row(_rotary_of_microsoft, "input position_ids cos_cache sin_cache", **_ATTRIBUTES),
}
