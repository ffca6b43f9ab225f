"""Operators of detectors: regions of images, and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES
from ..sizes import size_min
from ..sizes.types import tensor_of
from .attributes import boolean, integer, ints, real, string
from .layout import layout_view
from .layout_traits import OF_IMAGE, OwnLayouts
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, OPAQUE


class Pooled(Operator):
    """Regions of images (n, c, h, w), each brought to `pooled_size`: `rois` (r, 5) are image, x1, y1, x2, y2."""

    LAYOUTS: ClassVar[Sequence[str]] = ("NCHW",)
    """The layouts that images and the result may have."""
    data = operand_def(TensorType)
    rois = operand_def(TensorType)
    result = result_def(TensorType)
    pooled_size = ints(1, 1)
    spatial_scale = real(1.0)
    layout = string("NCHW")
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        layout, rois = sig.str("layout"), sig.rank(1, 2)
        sig.of(FLOATS)
        if rois[1] != 5 or layout not in cls.LAYOUTS or min(sig.spatial("pooled_size", 2)) < 1:
            expected = f"regions (r, 5), layout {' or '.join(cls.LAYOUTS)} and a pooled size"
            sig.fail(expected, f"{sig.types[1]}, {layout}")
        shape = dict(zip(layout, sig.rank(0, 4), strict=True))
        sig.require_source(0, [shape[letter] for letter in "NHW"], rois[:1])
        sig.same_element()
        full = shape | dict(zip("NHW", (rois[0], *sig.spatial("pooled_size", 2)), strict=True))
        return [tensor_of(sig.types[0].element_type, [full[letter] for letter in layout])]


@irdl_op_definition
class RoiAlignOp(Pooled):
    """The mean, or by mode "max" the greatest, of samples in each bin, which are interpolated between four pixels.

    Beyond TVM, mode "max_weighted" takes the greatest of the weighted pixels themselves, as ONNX does.
    `sample_ratio` samples along each axis of a bin, one per pixel for 0 or less. `aligned`: pixels have their centres
    at halves, and regions may be narrower than one.
    """

    name = "relay.vision.roi_align"
    LAYOUTS: ClassVar[Sequence[str]] = ("NCHW", "NHWC")
    traits = traits_def(OwnLayouts(among=("NCHW", "NHWC")), OF_IMAGE)
    sample_ratio = integer(-1)
    mode = string("avg")
    aligned = boolean(False)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.str("mode") not in ("avg", "max", "max_weighted"):
            sig.fail("mode avg, max or max_weighted", repr(sig.str("mode")))
        return super().infer(sig)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, rois: AnyArray) -> AnyArray:
        x, sizes = layout_view(widened(data), sig.str("layout"), "NCHW"), sig.spatial("pooled_size", 2)
        extents, out = x.shape[2:], np.zeros((len(rois), x.shape[1], *sizes), x.dtype)
        for r, roi in enumerate(widened(rois).tolist()):
            image = x[min(max(int(roi[0]), 0), len(x) - 1)]
            places: list[list[list[tuple[int, int, float] | None]]] = []
            for axis, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
                first, last = (roi[at] * sig.get("spatial_scale") for at in (2 - axis, 4 - axis))
                if sig.get("aligned"):
                    first, last = first - 0.5, last - 0.5
                span = last - first if sig.get("aligned") else max(last - first, 1.0)
                count = sig.int("sample_ratio") if sig.int("sample_ratio") > 0 else max(0, ceil(span / size))
                points = [[first + (b + (i + 0.5) / count) * span / size for i in range(count)] for b in range(size)]
                places.append([[_neighbours(p, extent) for p in row] for row in points])
            for y, rows in enumerate(places[0]):
                for c, columns in enumerate(places[1]):
                    out[r, :, y, c] = cls._bin(sig, image, rows, columns)
        return layout_view(out, "NCHW", sig.str("layout"))

    @classmethod
    def _bin(cls, sig: Signature, image: AnyArray, rows: Sequence[Any], columns: Sequence[Any]) -> Any:
        samples: list[AnyArray] = []
        for row in rows:
            for column in columns:
                terms = [np.zeros(len(image))] * 4
                if row is not None and column is not None:
                    (y0, y1, fy), (x0, x1, fx) = row, column
                    corners = [(y0, x0, 1 - fy, 1 - fx), (y0, x1, 1 - fy, fx), (y1, x0, fy, 1 - fx), (y1, x1, fy, fx)]
                    terms = [image[:, y, x] * (a * b) for y, x, a, b in corners]
                samples.append((np.max if sig.str("mode") == "max_weighted" else np.sum)(terms, axis=0))
        if not samples:
            return 0
        return np.sum(samples, axis=0) / len(samples) if sig.str("mode") == "avg" else np.max(samples, axis=0)


def _neighbours(at: float, extent: int) -> tuple[int, int, float] | None:
    """The two pixels around a coordinate and the weight of the second; None far outside."""
    if at < -1 or at > extent:
        return None
    at = max(at, 0.0)
    low = int(at)
    return (extent - 1, extent - 1, 0.0) if low >= extent - 1 else (low, low + 1, at - low)


@irdl_op_definition
class RoiPoolOp(Pooled):
    """The greatest pixel of each bin of whole pixels, 0 for a bin of none."""

    name = "relay.vision.roi_pool"

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, rois: AnyArray) -> AnyArray:
        extents, sizes, scale = data.shape[2:], sig.spatial("pooled_size", 2), sig.get("spatial_scale")
        out = np.zeros((len(rois), data.shape[1], *sizes), data.dtype)
        for r, roi in enumerate(widened(rois).tolist()):
            image = data[min(max(int(roi[0]), 0), len(data) - 1)]
            bins: list[list[slice]] = []
            for axis, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
                first, last = (floor(np.float32(roi[at] * scale) + 0.5) for at in (2 - axis, 4 - axis))
                step = np.float32(max(last - first + 1, 1)) / np.float32(size)
                cuts = [(floor(b * step) + first, ceil((b + 1) * step) + first) for b in range(size)]
                bins.append([slice(min(max(a, 0), extent), min(max(b, 0), extent)) for a, b in cuts])
            for y, rows in enumerate(bins[0]):
                for c, columns in enumerate(bins[1]):
                    pixels = image[:, rows, columns].reshape(len(image), -1)
                    if pixels.size:
                        out[r, :, y, c] = pixels.max(axis=1)
        return out


@irdl_op_definition
class AllClassNonMaxSuppressionOp(Operator):
    """Boxes that no better one of their class covers: points (batch, class, box), and how many there are.

    boxes (b, n, 4): two opposite corners, or centre, width and height with `center_point_box`; scores (b, c, n). Of a
    class at most `max_output_boxes_per_class` are kept, with a score above `score_threshold`, in descending order; one
    that shares more than `iou_threshold` with a kept one is not. The points (m, 3) are int64, zeros behind the last,
    for a bound m: `max_output_size` boxes per class, or all for -1.
    """

    name = "relay.vision.all_class_non_max_suppression"
    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    max_output_boxes_per_class = operand_def(TensorType)
    iou_threshold = operand_def(TensorType)
    score_threshold = operand_def(TensorType)
    points = result_def(TensorType)
    number = result_def(TensorType)
    max_output_size = integer(-1)
    center_point_box = boolean(False)
    output_format = string("onnx")
    traits = traits_def(OPAQUE)

    @classmethod
    def bound(cls, sig: Signature) -> int:
        """The most boxes of a class that are kept."""
        count = sig.shape(1)[2]
        most = sig.int("max_output_size")
        return cast(int, size_min(count, most)) if most >= 0 else count

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        boxes, scores = sig.rank(0, 3), sig.rank(1, 3)
        if boxes[2] != 4 or scores[0] != boxes[0] or scores[2] != boxes[1] or sig.str("output_format") != "onnx":
            sig.fail("boxes (b, n, 4), scores (b, c, n), output_format onnx", f"{sig.types[0]}, {sig.types[1]}")
        for index, name in enumerate(("max_output_boxes_per_class", "iou_threshold", "score_threshold"), 2):
            sig.require_scalar(index, name)
        rows = scores[0] * scores[1] * cls.bound(sig)
        return [tensor_of(DTYPES["int64"], (rows, 3)), tensor_of(DTYPES["int64"], ())]

    @classmethod
    def evaluate(
        cls, sig: Signature, boxes: AnyArray, scores: AnyArray, most: AnyArray, iou: AnyArray, least: AnyArray
    ) -> tuple[AnyArray, ...]:
        kept: list[tuple[int, int, int]] = []
        corners = corners_of(boxes, bool(sig.get("center_point_box")))
        limit = min(max(int(most.reshape(())), 0), cls.bound(sig))
        for b in range(len(boxes)):
            for c in range(scores.shape[1]):
                row = scores[b, c]
                own: list[int] = []
                for at in np.argsort(-row, kind="stable").tolist():
                    if len(own) == limit or not row[at] > least.reshape(()):
                        break
                    if not any(overlap_of(corners[b, at], corners[b, other]) > iou.reshape(()) for other in own):
                        own.append(at)
                kept += [(b, c, at) for at in own]
        points = np.zeros(cls.infer(sig)[0].get_shape(), np.int64)
        points[: len(kept)] = np.reshape(np.asarray(kept, np.int64), (-1, 3))
        return points, np.asarray(len(kept))


@irdl_op_definition
class SoftNonMaxSuppressionOp(Operator):
    """Boxes by descending scores, which every box that is taken lowers: their numbers, scores, and how many.

    boxes (n, 4): two opposite corners; scores (n). A score is multiplied by `exp(-overlap^2 / (2 * sigma))`, where the
    overlap is the shared part of two boxes' union, or for a `sigma` of 0 stays; from an overlap of `iou_threshold` on,
    or when its score is not above `score_threshold`, a box is out. The numbers (m) are int64 for m `max_output_size`,
    of equals the lower; numbers and scores are 0 behind the last. Beyond TVM.
    """

    name = "relay.vision.soft_non_max_suppression"
    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    iou_threshold = operand_def(TensorType)
    score_threshold = operand_def(TensorType)
    sigma = operand_def(TensorType)
    indices = result_def(TensorType)
    lowered = result_def(TensorType)
    number = result_def(TensorType)
    max_output_size = integer(1)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        boxes, (count,) = sig.rank(0, 2), sig.rank(1, 1)
        sig.of(FLOATS)
        sig.of(FLOATS, 1)
        if boxes != (count, 4) or sig.int("max_output_size") < 0:
            sig.fail("boxes (n, 4), scores (n), some wanted", f"{sig.types[0]}, {sig.types[1]}")
        for index, name in enumerate(("iou_threshold", "score_threshold", "sigma"), 2):
            sig.require_scalar(index, name)
        most = (sig.int("max_output_size"),)
        return [
            tensor_of(DTYPES["int64"], most),
            tensor_of(sig.types[1].element_type, most),
            tensor_of(DTYPES["int64"], ()),
        ]

    @classmethod
    def evaluate(
        cls, sig: Signature, boxes: AnyArray, scores: AnyArray, iou: AnyArray, least: AnyArray, sigma: AnyArray
    ) -> tuple[AnyArray, ...]:
        most, left = sig.int("max_output_size"), widened(scores).copy()
        corners, limit, floor_ = corners_of(boxes, False), iou.reshape(()), least.reshape(())
        spread = sigma.reshape(()).item()
        indices, lowered, count = np.zeros(most, np.int64), np.zeros(most, scores.dtype), 0
        while count < most and (left > floor_).any():
            best = int(np.argmax(np.where(left > floor_, left, -np.inf)))
            indices[count], lowered[count] = best, left[best]
            left[best] = -np.inf
            for at in np.flatnonzero(left > floor_).tolist():
                overlap = overlap_of(corners[at], corners[best])
                factor = np.exp(left.dtype.type(-0.5 / spread) * overlap * overlap) if spread > 0 else 1
                left[at] = -np.inf if overlap >= limit else left[at] * factor
            count += 1
        return indices, lowered, np.asarray(count)


def corners_of(boxes: AnyArray, centred: bool) -> AnyArray:
    """Lower and upper corners."""
    if centred:
        return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)
    return np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def overlap_of(a: AnyArray, b: AnyArray) -> Any:
    """The shared part of two boxes' union."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = np.prod(np.maximum(sides, 0))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return shared / union if shared > 0 and union > 0 else 0
