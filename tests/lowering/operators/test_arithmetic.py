"""Arithmetic, compiled: what has no case elsewhere."""

from __future__ import annotations

import pytest
from operator_cases import INTEGERS, Cases, Check, MakeNet

from whence.dialects.relay.elementwise import AddOp, BitwiseNotOp
from whence.dialects.relay.operator import Operator

CASES = Cases()
for dtype in INTEGERS:
    CASES.add(BitwiseNotOp, f"3x5 {dtype}")
    CASES.add(AddOp, f"3x5 {dtype}", f"5 {dtype}", constants=1)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
