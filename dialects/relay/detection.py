"""Operators of single-shot detectors: boxes to begin with, boxes that predictions move, and which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_result_def

from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import boolean, integer, real, reals
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, INTEGERS, OPAQUE
from .transform import Injective
from .vision import corners_of, overlap_of


@irdl_op_definition
class GetValidCountsOp(Operator):
    """Move the boxes (b, n, k) with a score above `score_threshold` to the front, in order: their number in each batch,
    the boxes, and the numbers they had; -1 behind. With `id_index` >= 0, a class below 0 is left out, too.
    """

    name = "relay.vision.get_valid_counts"
    data = operand_def(TensorType)
    score_threshold = operand_def(TensorType)
    count = result_def(TensorType)
    boxes = result_def(TensorType)
    indices = result_def(TensorType)
    id_index = integer(0)
    score_index = integer(1)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        batch, boxes, width = sig.rank(0, 3)
        sig.of(FLOATS)
        sig.require_scalar(1, "score_threshold")
        if not 0 <= sig.int("score_index") < width or sig.int("id_index") >= width:
            sig.fail(f"indices of {width} numbers", f"{sig.int('id_index')} and {sig.int('score_index')}")
        int32 = DTYPES["int32"]
        return [tensor_of(int32, (batch,)), sig.types[0], tensor_of(int32, (batch, boxes))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, least: AnyArray) -> tuple[AnyArray, ...]:
        valid = x[:, :, sig.int("score_index")] > least.reshape(()).astype(x.dtype)
        if sig.int("id_index") >= 0:
            valid &= x[:, :, sig.int("id_index")] >= 0
        boxes, indices = np.full_like(x, -1), np.full(x.shape[:2], -1)
        for b, row in enumerate(valid):
            (places,) = np.nonzero(row)
            boxes[b, : places.size], indices[b, : places.size] = x[b, places], places
        return valid.sum(axis=1), boxes, indices


@irdl_op_definition
class NonMaxSuppressionOp(Operator):
    """The boxes among the first `valid_count` (b,) of `data` (b, n, k) that no better box covers, by descending scores.

    A row has the score at `score_index`, two opposite corners from `coord_start` on, and unless it is negative the
    class at `id_index`. A box whose overlap with a kept one of its class (of any with `force_suppress`) is at least
    `iou_threshold` is out, as is what comes after `max_output_size` kept ones, or after `top_k` in all; negative limits
    are none. Boxes without a positive score stay where they are; they, and those of a negative class, cover nothing.
    With an `iou_threshold` that is not positive, all boxes stay in their order.

    Results: with `return_indices` the entries of `indices` (b, n) of the boxes that stay, -1 behind, and how many
    (b, 1); else, whatever `indices` are, the rows (b, n, k), -1 in the place of others, which with `invalid_to_bottom`
    come last: there, rows that begin with a negative number.
    """

    name = "relay.vision.non_max_suppression"
    data = operand_def(TensorType)
    valid_count = operand_def(TensorType)
    indices = operand_def(TensorType)
    max_output_size = operand_def(TensorType)
    iou_threshold = operand_def(TensorType)
    kept = var_result_def(TensorType)
    force_suppress = boolean(False)
    top_k = integer(-1)
    coord_start = integer(2)
    score_index = integer(1)
    id_index = integer(0)
    return_indices = boolean(True)
    invalid_to_bottom = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        return count != 1

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        batch, boxes, width = sig.rank(0, 3)
        sig.of(FLOATS)
        for index, shape in ((1, (batch,)), (2, (batch, boxes)))[: 1 + sig.get("return_indices")]:
            sig.of(INTEGERS, index)
            if sig.shape(index) != shape:
                sig.fail(f"operand {index} of shape {list(shape)}", str(sig.types[index]))
        sig.require_scalar(3, "max_output_size")
        sig.require_scalar(4, "iou_threshold")
        columns = [sig.int("score_index"), sig.int("coord_start"), sig.int("coord_start") + 3]
        if min(columns) < 0 or max(*columns, sig.int("id_index")) >= width:
            sig.fail(f"score_index, coord_start and id_index within {width} numbers", str(columns))
        if not sig.get("return_indices"):
            return [sig.types[0]]
        return [tensor_of(DTYPES["int32"], shape) for shape in ((batch, boxes), (batch, 1))]

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, valid: AnyArray, indices: AnyArray, most: AnyArray, iou: AnyArray
    ) -> AnyArray | tuple[AnyArray, ...]:
        rows = widened(data)
        places = np.full(data.shape[:2], -1)
        for b, row in enumerate(rows):
            kept = cls._places(sig, row[: max(int(valid[b]), 0)], int(most.reshape(())), iou.reshape(()).item())
            places[b, : len(kept)] = kept
        if not sig.get("return_indices"):
            if sig.get("invalid_to_bottom"):
                first = np.take_along_axis(rows[:, :, 0], np.maximum(places, 0), 1)
                places = _compacted(np.where((places >= 0) & (first >= 0), places, -1))
            boxes = np.take_along_axis(data, np.maximum(places, 0)[:, :, None], 1)
            return np.where(places[:, :, None] >= 0, boxes, np.asarray(-1, data.dtype))
        own = _compacted(np.where(places >= 0, np.take_along_axis(indices, np.maximum(places, 0), 1), -1))
        return own, (own >= 0).sum(axis=1, keepdims=True)

    @classmethod
    def _places(cls, sig: Signature, row: AnyArray, most: int, iou: float) -> list[int]:
        """For each place of the result the number of the box there, -1 for none."""
        if iou <= 0:
            return list(range(len(row)))
        score, kind, start = sig.int("score_index"), sig.int("id_index"), sig.int("coord_start")
        order = np.argsort(-row[:, score], kind="stable").tolist()
        top = sig.int("top_k")
        corners = corners_of(row[:, start : start + 4], False)
        kept: list[int] = []
        covering: list[int] = []
        for box in order[:top] if top > 0 else order:
            own = [k for k in covering if kind < 0 or row[k, kind] >= 0]
            rivals = [k for k in own if kind < 0 or sig.get("force_suppress") or row[k, kind] == row[box, kind]]
            full = len(covering) == most
            scored = row[box, score] > 0
            if full or (scored and any(overlap_of(corners[box], corners[k]) >= row.dtype.type(iou) for k in rivals)):
                kept.append(-1)
                continue
            kept.append(box)
            if scored:
                covering.append(box)
        return kept


def _compacted(values: AnyArray) -> AnyArray:
    """In each row what is not negative first, in order; -1 behind."""
    rows = [np.concatenate([row[row >= 0], np.full((row < 0).sum(), -1)]) for row in values]
    return np.stack(rows) if rows else values


@irdl_op_definition
class MultiboxPriorOp(Operator):
    """Boxes around the pixels of images (n, c, h, w), as left, top, right and bottom in parts of the image: (1, m, 4).

    Of each pixel one of each size, and one of the first size for each further ratio of width to height. The centres
    are `steps` apart (down, across; one pixel where that is not positive), and begin with `offsets` of a step. `clip`
    cuts off what is outside of the image.
    """

    name = "relay.vision.multibox_prior"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    sizes = reals(1.0)
    ratios = reals(1.0)
    steps = reals(-1.0, -1.0)
    offsets = reals(0.5, 0.5)
    clip = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _, _, height, width = sig.rank(0, 4)
        sig.of(FLOATS)
        sizes, ratios = sig.get("sizes"), sig.get("ratios")
        if not sizes or not ratios or min(ratios) <= 0:
            sig.fail("sizes, and ratios above 0", f"{list(sizes)} and {list(ratios)}")
        steps, offsets = cls.pair(sig, "steps"), cls.pair(sig, "offsets")
        if len(steps) != 2 or len(offsets) != 2:
            sig.fail("two steps and two offsets", f"{list(steps)} and {list(offsets)}")
        return [tensor_of(sig.types[0].element_type, (1, height * width * (len(sizes) + len(ratios) - 1), 4))]

    @classmethod
    def pair(cls, sig: Signature, name: str) -> tuple[float, float]:
        """Two numbers, for down and across."""
        return cast("tuple[float, float]", sig.get(name))

    @classmethod
    def halves(cls, sig: Signature) -> list[tuple[float, float]]:
        """Return half the width (in heights of the image) and half the height of the boxes of a pixel."""
        sizes, ratios = sig.get("sizes"), sig.get("ratios")
        further = [(sizes[0] * sqrt(ratio) / 2, sizes[0] / sqrt(ratio) / 2) for ratio in ratios[1:]]
        return [(size / 2, size / 2) for size in sizes] + further

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        height, width = data.shape[2:]
        rows, columns = (
            (np.arange(extent, dtype=np.float64) + offset) * (step if step > 0 else 1 / extent)
            for extent, offset, step in zip(
                (height, width), cls.pair(sig, "offsets"), cls.pair(sig, "steps"), strict=True
            )
        )
        halves = np.array(cls.halves(sig)) * [height / width, 1]
        centres = np.stack(np.meshgrid(columns, rows), -1)[:, :, None]
        boxes = np.concatenate([centres - halves, centres + halves], -1).reshape(1, -1, 4)
        return np.clip(boxes, 0, 1) if sig.get("clip") else boxes


@irdl_op_definition
class MultiboxTransformLocOp(Operator):
    """Boxes of the likeliest class of each anchor, of those that are no background: the rows (b, n, 6), and how many.

    cls_prob (b, c, n), of which class 0 is the background; loc_pred (b, n * 4): how far, in `variances`, a box is moved
    and stretched; anchor (1, n, 4). A row is class - 1, probability, left, top, right and bottom, from 0 to 1 with
    `clip`; one with a probability below `threshold` is left out. Rows are -1 behind the last.
    """

    name = "relay.vision.multibox_transform_loc"
    cls_prob = operand_def(TensorType)
    loc_pred = operand_def(TensorType)
    anchor = operand_def(TensorType)
    boxes = result_def(TensorType)
    count = result_def(TensorType)
    clip = boolean(True)
    threshold = real(0.01)
    variances = reals(0.1, 0.1, 0.2, 0.2)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        batch, classes, count = sig.rank(0, 3)
        sig.of(FLOATS)
        sig.same_element()
        if sig.rank(1, 2) != (batch, count * 4) or sig.rank(2, 3) != (1, count, 4) or classes < 1:
            types = f"{sig.types[0]}, {sig.types[1]}, {sig.types[2]}"
            sig.fail("cls_prob (b, c, n), loc_pred (b, n * 4) and anchor (1, n, 4)", types)
        if len(sig.get("variances")) != 4:
            sig.fail("four variances", str(list(sig.get("variances"))))
        return [tensor_of(sig.types[0].element_type, (batch, count, 6)), tensor_of(DTYPES["int32"], (batch,))]

    @classmethod
    def evaluate(cls, sig: Signature, likely: AnyArray, moves: AnyArray, anchors: AnyArray) -> tuple[AnyArray, ...]:
        chances, moved = widened(likely), widened(moves).reshape(len(moves), -1, 4)
        lower, upper = np.split(widened(anchors), 2, -1)
        shift = moved * np.asarray(sig.get("variances"), moved.dtype)
        centre = shift[:, :, :2] * (upper - lower) + (lower + upper) / 2
        half = np.exp(shift[:, :, 2:]) * (upper - lower) / 2
        boxes = np.concatenate([centre - half, centre + half], -1)
        if sig.get("clip"):
            boxes = np.clip(boxes, 0, 1)
        out = np.full((*boxes.shape[:2], 6), -1, boxes.dtype)
        counts = np.zeros(len(out), np.int32)
        for b, rows in enumerate(chances[:, 1:]):
            if not len(rows):
                continue
            best = rows.argmax(0)
            score = rows.max(0)
            (places,) = np.nonzero((score > -1) & ~(score < chances.dtype.type(sig.get("threshold"))))
            counts[b] = places.size
            detections = np.concatenate([best[places, None], score[places, None], boxes[b, places]], 1)
            out[b, : places.size] = detections
        return out, counts


@irdl_op_definition
class YoloReorgOp(Injective):
    """Images (n, c, h, w) as (n, c * s * s, h / s, w / s), as YOLO v2 takes them apart for a `stride` s.

    The elements in row-major order are read as images (n, c / s / s, h * s, w * s), of which each block of s by s
    pixels becomes as many channels.
    """

    name = "relay.vision.yolo_reorg"
    stride = integer(1)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        images, channels, height, width = sig.rank(0, 4)
        stride = sig.int("stride")
        if stride < 1 or channels % (stride * stride) or height % stride or width % stride:
            wanted = "images that a stride of at least 1 divides, and channels that its square does"
            sig.fail(wanted, f"{sig.types[0]} and {stride}")
        return images, channels * stride * stride, height // stride, width // stride

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        images, channels, height, width = x.shape
        s = sig.int("stride")
        blocks = x.reshape(images, channels // (s * s), height, s, width, s)
        return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(tuple(cls.extents(sig)))
