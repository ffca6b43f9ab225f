"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.interpolation import Resizing, quotient, scaled
from ...dialects.relay.resize import Resize, Resize1DOp, Resize2DOp, Resize3DOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import holds_zero, size_max, size_min
from ..importing.converter import Converter
from ..importing.decisions import chosen, compared
from ..importing.tensor import shape_of
from .context import Context
from .shaping import axis_of

Ratio = tuple[int, int]
"""Of a new extent to an old one."""
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}
_OPERATORS: dict[int, tuple[type[Resize], str]] = {
    1: (Resize1DOp, "W"),
    2: (Resize2DOp, "HW"),
    3: (Resize3DOp, "DHW"),
}


def _method(ctx: Context) -> str:
    mode = ctx.str("mode", "nearest")
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
    scales = list(ctx.floats("scales") or ()) if ctx.opset < 9 else _floats(ctx, 1, "scales")
    shape = ctx.shape(0)
    if scales is None or len(scales) != len(shape) or min(scales) <= 0:
        ctx.fail(f"{len(shape)} positive scales", str(scales))
    sizes = map(scaled, shape, scales)
    how = [
        Resizing(extent, size, scale, _method(ctx), "asymmetric", "floor")
        for extent, size, scale in zip(shape, sizes, scales, strict=True)
    ]
    return _resize(ctx, list(range(len(shape))), how, 0.0)


def resize(ctx: Context) -> SSAValue:
    if ctx.opset < 11:
        return upsample(ctx)
    shape = ctx.shape(0)
    given = ctx.ints("axes")
    axes = [axis_of(ctx, axis, len(shape)) for axis in (range(len(shape)) if given is None else given)]
    scales, sizes, ratio = _sizes(ctx, [shape[axis] for axis in axes])
    count = len(axes)
    mode = ctx.str("coordinate_transformation_mode", "half_pixel")
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
            ctx.str("nearest_mode", "round_prefer_floor"),
            ctx.float("cubic_coeff_a", -0.75),
            bool(ctx.int("exclude_outside", 0)),
            bool(ctx.int("antialias", 0)),
            (roi[i], roi[count + i]),
            ratio,
        )
        for i, axis in enumerate(axes)
    ]
    return _resize(ctx, axes, how, ctx.float("extrapolation_value", 0.0))


def _sizes(ctx: Context, extents: list[int]) -> tuple[list[float] | list[float | None], list[int], Ratio | None]:
    """Scales and sizes of axes of `extents`; one of the two is given. A scale that only a call knows is None.

    And the ratio that it is then, if not that of sizes and extents.
    """
    scales = _floats(ctx, 2, "scales")
    if not ctx.has(3) or 0 in ctx.shape(3):
        if scales is None:
            ctx.fail("scales or sizes", "none")
        return scales, list(map(scaled, extents, scales)), None
    wanted = ctx.known_ints(3, "sizes")
    if len(wanted) != len(extents) or holds_zero(extents):
        ctx.fail(f"{len(extents)} sizes of axes that have elements", f"{wanted} for {extents}")
    policy = ctx.str("keep_aspect_ratio_policy", "stretch")
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


def _resize(ctx: Context, axes: list[int], how: list[Resizing], extrapolation: float) -> SSAValue:
    """image.resize1d to 3d of an image with a batch and channels; else one axis after the other."""
    data, rank = ctx.value(0), len(ctx.shape(0))
    changed = sorted((axis, one) for axis, one in zip(axes, how, strict=True) if not one.identical)
    if not changed:
        return ctx.emit(CopyOp, data)
    if len(changed) in _OPERATORS and rank == len(changed) + 2:
        op, letters = _OPERATORS[len(changed)]
        named = dict(zip((axis for axis, _ in changed), letters, strict=True))
        rest = iter("NC")
        layout = "".join(named.get(axis) or next(rest) for axis in range(rank))
        return _emit(ctx, op, data, layout, [one for _, one in changed], extrapolation)
    # The innermost axis first, of fewer rows when the others grow.
    for axis, one in reversed(changed):
        shape = shape_of(data)
        flat = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        rows = ctx.emit(ReshapeOp, data, newshape=flat, allowzero=int(holds_zero(flat)))
        rows = _emit(ctx, Resize1DOp, rows, "NWC", [one], extrapolation)
        new = (*shape[:axis], one.size, *shape[axis + 1 :])
        data = ctx.emit(ReshapeOp, rows, newshape=new, allowzero=int(holds_zero(new)))
    return data


def _emit(
    ctx: Context, op: type[Resize], data: SSAValue, layout: str, how: list[Resizing], extrapolation: float
) -> SSAValue:
    first, scales = how[0], [resizing.scale for resizing in how if resizing.scale is not None]
    return ctx.emit(
        op,
        data,
        size=[resizing.size for resizing in how],
        roi=[resizing.roi[0] for resizing in how] + [resizing.roi[1] for resizing in how]
        if first.mode == "tf_crop_and_resize"
        else None,
        layout=layout,
        method=first.method,
        coordinate_transformation_mode=first.mode,
        rounding_method=first.rounding,
        cubic_alpha=first.alpha,
        cubic_exclude=int(first.exclude),
        extrapolation_value=extrapolation,
        scales=scales if len(scales) == len(how) else None,
        ratio=first.ratio,
        antialias=first.antialias,
    )


TABLE = {
    "Resize": Converter(resize),
    "Upsample": Converter(upsample),
}
