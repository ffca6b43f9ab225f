"""Matrix products, compiled: what has no case elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay import bits as bits_
from whence.dialects.relay import pairs
from whence.dialects.relay.nn import BatchMatmulOp, ContribDensePackOp, DenseOp, MatmulOp
from whence.dialects.relay.operator import Operator

CASES = Cases()
WORDS = np.random.default_rng(5).integers(-(2**31), 2**31, (6, 4)).astype(np.int32)
for bits, depth in ((2, 64), (4, 32), (8, 16)):
    for int8_data in (False, True):
        attributes = {"bits": bits, "int8_data": int8_data}
        CASES.add(bits_.DenseBitsOp, f"3x{depth}", WORDS, "6x2", constants=0, **attributes)
        CASES.add(bits_.DenseBitsOp, f"1x{depth}", WORDS, "6x2", "6x2", constants=0, **attributes)
for axis in (0, 1):
    CASES.add(pairs.PackPairsOp, "4x6 bfloat16", axis=axis)
for dtype in ("float32", "float64", "float16", "int32", "uint64"):
    CASES.add(MatmulOp, f"5x7 {dtype}", f"7x11 {dtype}")
CASES.add(MatmulOp, "2x3x7x5", "11x7", transpose_a=True, transpose_b=True, units=11)
CASES.add(MatmulOp, "1x33", "33x50")
CASES.add(BatchMatmulOp, "2x1x5x7", "3x7x4", transpose_b=False)
CASES.add(BatchMatmulOp, "4x7x5", "1x4x7", transpose_a=True)
CASES.add(BatchMatmulOp, "3x2x1x16 int64", "3x1x16x9 int64", transpose_b=False)
for rows in (1, 9):
    for columns in (37, 509, 100):
        CASES.add(DenseOp, f"{rows}x12", f"{columns}x12", constants=1)
CASES.add(ContribDensePackOp, "3x5", "2x5x4", weight_layout="NC4n", units=7)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
