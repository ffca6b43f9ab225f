"""Images sampled at points that are data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import boolean, real, required_ints, string
from .interpolation import Resizing
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, INJECTIVE, INTEGERS, OPAQUE

GRID_METHODS = ("nearest", "bilinear", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The coefficient of the cubic kernel."""


@irdl_op_definition
class GridSampleOp(Operator):
    """`data` (n, c, h, w), or (n, c, d, h, w), at the points of `grid` (n, 2 or 3, ..): x, y (and z) in -1 to 1.

    -1 and 1 are the centres of the outermost pixels with `align_corners`, else their outer edges. Halves of "nearest"
    go to the even pixel.
    """

    name = "relay.image.grid_sample"
    data = operand_def(TensorType)
    grid = operand_def(TensorType)
    result = result_def(TensorType)
    method = string("bilinear")
    layout = string("NCHW")
    padding_mode = string("zeros")
    align_corners = boolean(True)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        data, grid = sig.rank(0, 4, 5), sig.shape(1)
        sig.of(FLOATS, 0)
        sig.of(FLOATS, 1)
        if len(grid) != len(data) or grid[:2] != (data[0], len(data) - 2):
            sig.fail(f"a grid ({data[0]}, {len(data) - 2}, ..) of {len(data)} dimensions", str(sig.types[1]))
        if sig.str("layout") != ("NCHW" if len(data) == 4 else "NCDHW"):
            sig.fail("layout NCHW or NCDHW", repr(sig.str("layout")))
        sig.require_source(0, data[2:], grid[2:])
        if sig.str("method") not in GRID_METHODS or sig.str("padding_mode") not in PADDINGS:
            wanted = f"method among {', '.join(GRID_METHODS)}, padding_mode among {', '.join(PADDINGS)}"
            sig.fail(wanted, f"{sig.str('method')!r}, {sig.str('padding_mode')!r}")
        return [tensor_of(sig.types[0].element_type, (*data[:2], *grid[2:]))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, grid: AnyArray) -> AnyArray:
        x, corners = widened(data), bool(sig.get("align_corners"))
        extents = x.shape[2:]
        at = [
            (p + 1) / 2 * (n - 1) if corners else ((p + 1) * n - 1) / 2
            for p, n in zip(np.moveaxis(widened(grid), 1, 0)[::-1], extents, strict=True)
        ]
        mode = sig.str("padding_mode")
        taps: list[list[tuple[AnyArray, AnyArray]]] = []
        for p in at:
            low = np.floor(p)
            match sig.str("method"):
                case "nearest":
                    taps.append([(np.round(p), np.ones_like(p))])
                case "bilinear":
                    taps.append([(low, 1 - (p - low)), (low + 1, p - low)])
                case _:
                    kernel = Resizing(1, 1, 1.0, "cubic", alpha=CUBIC)
                    taps.append([(low + k, kernel.kernel(np.abs(p - low - k))) for k in (-1, 0, 1, 2)])
        total: Any = 0
        batch = np.arange(int(x.shape[0])).reshape(-1, *[1] * (grid.ndim - 2))
        for combination in product(*taps):
            places = [_padded(p, n, mode, corners) for (p, _), n in zip(combination, extents, strict=True)]
            weight: Any = prod((w for _, w in combination), start=np.ones_like(at[0]))
            for p, n in zip(places, extents, strict=True):
                weight = weight * ((p >= 0) & (p < n))
            point = [np.clip(np.nan_to_num(p), 0, n - 1).astype(int) for p, n in zip(places, extents, strict=True)]
            total = total + np.moveaxis(x[(batch, slice(None), *point)], -1, 1) * weight[:, None]
        return total.astype(x.dtype)


def _padded(p: AnyArray, extent: int, mode: str, corners: bool) -> AnyArray:
    """A coordinate brought inside, as the padding mode says."""
    if mode == "zeros":
        return p
    if mode == "reflection":
        low, high = (0, extent - 1) if corners else (-0.5, extent - 0.5)
        span = high - low
        turn = np.abs(p - low) % (2 * span) if span else np.zeros_like(p)
        p = low + np.minimum(turn, 2 * span - turn)
    return np.clip(p, 0, extent - 1)


