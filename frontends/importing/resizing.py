"""Images in other sizes, axis by axis, as frontends share it."""

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


def resized(ctx: Context, data: SSAValue, axes: list[int], how: list[Resizing], extrapolation: float = 0.0) -> SSAValue:
    """image.resize1d to 3d of an image with a batch and channels; else one axis after the other."""
    rank = len(shape_of(data))
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
