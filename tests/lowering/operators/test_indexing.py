"""Indexing, scattering, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.indexing import (
    AdvIndexOp,
    ArgwhereOp,
    GatherNdOp,
    GatherOp,
    OneHotOp,
    ReverseSequenceOp,
    SequenceMaskOp,
    UnravelIndexOp,
)
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.scatter import (
    MatrixSetDiagOp,
    ScatterElementsOp,
    ScatterNdOp,
    StridedSetOp,
    TensorScatterOp,
)

CASES = Cases()
_RANDOM = np.random.default_rng(5)


def _indices(low: int, high: int, *shape: int, dtype: str = "int64"):
    return _RANDOM.integers(low, high, shape).astype(dtype)


CASES.add(GatherOp, "3x5x7 int8", _indices(-7, 7, 2, 5, 9), axis=2)
CASES.add(GatherOp, "3x5", _indices(-9, 9, 4, 5, dtype="int32"))
CASES.add(GatherNdOp, "3x5x7", _indices(-9, 9, 2, 4))
CASES.add(GatherNdOp, "3x5x7 bool", _indices(-3, 3, 3, 2, 1))
CASES.add(GatherNdOp, "3x5x7", _indices(-5, 5, 1, 3, 2), batch_dims=1)
CASES.add(OneHotOp, _indices(-1, 6, 3, 4), np.float32(3), np.float32(-1), depth=5, axis=1)
CASES.add(OneHotOp, _indices(0, 6, 3, dtype="uint8"), np.bool_(1), np.bool_(0), depth=6, dtype="bool")
CASES.add(AdvIndexOp, "3x5x7", _indices(-3, 3, 4, 1), _indices(0, 5, 2))
CASES.add(ArgwhereOp, _indices(0, 2, 3, 5, 7, dtype="float32"))
CASES.add(ArgwhereOp, np.zeros((0, 3), np.bool_))
CASES.add(ArgwhereOp, np.float32(3))
CASES.add(UnravelIndexOp, _indices(0, 40, 9), np.array([2, 5, 4]))
CASES.add(SequenceMaskOp, "5x3x2", np.array([0, 5, 2]), mask_value=-1.5)
CASES.add(SequenceMaskOp, "3x5 int32", np.array([1, 7, 2], np.int32), axis=1)
CASES.add(ReverseSequenceOp, "3x5x2", np.array([1, 5, 2]))
CASES.add(ReverseSequenceOp, "5x3 int8", np.array([4, 0, 3], np.int32), seq_axis=0, batch_axis=1)
for mode in ("update", "add", "mul", "min", "max"):
    dtype = {"add": "float16", "mul": "int32", "min": "bool"}.get(mode, "float32")
    points = np.stack([_indices(-3, 3, 6), _indices(-9, 9, 6)])
    CASES.add(ScatterElementsOp, f"3x5x4 {dtype}", _indices(-9, 9, 2, 8, 4), f"2x8x4 {dtype}", axis=1, reduction=mode)
    CASES.add(ScatterNdOp, f"3x5x19 {dtype}", points, f"6x19 {dtype}", mode=mode)
CASES.add(ScatterNdOp, "3x5 float64", _indices(0, 3, 2, 2, 3), "2x3 float64")
CASES.add(ScatterNdOp, "7x3", _indices(0, 3, 1, 1), "1x3", mode="add")
CASES.add(ScatterNdOp, "3x5", np.zeros((1, 0), np.int64), "0x5")
CASES.add(ScatterNdOp, "3x5", np.zeros((0, 2), np.int64), "2x3x5")
CASES.add(ScatterElementsOp, "3x5", np.zeros((0, 5), np.int64), "0x5")
for mode in ("linear", "circular"):
    CASES.add(TensorScatterOp, "3x2x7x4", "3x2x3x4", np.array([0, 5, 2]), mode=mode)
CASES.add(StridedSetOp, "6x9", "2x4", begin=(1, 8), end=(6, 0), strides=(3, -2))
CASES.add(StridedSetOp, "6x9 int8", "6x3 int8", begin=(2,), end=(5,), axes=(1,))
CASES.add(MatrixSetDiagOp, "2x4x5", "2x4")
for align in ("RIGHT_LEFT", "LEFT_RIGHT"):
    CASES.add(MatrixSetDiagOp, "2x4x5", "2x4x4", k=(-1, 2), align=align)
CASES.add(MatrixSetDiagOp, "5x3", "3", k=(-2, -2))


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
