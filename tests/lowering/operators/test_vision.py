"""Sampling, regions and boxes, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import ort, run
from operator_cases import NAN, Cases, Check, MakeNet

from whence.dialects.relay.detection import (
    GetValidCountsOp,
    MultiboxPriorOp,
    MultiboxTransformLocOp,
    NonMaxSuppressionOp,
    YoloReorgOp,
)
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.sampling import AffineGridOp, CropAndResizeOp, GridSampleOp
from whence.dialects.relay.vision import (
    AllClassNonMaxSuppressionOp,
    RoiAlignOp,
    RoiPoolOp,
    SoftNonMaxSuppressionOp,
)

CASES = Cases()
_RANDOM = np.random.default_rng(7)


def _floats(low: float, high: float, *shape: int):
    return _RANDOM.uniform(low, high, shape).astype(np.float32)


_GRID = _floats(-1.7, 1.7, 2, 2, 4, 5)
_GRID[0, 0, 0, 0] = NAN
CASES.add(GridSampleOp, "2x3x6x7", _GRID, padding_mode="reflection")
CASES.add(GridSampleOp, "2x3x6x7", _GRID[:, :, :, 1:], method="bicubic", align_corners=False, padding_mode="border")
CASES.add(GridSampleOp, "2x3x6x7 float16", _GRID[:, :, 1:].astype(np.float16), method="nearest", align_corners=False)
CASES.add(
    GridSampleOp,
    "2x1x3x4x5",
    _floats(-1.7, 1.7, 2, 3, 2, 3, 4),
    layout="NCDHW",
    padding_mode="reflection",
    align_corners=False,
)
CASES.add(AffineGridOp, "2x2x3", target_shape=(4, 1))
CASES.add(AffineGridOp, "1x3x4 float64", target_shape=(2, 3, 4), align_corners=False)
_BOXES, _OF = _floats(-0.3, 1.3, 5, 4), np.array([0, 1, 1, 0, 1], np.int32)
CASES.add(CropAndResizeOp, "2x6x7x3", _BOXES, _OF, crop_size=(4, 3), extrapolation_value=1.5)
CASES.add(CropAndResizeOp, "2x3x6x7", _BOXES, _OF, crop_size=(1, 5), layout="NCHW", method="nearest_neighbor")

_ROIS = np.concatenate([_OF[:, None], np.sort(_floats(-2, 17, 5, 2, 2), axis=1).reshape(5, 4)], 1).astype(np.float32)
for ratio, mode, aligned in ((2, "avg", True), (0, "max", False), (0, "max_weighted", False), (0, "avg", False)):
    size = (3, 2)
    CASES.add(
        RoiAlignOp,
        "2x3x9x8",
        _ROIS,
        pooled_size=size,
        spatial_scale=0.5,
        sample_ratio=ratio,
        mode=mode,
        aligned=aligned,
    )
CASES.add(RoiPoolOp, "2x3x9x8", _ROIS, pooled_size=(3, 2), spatial_scale=0.5)
_LIMITS = np.array([6]), np.array([0.4], np.float32), np.array([0.2], np.float32)
_SCORES = np.round(_floats(0, 1, 2, 3, 30), 1)
CASES.add(AllClassNonMaxSuppressionOp, _floats(0, 1, 2, 30, 4), _SCORES, *_LIMITS)
CASES.add(
    AllClassNonMaxSuppressionOp,
    _floats(0, 1, 2, 30, 4),
    _SCORES,
    np.int64(20),
    *_LIMITS[1:],
    max_output_size=4,
    center_point_box=True,
)

CASES.add(AllClassNonMaxSuppressionOp, "1x0x4", "1x2x0", *_LIMITS)
_SOFT = np.array([0.6], np.float32), np.array(0.1, np.float32), np.array(0.3, np.float32)
CASES.add(SoftNonMaxSuppressionOp, _floats(0, 1, 30, 4), _floats(0, 1, 30), *_SOFT, max_output_size=12)
CASES.add(SoftNonMaxSuppressionOp, "0x4", "0", *_SOFT, max_output_size=2)
CASES.add(GetValidCountsOp, "2x9x6", np.float32(0.1))
CASES.add(GetValidCountsOp, "1x9x5 float16", np.array([0.0]), id_index=-1, score_index=0)

_ROWS = np.concatenate(
    [_RANDOM.integers(-1, 3, (2, 40, 1)), np.round(_floats(-0.3, 1, 2, 40, 1), 1), _floats(0, 1, 2, 40, 4)], 2
).astype(np.float32)
_VALID, _OF_ALL = np.array([37, 25], np.int32), np.stack([_RANDOM.permutation(40) for _ in range(2)]).astype(np.int32)
for attributes in (
    {},
    {"top_k": 9},
    {"return_indices": False},
    {"return_indices": False, "invalid_to_bottom": True, "force_suppress": True},
    {"return_indices": False, "id_index": -1, "coord_start": 1, "score_index": 5},
):
    for most, limit in ((-1, 0.3), (7, 0.2), (0, 0.5), (5, 0.0)):
        CASES.add(NonMaxSuppressionOp, _ROWS, _VALID, _OF_ALL, np.int32(most), np.float32(limit), **attributes)
CASES.add(NonMaxSuppressionOp, _ROWS.astype(np.float16), _VALID, _OF_ALL, np.int32(-1), np.float32(0.4))
CASES.add(NonMaxSuppressionOp, "2x0x6", _VALID, np.zeros((2, 0), np.int32), np.int32(-1), np.float32(0.4))
CASES.add(MultiboxPriorOp, "1x2x3x5", sizes=(0.3, 0.5, 1.1), ratios=(1.0, 2.0, 0.5), clip=True)
CASES.add(MultiboxPriorOp, "2x1x4x3 float16", steps=(0.1, 0.3), offsets=(0.2, 0.7))
_CHANCES, _ANCHORS = _floats(0, 0.4, 2, 3, 12), np.sort(_floats(0, 1, 1, 12, 2, 2), 2).reshape(1, 12, 4)
CASES.add(MultiboxTransformLocOp, _CHANCES, "2x48", _ANCHORS, threshold=0.2)
CASES.add(MultiboxTransformLocOp, _CHANCES, "2x48", _ANCHORS, clip=False, variances=(0.1, 0.2, 0.3, 0.4))
CASES.add(MultiboxTransformLocOp, _CHANCES[:, :1], "2x48", _ANCHORS)
CASES.add(YoloReorgOp, "2x8x4x6", stride=2)
CASES.add(YoloReorgOp, "1x9x6x3 int8", stride=3)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_the_greatest_sample_is_of_four_pixels_together():
    """TVM's "max" interpolates before it compares; ONNX's compares what the pixels weigh."""
    image = np.array([[[[0, 1], [2, 3]]]], np.float32)
    rois = np.array([[0, 0, 0, 1, 1]], np.float32)
    for mode, wanted in (("max", 1.5), ("max_weighted", 0.75)):
        (found,) = run(RoiAlignOp, image, rois, pooled_size=(1, 1), spatial_scale=1.0, sample_ratio=1, mode=mode)
        assert found.item() == wanted


def test_boxes_of_one_class_are_those_of_onnx():
    boxes, scores = _floats(0, 1, 50, 4), np.sort(_floats(0.01, 1, 50))[::-1].copy()
    limits = np.array([50]), np.array([0.3], np.float32), np.array([0.0], np.float32)
    wanted = ort("NonMaxSuppression", boxes[None], scores[None, None], *limits)[:, 2]
    rows, valid, own = np.concatenate([scores[:, None], boxes], 1)[None], np.array([50], np.int32), np.arange(50)[None]
    most, limit = np.array(-1, np.int32), np.array(0.3, np.float32)
    columns = {"id_index": -1, "score_index": 0, "coord_start": 1}
    kept, count = run(NonMaxSuppressionOp, rows, valid, own.astype(np.int32), most, limit, **columns)
    assert 1 < count.item() == len(wanted) < 50
    np.testing.assert_array_equal(kept[0, : len(wanted)], wanted)
    assert (kept[0, len(wanted) :] == -1).all()


def test_anchors_are_centred_on_pixels():
    """Row by row, the sizes of each pixel first, then the further ratios."""
    (found,) = run(MultiboxPriorOp, np.zeros((1, 1, 2, 4), np.float32), sizes=(0.5, 0.25), ratios=(1, 4))
    centres, extents = (found[0, :, :2] + found[0, :, 2:]) / 2, found[0, :, 2:] - found[0, :, :2]
    np.testing.assert_allclose(centres[[0, 1, 2, 3, 12]], [[0.125, 0.25]] * 3 + [[0.375, 0.25], [0.125, 0.75]])
    # Widths count in heights of the image, which is twice as wide.
    np.testing.assert_allclose(extents[:3], [[0.25, 0.5], [0.125, 0.25], [0.5, 0.25]])


def test_the_likeliest_class_moves_its_anchor():
    chances = np.array([[[0.9, 0.2], [0.05, 0.3], [0.04, 0.5]]], np.float32)
    anchors = np.array([[[0, 0, 1, 1], [0.2, 0.2, 0.4, 0.6]]], np.float32)
    moves = np.array([[0, 0, 0, 0, 1, -1, 0, np.log(2) / 0.2]], np.float32)
    rows, count = run(MultiboxTransformLocOp, chances, moves, anchors, threshold=0.1)
    np.testing.assert_array_equal(count, [1])
    np.testing.assert_allclose(rows[0, 0], [1, 0.5, 0.22, 0, 0.42, 0.76], atol=1e-6)
    np.testing.assert_array_equal(rows[0, 1], [-1] * 6)


def test_pixels_that_are_taken_apart():
    """Of each output element where it is read, by the definition of YOLO's reference."""
    x, stride = np.arange(8 * 4 * 6).reshape(1, 8, 4, 6), 2
    (found,) = run(YoloReorgOp, x, stride=stride)
    flat = found.reshape(-1)
    for index in range(flat.size):
        channel, row, column = index // 24, index // 6 % 4, index % 6
        offset, inner = channel // 2, channel % 2
        at = column * stride + offset % stride + 6 * stride * (row * stride + offset // stride + 4 * stride * inner)
        assert flat[index] == at
