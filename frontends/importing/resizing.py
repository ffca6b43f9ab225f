"""Resizing of images axis by axis, for all frontends."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.interpolation import Resizing
from ...dialects.relay.resize import Resize, Resize1DOp, Resize2DOp, Resize3DOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import holds_zero
from .context import Context
from .tensor import shape_of

_OPERATORS: dict[int, tuple[type[Resize], str]] = {
    1: (Resize1DOp, "W"),
    2: (Resize2DOp, "HW"),
    3: (Resize3DOp, "DHW"),
}


def resized(
    ctx: Context, data: SSAValue, axes: list[int], resizings: list[Resizing], extrapolation: float = 0.0
) -> SSAValue:
    """Resize by image.resize1d to 3d if the other axes are batch and channels, else one axis after the other."""
    rank = len(shape_of(data))
    changed = sorted((axis, resizing) for axis, resizing in zip(axes, resizings, strict=True) if not resizing.identical)
    if not changed:
        return ctx.emit(CopyOp, data)
    if len(changed) in _OPERATORS and rank == len(changed) + 2:
        op, letters = _OPERATORS[len(changed)]
        letter_of = dict(zip((axis for axis, _ in changed), letters, strict=True))
        others = iter("NC")
        layout = "".join(letter_of.get(axis) or next(others) for axis in range(rank))
        return _emit(ctx, op, data, layout, [resizing for _, resizing in changed], extrapolation)
    # The innermost axis comes first, which has fewer rows if the others grow.
    for axis, resizing in reversed(changed):
        shape = shape_of(data)
        flat = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        rows = ctx.emit(ReshapeOp, data, newshape=flat, allowzero=int(holds_zero(flat)))
        rows = _emit(ctx, Resize1DOp, rows, "NWC", [resizing], extrapolation)
        new = (*shape[:axis], resizing.size, *shape[axis + 1 :])
        data = ctx.emit(ReshapeOp, rows, newshape=new, allowzero=int(holds_zero(new)))
    return data


def _emit(
    ctx: Context, op: type[Resize], data: SSAValue, layout: str, resizings: list[Resizing], extrapolation: float
) -> SSAValue:
    first, scales = resizings[0], [resizing.scale for resizing in resizings if resizing.scale is not None]
    return ctx.emit(
        op,
        data,
        size=[resizing.size for resizing in resizings],
        roi=[resizing.roi[0] for resizing in resizings] + [resizing.roi[1] for resizing in resizings]
        if first.mode == "tf_crop_and_resize"
        else None,
        layout=layout,
        method=first.method,
        coordinate_transformation_mode=first.mode,
        rounding_method=first.rounding,
        cubic_alpha=first.alpha,
        cubic_exclude=int(first.exclude),
        extrapolation_value=extrapolation,
        scales=scales if len(scales) == len(resizings) else None,
        ratio=first.ratio,
        antialias=first.antialias,
    )
