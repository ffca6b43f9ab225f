"""Images in another size, compiled."""

from __future__ import annotations

import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.operator import Operator
from whence.dialects.relay.resize import Resize1DOp, Resize2DOp, Resize3DOp, Upsampling3DOp, UpsamplingOp

CASES = Cases()
CASES.add(Resize1DOp, "2x3x19", size=(7,), method="cubic", antialias=True)
CASES.add(Resize1DOp, "2x19x3 float16", size=(30,), layout="NWC")
CASES.add(Resize2DOp, "2x3x5x8", size=(10, 16), method="nearest_neighbor")
CASES.add(Resize2DOp, "2x3x5x8 int8", size=(9, 4), method="linear", coordinate_transformation_mode="align_corners")
CASES.add(Resize2DOp, "1x5x8x19 float64", size=(7, 4), method="cubic", cubic_exclude=1, layout="NHWC")
CASES.add(
    Resize2DOp,
    "1x1x5x6",
    size=(4, 7),
    roi=(0.2, -0.1, 0.7, 1.2),
    coordinate_transformation_mode="tf_crop_and_resize",
    extrapolation_value=3.5,
)
CASES.add(Resize3DOp, "1x2x3x4x5", size=(6, 4, 9), scales=(2.1, 1.0, 1.9))
CASES.add(UpsamplingOp, "1x3x5x8", scale_h=2.0, scale_w=2.0)
CASES.add(Upsampling3DOp, "1x2x3x4x5", scale_d=2.0, scale_h=3.0, scale_w=2.0, method="trilinear")
CASES.add(Upsampling3DOp, "1x3x4x5x2", scale_d=2.0, scale_h=2.0, scale_w=1.5, layout="NDHWC")
CASES.add(UpsamplingOp, "1x5x8x3", scale_h=2.0, scale_w=3.0, method="bilinear", align_corners=True, layout="NHWC")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
