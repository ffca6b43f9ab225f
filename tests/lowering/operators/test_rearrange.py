"""Repeating, cutting, blocks and new tensors, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.creation import ArangeOp, FullLikeOp, FullOp, OnesOp, SizesOp, ZerosOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.rearrange import (
    BatchToSpaceNdOp,
    BroadcastToLikeOp,
    DepthToSpaceOp,
    MeshgridOp,
    MirrorPadOp,
    RepeatOp,
    ReshapeLikeOp,
    ReverseOp,
    SliceLikeOp,
    SpaceToBatchNdOp,
    SpaceToDepthOp,
    SplitOp,
    StackOp,
    TileOp,
)
from whence.dialects.relay.transform import PadOp
from whence.dialects.relay.windows import Col2ImOp

CASES = Cases()
CASES.add(TileOp, "3x5 int8", reps=(2, 1, 3))
CASES.add(TileOp, "2x3x5", reps=(2,))
CASES.add(RepeatOp, "3x5", repeats=3, axis=-1)
CASES.add(RepeatOp, "3x5 bool", repeats=2)
CASES.add(ReverseOp, "3x5x19", axis=(0, -1))
CASES.add(StackOp, "3x5", "3x5", "3x5", axis=1)
CASES.add(StackOp, "4", "4", axis=-1)
CASES.add(SplitOp, "3x8x5", indices_or_sections=(4,), sections=True, axis=1)
CASES.add(SplitOp, "9 int16", indices_or_sections=(2, 3))
CASES.add(MeshgridOp, "3", "scalar", "5")
CASES.add(MeshgridOp, "3 int64", "4 int64", indexing="xy")
CASES.add(SliceLikeOp, "5x7x3", "3x2", axes=(0, 1))
CASES.add(ReshapeLikeOp, "4x6", "3x8")
CASES.add(ReshapeLikeOp, "4x6x5", "9x3x2", lhs_begin=1, lhs_end=2, rhs_begin=1)
CASES.add(BroadcastToLikeOp, "3x1", "2x3x4")
for layout in ("NCHW", "NHWC"):
    shape = "2x8x4x6" if layout == "NCHW" else "2x4x6x8"
    CASES.add(SpaceToDepthOp, shape, block_size=2, layout=layout)
    for mode in ("DCR", "CRD"):
        CASES.add(DepthToSpaceOp, shape, block_size=2, layout=layout, mode=mode)
CASES.add(SpaceToBatchNdOp, "2x5x6x3", block_shape=(3, 2), paddings=(1, 0, 1, 1), pad_value=2.0)
CASES.add(BatchToSpaceNdOp, "12x2x4x3", block_shape=(3, 2), crops=(1, 0, 1, 2))
for dtype in ("float32", "float16"):
    CASES.add(
        Col2ImOp,
        f"2x12x6 {dtype}",
        image_shape=(5, 6),
        block_shape=(2, 3),
        pads=(1, 0, 0, 1),
        strides=(2, 2),
        dilations=(1, 2),
    )
for mode in ("wrap", "reflect", "edge"):
    CASES.add(PadOp, "3x5", np.float32(0), pad_width=(7, 5, 1, 11), pad_mode=mode, constants=1)
    CASES.add(PadOp, "5x7", np.float32(0), pad_width=(2, 1, 3, 4), pad_mode=mode, constants=1)
CASES.add(MirrorPadOp, "3x5", pad_width=(2, 3, 1, 5), mode="SYMMETRIC")
CASES.add(MirrorPadOp, "3x5 int8", pad_width=(2, 2, 0, 4), mode="REFLECT")
CASES.add(FullOp, np.float32(2.5), shape=(3, 5), dtype="int8")
CASES.add(FullLikeOp, "3x5", "1")
CASES.add(SizesOp, values=(3, -5, 7), shape=(3,))
CASES.add(SizesOp, values=(9,), shape=(), dtype="int32")
for kind in (ZerosOp, OnesOp):
    CASES.add(kind, shape=(3, 5), dtype="float16")
CASES.add(ArangeOp, start=2.0, stop=-3.0, step=-0.75)
CASES.add(ArangeOp, stop=7.0, dtype="int64")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
