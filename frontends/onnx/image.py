"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.interpolation import Resizing, quotient, scaled
from ...dialects.sizes import holds_zero, size_max, size_min
from ...dialects.sizes.decisions import chosen, compared
from ..importing.converter import Converter
from ..importing.resizing import resized
from .context import Context
from .shaping import axis_of

Ratio = tuple[int, int]
"""Of a new extent to an old one."""
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


def _method(ctx: Context) -> str:
    mode = ctx.word("mode", "nearest")
    if mode not in _METHODS:
        ctx.fail(f"mode among {', '.join(_METHODS)}", repr(mode))
    return _METHODS[mode]


def _floats(ctx: Context, index: int, what: str) -> list[float] | None:
    """The numbers of an optional input, which may be empty; None if it is not given."""
    if not ctx.has(index) or 0 in ctx.shape(index):
        return None
    return [float(number) for number in ctx.array(index, what).reshape(-1).tolist()]


def upsample(ctx: Context) -> SSAValue:
    """Also Resize of opset 10: coordinates divided by the scales."""
    scales = list(ctx.floats("scales", None) or ()) if ctx.opset < 9 else _floats(ctx, 1, "scales")
    shape = ctx.shape(0)
    if scales is None or len(scales) != len(shape) or min(scales) <= 0:
        ctx.fail(f"{len(shape)} positive scales", str(scales))
    sizes = map(scaled, shape, scales)
    how = [
        Resizing(extent, size, scale, _method(ctx), "asymmetric", "floor")
        for extent, size, scale in zip(shape, sizes, scales, strict=True)
    ]
    return resized(ctx, ctx.value(0), list(range(len(shape))), how, 0.0)


def resize(ctx: Context) -> SSAValue:
    if ctx.opset < 11:
        return upsample(ctx)
    shape = ctx.shape(0)
    given = ctx.ints("axes", None)
    axes = [axis_of(ctx, axis, len(shape)) for axis in (range(len(shape)) if given is None else given)]
    scales, sizes, ratio = _sizes(ctx, [shape[axis] for axis in axes])
    count = len(axes)
    mode = ctx.word("coordinate_transformation_mode", "half_pixel")
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
        Resizing(
            shape[axis],
            sizes[i],
            scales[i],
            _method(ctx),
            mode,
            ctx.word("nearest_mode", "round_prefer_floor"),
            ctx.float("cubic_coeff_a", -0.75),
            ctx.flag("exclude_outside"),
            ctx.flag("antialias"),
            (roi[i], roi[count + i]),
            ratio,
        )
        for i, axis in enumerate(axes)
    ]
    return resized(ctx, ctx.value(0), axes, how, ctx.float("extrapolation_value", 0.0))


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


TABLE = {
    "Resize": Converter(resize, unread={"roi": "of the mode tf_crop_and_resize alone, which reads it"}),
    "Upsample": Converter(upsample),
}
