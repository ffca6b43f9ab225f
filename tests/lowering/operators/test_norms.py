"""Normalisations of images, groups and rows, compiled."""

from __future__ import annotations

import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.norms import GroupNormOp, InstanceNormOp, L2NormalizeOp, RMSNormOp
from whence.dialects.relay.operator import Operator

CASES = Cases()
for dtype in ("float16", "float64"):
    CASES.add(InstanceNormOp, f"2x3x10 {dtype}", f"3 {dtype}", f"3 {dtype}")
    CASES.add(GroupNormOp, f"2x6x9 {dtype}", f"6 {dtype}", f"6 {dtype}", num_groups=2)
    CASES.add(RMSNormOp, f"3x20 {dtype}", f"20 {dtype}")
    CASES.add(L2NormalizeOp, f"3x20 {dtype}", axis=[1])
CASES.add(InstanceNormOp, "1x4x5x32", "4", "4", epsilon=0.1)
CASES.add(InstanceNormOp, "2x5x7x3", "3", "3", axis=-1, scale=False)
CASES.add(InstanceNormOp, "2x3x16", "3", "3", center=False)
CASES.add(InstanceNormOp, "2x3", "3", "3")
CASES.add(GroupNormOp, "1x8x4x4", "8", "8", num_groups=8, epsilon=0.1)
CASES.add(GroupNormOp, "2x4x3x5", "4", "4", num_groups=1)
CASES.add(GroupNormOp, "2x5x6", "6", "6", num_groups=3, axis=2, center=False)
CASES.add(RMSNormOp, "3x4x5", "4", axis=1, epsilon=0.5)
CASES.add(RMSNormOp, "3x1", "1")
CASES.add(L2NormalizeOp, "2x3x4", axis=[0, -1])
CASES.add(L2NormalizeOp, "2x16x4", axis=[1], eps=30.0)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
