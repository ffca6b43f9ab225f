"""Images in other sizes, axis by axis; images sampled at points, and boxes cut out of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.interpolation import Resizing, quotient
from ...dialects.relay.resize import Resize, Resize1DOp, Resize2DOp, Resize3DOp
from ...dialects.relay.sampling import AffineGridOp, CropAndResizeOp, GridSampleOp
from ...dialects.relay.transform import TransposeOp
from ..importing.terms import Term

_OPERATORS: dict[int, tuple[type[Resize], str]] = {
    1: (Resize1DOp, "W"),
    2: (Resize2DOp, "HW"),
    3: (Resize3DOp, "DHW"),
}


def resized(x: Term, axes: Sequence[int], how: Sequence[Resizing], extrapolation: float = 0.0) -> Term:
    """Axes in other sizes: at once of an image with a batch and channels, else one axis after the other."""
    rank = len(x.shape)
    changed = sorted((axis, one) for axis, one in zip(axes, how, strict=True) if not one.identical)
    if not changed:
        return x.apply(CopyOp)
    if len(changed) in _OPERATORS and rank == len(changed) + 2:
        op, letters = _OPERATORS[len(changed)]
        named = dict(zip((axis for axis, _ in changed), letters, strict=True))
        rest = iter("NC")
        layout = "".join(named.get(axis) or next(rest) for axis in range(rank))
        return _resized(x, op, layout, [one for _, one in changed], extrapolation)
    # The innermost axis first, of fewer rows when the others grow.
    for axis, one in reversed(changed):
        shape = x.shape
        rows = x.reshape(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        x = _resized(rows, Resize1DOp, "NWC", [one], extrapolation).reshape(*shape[:axis], one.size, *shape[axis + 1 :])
    return x


def _resized(x: Term, op: type[Resize], layout: str, how: Sequence[Resizing], extrapolation: float) -> Term:
    first, scales = how[0], [resizing.scale for resizing in how if resizing.scale is not None]
    return x.apply(
        op,
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


METHODS = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}
"""The methods by the names that images have for them."""


def resized_image(
    x: Term,
    size: Sequence[int],
    layout: str,
    method: str,
    *,
    aligned: bool = False,
    centred: bool = False,
    scales: Sequence[float | None] = (),
    alpha: float = -0.5,
    inside: bool = False,
    antialias: bool = False,
) -> Term:
    """The spatial axes of an image in other sizes.

    aligned: the first and the last pixels stay where they are. centred: places are those of the pixels' centres, else
    of their first corners. The nearest pixel is the one that a place is in, of aligned ones the closer one, the second
    at halves. scales: those that places are computed with, where they are not those of the sizes. alpha: of the cubic
    kernel. inside: what is outside of the image weighs nothing; else the edge's pixels stand for it. antialias: the
    kernel is as much wider as the image gets smaller.
    """
    nearest = method == "nearest_neighbor"
    places = "align_corners" if aligned else "asymmetric"
    if centred and not aligned:
        places = "tf_half_pixel_for_nn" if nearest else "half_pixel"
    rounding = ("round_prefer_ceil" if aligned else "floor") if nearest else ""
    axes = [axis for axis, letter in enumerate(layout) if letter not in "NC"]
    stated = scales or [None] * len(axes)
    how = [
        Resizing(
            x.shape[axis],
            extent,
            quotient(extent, x.shape[axis]) if scale is None or aligned else scale,
            method,
            places,
            rounding,
            alpha,
            inside,
            antialias and not nearest,
        )
        for axis, extent, scale in zip(axes, size, stated, strict=True)
    ]
    return resized(x, axes, how)


def affine_grid(theta: Term, size: Sequence[int], align_corners: bool) -> Term:
    """The points of an image of a size (batch, channels, ..) under maps (batch, rank, rank + 1), coordinates last."""
    grid = theta.apply(AffineGridOp, target_shape=size[2:], align_corners=align_corners)
    return grid.apply(TransposeOp, axes=(0, *range(2, len(size)), 1))


def grid_sample(x: Term, grid: Term, method: str, padding_mode: str, align_corners: bool) -> Term:
    """Channels of an image at points, whose coordinates, from -1 to 1, are along the grid's last axis."""
    rank = len(grid.shape)
    return x.apply(
        GridSampleOp,
        grid.apply(TransposeOp, axes=(0, rank - 1, *range(1, rank - 1))),
        method=method,
        layout="NCHW" if len(x.shape) == 4 else "NCDHW",
        padding_mode=padding_mode,
        align_corners=align_corners,
    )


def resized_boxes(
    x: Term, boxes: Term, images: Term, size: Sequence[int], layout: str, method: str, extrapolation: float
) -> Term:
    """Boxes of images, each in one size; `images` are the numbers of the images that they are cut out of."""
    return x.apply(
        CropAndResizeOp,
        boxes,
        images,
        crop_size=size,
        layout=layout,
        method="nearest_neighbor" if method == "nearest" else method,
        extrapolation_value=extrapolation,
    )
