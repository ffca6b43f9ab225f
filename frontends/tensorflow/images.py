"""Images in other sizes, and boxes cut out of them."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.resize import Resize2DOp
from ...dialects.relay.sampling import CropAndResizeOp
from ...dialects.relay.transform import TakeOp
from ...dialects.sizes import SizeExpr
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.terms import Term, term
from .context import Context


def _size(ctx: Context) -> tuple[int, ...]:
    """The height and width in input 1."""
    size = ctx.known_ints(1, "a size")
    if len(size) != 2 or len(ctx.shape(0)) != 4:
        ctx.fail(
            "images (batch, height, width, channels), and a height and width", f"{list(ctx.shape(0))}, {list(size)}"
        )
    return size


def _mode(ctx: Context) -> str:
    if ctx.flag("align_corners"):
        return "align_corners"
    return "half_pixel" if ctx.flag("half_pixel_centers") else "asymmetric"


def _real(ctx: Context) -> SSAValue:
    """The image as floats, which is what interpolation gives."""
    image = term(ctx, 0)
    return image.value if image.dtype.kind == "f" and image.dtype.itemsize == 4 else image.to("float32").value


def resize_bilinear(ctx: Context) -> SSAValue:
    return ctx.emit(
        Resize2DOp,
        _real(ctx),
        size=_size(ctx),
        layout="NHWC",
        method="linear",
        coordinate_transformation_mode=_mode(ctx),
    )


_STEPS = 1 << 10
"""The distances between two elements that TensorFlow has weights for."""


def _weights(centred: bool) -> tuple[Array, Array]:
    """Weights of the near and of the far elements by their distance, in steps of the table (float32)."""
    a = -0.5 if centred else -0.75
    near = np.arange(_STEPS + 1) / _STEPS
    far = near + 1.0
    inner = ((a + 2) * near - (a + 3)) * near * near + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return cast(Array, inner.astype(np.float32)), cast(Array, outer.astype(np.float32))


def _taps(ctx: Context, extent: int, size: int) -> list[tuple[Array, Array]]:
    """For each of the four elements around a result along an axis: which it is, and its weight, both (size,)."""
    aligned, centred = ctx.flag("align_corners"), ctx.flag("half_pixel_centers")
    stretched = aligned and size > 1
    scale = np.float32(extent - 1 if stretched else extent) / np.float32(size - 1 if stretched else size)
    at = np.arange(size, dtype=np.float32)
    at = (at + np.float32(0.5)) * scale - np.float32(0.5) if centred else at * scale
    first = np.floor(at)
    step = np.rint((at - first) * np.float32(_STEPS)).astype(np.int64)
    inner, outer = _weights(centred)
    indices = np.stack([first.astype(np.int64) + shift for shift in (-1, 0, 1, 2)])
    weights = np.stack([outer[step], inner[step], inner[_STEPS - step], outer[_STEPS - step]])
    inside = np.clip(indices, 0, extent - 1)
    if centred:
        # Elements outside count nothing, the others more.
        weights = np.where(inside == indices, weights, np.float32(0))
        weights = weights / weights.sum(0, dtype=np.float32)
    return [(cast(Array, index), cast(Array, weight)) for index, weight in zip(inside, weights, strict=True)]


def resize_bicubic(ctx: Context) -> SSAValue:
    """With pixels that have centres by Keys' kernel of the image's own elements; distances are those of a table."""
    size, (_, *extents, _) = _size(ctx), ctx.shape(0)
    if any(isinstance(extent, SizeExpr) for extent in extents) or not all(extents):
        return _resized_freely(ctx, size)
    x = Term(ctx, _real(ctx))
    for axis in (2, 1):
        parts: list[Term] = []
        for index, weight in _taps(ctx, extents[axis - 1], size[axis - 1]):
            row = Term(ctx, ctx.emit(TakeOp, x.value, ctx.constant(index, "places"), axis=axis))
            shape = [-1 if at == axis else 1 for at in range(4)]
            parts.append(row * Term(ctx, ctx.constant(weight.reshape(shape), "weights")))
        x = parts[0] + parts[1] + parts[2] + parts[3]
    return x.value


def _resized_freely(ctx: Context, size: tuple[int, ...]) -> SSAValue:
    """An image of a size that a call decides, with distances as they are."""
    centred = ctx.flag("half_pixel_centers")
    return ctx.emit(
        Resize2DOp,
        _real(ctx),
        size=size,
        layout="NHWC",
        method="cubic",
        coordinate_transformation_mode=_mode(ctx),
        cubic_alpha=-0.5 if centred else -0.75,
        cubic_exclude=int(centred),
    )


def resize_nearest_neighbor(ctx: Context) -> SSAValue:
    """Rounded down; at aligned corners to the nearest, halves away from 0."""
    aligned = ctx.flag("align_corners")
    centred = "tf_half_pixel_for_nn" if ctx.flag("half_pixel_centers") else "asymmetric"
    return ctx.emit(
        Resize2DOp,
        ctx.value(0),
        size=_size(ctx),
        layout="NHWC",
        method="nearest_neighbor",
        coordinate_transformation_mode="align_corners" if aligned else centred,
        rounding_method="round_prefer_ceil" if aligned else "floor",
    )


def crop_and_resize(ctx: Context) -> SSAValue:
    size, method = ctx.known_ints(3, "a size"), ctx.word("method", "bilinear")
    return ctx.emit(
        CropAndResizeOp,
        Term(ctx, ctx.value(0)).to("float32").value,
        ctx.value(1),
        ctx.value(2),
        crop_size=size,
        layout="NHWC",
        method="nearest_neighbor" if method == "nearest" else method,
        extrapolation_value=ctx.float("extrapolation_value", 0.0),
    )


TABLE = {
    "CropAndResize": Converter(crop_and_resize),
    "ResizeBicubic": Converter(resize_bicubic),
    "ResizeBilinear": Converter(resize_bilinear),
    "ResizeNearestNeighbor": Converter(resize_nearest_neighbor),
}
