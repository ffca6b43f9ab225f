"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ...dialects.relay.interpolation import Resizing, quotient, scaled
from ...dialects.sizes import holds_zero, size_max, size_min
from ...dialects.sizes.decisions import chosen, compared
from ..importing.attributes import Flag, Float, Ints, Word
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import resized
from .context import Context
from .shaping import axis_of

Ratio = tuple[int, int]
"""Of a new extent to an old one."""
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


def _floats(ctx: Context, index: int, what: str) -> list[float] | None:
    """The numbers of an optional input, which may be empty; None if it is not given."""
    if not ctx.has(index) or 0 in ctx.shape(index):
        return None
    return [float(number) for number in ctx.array(index, what).reshape(-1).tolist()]


def _upsample(ctx: Context, x: Term, mode: str) -> Term:
    """Also Resize of opset 10: coordinates divided by the scales."""
    scales = list(ctx.floats("scales", None) or ()) if ctx.opset < 9 else _floats(ctx, 1, "scales")
    if scales is None or len(scales) != len(x.shape) or min(scales) <= 0:
        ctx.fail(f"{len(x.shape)} positive scales", str(scales))
    how = [
        Resizing(extent, scaled(extent, scale), scale, _METHODS[mode], "asymmetric", "floor")
        for extent, scale in zip(x.shape, scales, strict=True)
    ]
    return resized(x, range(len(x.shape)), how)


def _resize(
    ctx: Context, x: Term, method: str, mode: str, axes: Sequence[int] | None, extrapolation: float, **kernel: Any
) -> Term:
    """kernel: what else a resizing of an axis is, by its fields."""
    if ctx.opset < 11:
        return _upsample(ctx, x, method)
    shape = x.shape
    axes = [axis_of(ctx, axis, len(shape)) for axis in (range(len(shape)) if axes is None else axes)]
    scales, sizes, ratio = _sizes(ctx, [shape[axis] for axis in axes])
    count = len(axes)
    roi = _floats(ctx, 1, "roi") if mode == "tf_crop_and_resize" else None
    roi = [0.0] * count + [1.0] * count if roi is None else roi
    if (
        len(scales) != count
        or len(roi) != 2 * count
        or len(set(axes)) != count
        or not all(s is None or s > 0 for s in scales)
    ):
        ctx.fail(f"{count} axes, positive scales or sizes, and {2 * count} roi", f"{axes}, {scales} and {roi}")
    how = [
        Resizing(shape[axis], size, scale, _METHODS[method], mode, **kernel, roi=(roi[i], roi[count + i]), ratio=ratio)
        for i, (axis, size, scale) in enumerate(zip(axes, sizes, scales, strict=True))
    ]
    return resized(x, axes, how, extrapolation)


def _sizes(ctx: Context, extents: list[int]) -> tuple[list[float] | list[float | None], list[int], Ratio | None]:
    """Scales and sizes of axes of `extents`; one of the two must be given. A scale that only a call knows is None.

    And the ratio that it is then, if not that of sizes and extents.
    """
    scales = _floats(ctx, 2, "scales")
    if not ctx.has(3) or 0 in ctx.shape(3):
        if scales is None:
            ctx.fail("scales or sizes", "none")
        return scales, list(map(scaled, extents, scales)), None
    wanted = ctx.known_ints(3, "sizes")
    if scales is not None:
        ctx.fail("either scales or sizes", f"both, {scales} and {list(wanted)}")
    if len(wanted) != len(extents) or holds_zero(extents):
        ctx.fail(f"{len(extents)} sizes of axes that have elements", f"{wanted} for {extents}")
    policy = ctx.word("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return list(map(quotient, wanted, extents)), list(wanted), None
    if policy not in ("not_larger", "not_smaller"):
        ctx.fail("keep_aspect_ratio_policy stretch, not_larger or not_smaller", repr(policy))
    ratio, sizes = _kept_aspect(extents, wanted, "<" if policy == "not_larger" else ">")
    scale = quotient(*ratio)
    return [scale] * len(extents), sizes, ratio if scale is None else None


def _kept_aspect(extents: Sequence[int], wanted: Sequence[int], better: str) -> tuple[Ratio, list[int]]:
    """One ratio of new extents to old ones for all axes, the least or greatest, and what the extents become of it.

    Halves are rounded up.
    """
    pairs = list(zip(wanted, (size_max(extent, 1) for extent in extents), strict=True))
    more, less = pairs[0]
    for size, extent in pairs[1:]:
        taken = compared(size * less, better, more * extent)
        more, less = chosen(taken, size, more), chosen(taken, extent, less)
    best = size_min if better == "<" else size_max
    sizes = [best(*((2 * n * extent + old) // (2 * old) for n, old in pairs)) for _, extent in pairs]
    return cast(Ratio, (more, less)), cast("list[int]", sizes)


_METHOD = Word("nearest", among=tuple(_METHODS), name="mode")
TABLE = {
    "Resize": row(
        _resize,
        "X",
        unread={"roi": "of the mode tf_crop_and_resize alone, which reads it"},
        method=_METHOD,
        mode=Word("half_pixel", name="coordinate_transformation_mode"),
        axes=Ints(None),
        extrapolation=Float(0.0, name="extrapolation_value"),
        rounding=Word("round_prefer_floor", name="nearest_mode"),
        alpha=Float(-0.75, name="cubic_coeff_a"),
        exclude=Flag(False, name="exclude_outside"),
        antialias=Flag(False),
    ),
    "Upsample": row(_upsample, "X", mode=Word("nearest", among=tuple(_METHODS))),
}
