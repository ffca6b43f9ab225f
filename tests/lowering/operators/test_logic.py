"""Logic, comparisons, bits, choice, quotients and remainders, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import FLOATS, IN_TURN, INTEGERS, SIGNED, SPECIAL, Cases, Check, MakeNet, random

from whence.dialects.relay.activation import PReluOp
from whence.dialects.relay.division import FloorDivideOp, FloorModOp, ModOp, TruncDivideOp, TruncModOp
from whence.dialects.relay.elementwise import CastLikeOp, CastOp
from whence.dialects.relay.logic import (
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    GreaterEqualOp,
    LeftShiftOp,
    LessEqualOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalXorOp,
    NotEqualOp,
    RightShiftOp,
    WhereOp,
)
from whence.dialects.relay.operator import Operator

CASES = Cases()

for op in (LogicalAndOp, LogicalOrOp, LogicalXorOp):
    CASES.add(op, "3x5 bool", "1x5 bool")
    CASES.add(op, "scalar bool", "7 bool")
for k, op in enumerate((NotEqualOp, LessEqualOp, GreaterEqualOp)):
    for dtype in (FLOATS[1 + k], *IN_TURN[k % 2][k // 2 : k // 2 + 2]):
        x = random((4, 5), dtype)
        y = x.copy()
        y[1:3] = random((2, 5), dtype)[::-1]
        CASES.add(op, x, y)
    CASES.add(op, SPECIAL, SPECIAL[::-1].copy())
CASES.add(NotEqualOp, "9 bool", "1 bool")
for k, op in enumerate((BitwiseAndOp, BitwiseOrOp, BitwiseXorOp)):
    for dtype in IN_TURN[k % 2][k // 2 : k // 2 + 2]:
        CASES.add(op, f"3x5 {dtype}", f"5 {dtype}")
# What comes in from the left depends on the sign.
for op, dtypes in ((LeftShiftOp, IN_TURN[0]), (RightShiftOp, INTEGERS)):
    for dtype in dtypes:
        distances = np.array([0, 1, 3, 7, 8, 63, 64, 100], dtype)
        if dtype in SIGNED:
            distances = np.append(distances, np.array([-1, -100], dtype))
        CASES.add(op, f"3x{len(distances)} {dtype}", distances)
# A quotient and its remainder have other integers each.
for k, op in enumerate((FloorDivideOp, FloorModOp, ModOp, TruncDivideOp, TruncModOp)):
    for dtype in IN_TURN[k % 2]:
        info = np.iinfo(dtype)
        numbers = np.array([info.min, info.min + 1, 0, 1, 2, 7, info.max // 2, info.max], dtype)
        if info.min:
            numbers = np.append(numbers, np.array([-1, -2, -7], dtype))
        CASES.add(op, numbers[:, None], numbers)
    CASES.add(op, f"4x5 {FLOATS[1 + k % 3]}", f"5 {FLOATS[1 + k % 3]}")
    some = np.array([-7.5, -2, -0.0, 0, 0.5, 3, 8, np.inf, -np.inf, np.nan], np.float32)
    CASES.add(op, some[:, None], some)
# Of every width.
for dtype in ("bool", "int8", "bfloat16", "float32", "uint64"):
    CASES.add(WhereOp, "3x1 bool", f"3x5 {dtype}", f"5 {dtype}")
CASES.add(WhereOp, "scalar bool", "scalar", "2x1x3")
CASES.add(WhereOp, "4x6x5 bool", "1x5", "6x1")
for dtype in ("float64", "bfloat16", "uint8"):
    CASES.add(PReluOp, f"2x3x5 {dtype}", f"3 {dtype}")
CASES.add(PReluOp, "2x3x1", "1", axis=-1)
for dtype in ("int8", "int16", "uint8", "uint16", "uint32"):
    # Some are beyond the range of the dtype.
    CASES.add(CastOp, np.array([-1.5, -300, 300, 70000, 0.99, 127.5, -40000] * 3, np.float32), dtype=dtype)
CASES.add(CastLikeOp, "3x4", "2 int8")
CASES.add(CastLikeOp, "3x4 int32", "scalar float16")
CASES.add(CastLikeOp, "3x4 bool", "3x4 bool")


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