@irdl_op_definition
class AffineGridOp(Operator):
    """Points of a grid of `target_shape`, mapped: `data` (n, 2, 3) or (n, 3, 4) -> (n, 2 or 3, ..), x first."""

    name = "relay.image.affine_grid"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    target_shape = required_ints()
    align_corners = boolean(True)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        n, rank, _ = sig.rank(0, 3)
        sig.of(FLOATS)
        if sig.shape(0)[1:] not in ((2, 3), (3, 4)) or len(sig.ints("target_shape")) != rank:
            sig.fail("matrices (n, 2, 3) or (n, 3, 4), and as many extents", f"{sig.types[0]}")
        return [tensor_of(sig.types[0].element_type, (n, rank, *sig.ints("target_shape")))]

    @classmethod
    def steps(cls, sig: Signature, extent: int) -> tuple[float, float]:
        """The first coordinate along an axis, and the distance to the next."""
        if sig.get("align_corners"):
            return (-1.0, 2 / (extent - 1)) if extent > 1 else (-1.0, 0.0)
        return 1 / extent - 1, 2 / extent

    @classmethod
    def evaluate(cls, sig: Signature, theta: AnyArray) -> AnyArray:
        sizes = sig.ints("target_shape")
        lines = [cls.steps(sig, e)[0] + cls.steps(sig, e)[1] * np.arange(e) for e in sizes]
        points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes)])
        return np.einsum("nij,j...->ni...", widened(theta), points)


@irdl_op_definition
class CropAndResizeOp(Operator):
    """Boxes (y1, x1, y2, x2) of images in `layout`, in fractions of them, brought to `crop_size`.

    `box_indices` says whose image each box is of; what lies outside is `extrapolation_value`.
    """

    name = "relay.image.crop_and_resize"
    data = operand_def(TensorType)
    boxes = operand_def(TensorType)
    box_indices = operand_def(TensorType)
    result = result_def(TensorType)
    crop_size = required_ints()
    layout = string("NHWC")
    method = string("bilinear")
    extrapolation_value = real(0.0)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape, layout, (h, w) = sig.rank(0, 4), sig.str("layout"), sig.spatial("crop_size", 2)
        sig.of(INTEGERS, 2)
        count = sig.shape(2)
        if layout not in ("NHWC", "NCHW") or sig.shape(1) != (*count, 4) or len(count) != 1:
            sig.fail("layout NHWC or NCHW, boxes (n, 4) and n indices", f"{layout}, {sig.types[1]}, {sig.types[2]}")
        if sig.str("method") not in ("bilinear", "nearest_neighbor"):
            sig.fail("method bilinear or nearest_neighbor", repr(sig.str("method")))
        channels = shape[layout.index("C")]
        sig.require_source(0, [extent for extent, letter in zip(shape, layout, strict=True) if letter != "C"], count)
        new = (*count, h, w, channels) if layout == "NHWC" else (*count, channels, h, w)
        return [tensor_of(sig.types[0].element_type, new)]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, boxes: AnyArray, indices: AnyArray) -> AnyArray:
        images = widened(data if sig.str("layout") == "NHWC" else data.transpose(0, 2, 3, 1))
        sizes, extents = sig.spatial("crop_size", 2), images.shape[1:3]
        out = np.zeros((len(boxes), *sizes, images.shape[3]), images.dtype)
        for b, (box, index) in enumerate(zip(widened(boxes), np.clip(indices, 0, len(images) - 1), strict=True)):
            at = [
                box[a] * (n - 1) + np.arange(s) * (box[2 + a] - box[a]) * (n - 1) / (s - 1)
                if s > 1
                else np.full(1, (box[a] + box[2 + a]) / 2 * (n - 1))
                for a, (n, s) in enumerate(zip(extents, sizes, strict=True))
            ]
            inside = [(p >= 0) & (p <= n - 1) for p, n in zip(at, extents, strict=True)]
            at = [np.clip(p, 0, n - 1) for p, n in zip(at, extents, strict=True)]
            if sig.str("method") == "nearest_neighbor":
                rows, columns = (np.floor(p + 0.5).astype(int) for p in at)
                pixels = images[index][rows[:, None], columns]
            else:
                low = [np.floor(p).astype(int) for p in at]
                high = [np.ceil(p).astype(int) for p in at]
                (fy, fx), image = (p - p0 for p, p0 in zip(at, low, strict=True)), images[index]
                fy, fx = fy[:, None, None], fx[:, None]
                top = image[low[0][:, None], low[1]] * (1 - fx) + image[low[0][:, None], high[1]] * fx
                bottom = image[high[0][:, None], low[1]] * (1 - fx) + image[high[0][:, None], high[1]] * fx
                pixels = top * (1 - fy) + bottom * fy
            seen = inside[0][:, None, None] & inside[1][:, None]
            out[b] = np.where(seen, pixels, sig.get("extrapolation_value"))
        return out if sig.str("layout") == "NHWC" else out.transpose(0, 3, 1, 2)
