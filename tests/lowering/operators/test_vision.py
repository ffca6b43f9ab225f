"""Sampling, regions and boxes, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import run
from operator_cases import NAN, Cases, Check, MakeNet

from whence.dialects.relay.operator import Operator
from whence.dialects.relay.sampling import AffineGridOp, CropAndResizeOp, GridSampleOp
from whence.dialects.relay.vision import (
    AllClassNonMaxSuppressionOp,
    GetValidCountsOp,
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
CASES.add(GetValidCountsOp, "2x9x6", score_threshold=0.1)
CASES.add(GetValidCountsOp, "1x9x5 float16", id_index=-1, score_index=0)


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
