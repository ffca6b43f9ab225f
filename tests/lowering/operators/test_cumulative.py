"""Sums and products of all that comes before, compiled."""

from __future__ import annotations

import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.cumulative import CumprodOp, CumsumOp
from whence.dialects.relay.operator import Operator

CASES = Cases()
for op in (CumsumOp, CumprodOp):
    for dtype in ("float64", "float16", "int8", "uint32"):
        CASES.add(op, f"3x5 {dtype}", axis=1)
    CASES.add(op, "2x5x3", axis=1)
    CASES.add(op, "2x5x3", axis=-2, reverse=True)
    CASES.add(op, "5x64", axis=0, exclusive=True)
    CASES.add(op, "5x7", axis=1, exclusive=True, reverse=True)
    CASES.add(op, "4x3x1", axis=1)
    CASES.add(op, "2x3x2")
    CASES.add(op, "2x3 int8", axis=1, dtype="int64")
    CASES.add(op, "7 float16", axis=0, dtype="float32")
    CASES.add(op, "3x1", axis=1, exclusive=True)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
