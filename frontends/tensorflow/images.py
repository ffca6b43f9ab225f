"""Images in other sizes, and boxes cut out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...dialects.relay.transform import TakeOp
from ...dialects.sizes import SizeExpr
from ...support.dtypes import Array
from ..importing.attributes import Flag, Float, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, constant
from ..meanings.resizing import resized_boxes, resized_image
from .context import Context


def _check_size(x: Term, size: Sequence[int]) -> None:
    if len(size) != 2 or len(x.shape) != 4:
        x.ctx.fail("images (batch, height, width, channels), and a height and width", f"{list(x.shape)}, {list(size)}")


_ALIGNED, _CENTRED = Flag(False, name="align_corners"), Flag(False, name="half_pixel_centers")


def _resized(method: str) -> Converter[Context]:
    def resized(x: Term, size: Sequence[int], aligned: bool, centred: bool) -> Term:
        _check_size(x, size)
        image = x if method == "nearest_neighbor" else x.to("float32")
        return resized_image(image, size, "NHWC", method, aligned=aligned, centred=centred)

    return row(resized, "images size:ints", aligned=_ALIGNED, centred=_CENTRED)


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


def _taps(extent: int, size: int, aligned: bool, centred: bool) -> list[tuple[Array, Array]]:
    """For each of the four elements around a result along an axis: which it is, and its weight, both (size,)."""
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


def _resize_bicubic(x: Term, size: Sequence[int], aligned: bool, centred: bool) -> Term:
    """With pixels that have centres by Keys' kernel of the image's own elements; distances are those of a table."""
    _check_size(x, size)
    x, (_, *extents, _) = x.to("float32"), x.shape
    if any(isinstance(extent, SizeExpr) for extent in extents) or not all(extents):
        # Of an image of a size that a call decides, distances are as they are.
        alpha = -0.5 if centred else -0.75
        return resized_image(x, size, "NHWC", "cubic", aligned=aligned, centred=centred, alpha=alpha, inside=centred)
    for axis in (2, 1):
        parts: list[Term] = []
        for index, weight in _taps(extents[axis - 1], size[axis - 1], aligned, centred):
            line = x.apply(TakeOp, constant(x.ctx, index, "places"), axis=axis)
            shape = [-1 if at == axis else 1 for at in range(4)]
            parts.append(line * constant(x.ctx, weight.reshape(shape), "weights"))
        x = parts[0] + parts[1] + parts[2] + parts[3]
    return x


def _crop_and_resize(x: Term, *operands: Any, **options: Any) -> Term:
    return resized_boxes(x.to("float32"), *operands, layout="NHWC", **options)


TABLE = {
    "CropAndResize": row(
        _crop_and_resize,
        "image boxes box_ind crop_size:ints",
        method=Word("bilinear"),
        extrapolation=Float(0.0, name="extrapolation_value"),
    ),
    "ResizeBicubic": row(_resize_bicubic, "images size:ints", aligned=_ALIGNED, centred=_CENTRED),
    "ResizeBilinear": _resized("linear"),
    "ResizeNearestNeighbor": _resized("nearest_neighbor"),
}
