"""Sums of products, determinants, triangles and losses, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet, random

from whence.dialects.relay.linear_algebra import (
    DetOp,
    DynamicTimeWarpingOp,
    EinsumOp,
    Equation,
    InverseOp,
    TriluOp,
)
from whence.dialects.relay.loss import CrossEntropyOp, CrossEntropyWithLogitsOp, NLLLossOp
from whence.dialects.relay.operator import Operator

CASES = Cases()

for dtype in ("float32", "float16", "float64", "int32"):
    CASES.add(EinsumOp, f"3x4 {dtype}", f"4x5 {dtype}", equation="ij,jk->ik")
CASES.add(EinsumOp, "4x4", equation="ii->i")
CASES.add(EinsumOp, "3x4x4", equation="bii")
CASES.add(EinsumOp, "2x3x4", equation=" a b c -> c a ")
CASES.add(EinsumOp, "2x3x4x5", "1x5x6", equation="...ij,...jk->...ik")
CASES.add(EinsumOp, "5", "7", equation="i,j")
CASES.add(EinsumOp, "2x3", "3x4", "4x2", equation="ab,bc,cd->ad")
CASES.add(EinsumOp, "2x3", "2x3", equation="ij,ij")
CASES.add(EinsumOp, "scalar", "3", equation=",i->i")
for dtype in ("float32", "float64", "float16"):
    CASES.add(DetOp, f"4x4 {dtype}")
CASES.add(DetOp, "3x2x5x5")
CASES.add(DetOp, "2x1x1")
CASES.add(DetOp, np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], np.float32))
CASES.add(InverseOp, np.array([[0, 1, 0], [0, 0, 1], [2, 0, 0]], np.float32))
CASES.add(InverseOp, np.linspace(-1, 1, 18).reshape(2, 3, 3).astype(np.float64) + 3 * np.eye(3))
CASES.add(InverseOp, (np.tri(4) + np.eye(4)).astype(np.float16))
CASES.add(DynamicTimeWarpingOp, "5x8")
CASES.add(DynamicTimeWarpingOp, np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], np.float32))
CASES.add(DetOp, np.array([[1, 2], [2, 4]], np.float32))
for dtype in ("float32", "int64", "bool", "float16"):
    CASES.add(TriluOp, f"4x5 {dtype}", np.array(1))
    CASES.add(TriluOp, f"2x5x3 {dtype}", np.array([-1]), upper=False)
CASES.add(TriluOp, "4x5", np.array(-9), constants=1)
CASES.add(TriluOp, "4x5", np.array(2, np.int32), upper=False, constants=1)

SOME = np.array([[0, 2, -1], [4, -1, 1]])
for reduction in ("none", "sum", "mean"):
    for dtype in ("float32", "float16"):
        weights = np.abs(random((5,), dtype))
        CASES.add(NLLLossOp, f"2x5x3 {dtype}", SOME, weights, reduction=reduction, ignore_index=-1)
    CASES.add(NLLLossOp, "4x5", np.array([1, 0, 4, 4], np.int32), "5", reduction=reduction)
for dtype in ("float32", "float64", "float16"):
    shares = np.abs(random((4, 7), dtype))
    CASES.add(CrossEntropyOp, shares + shares.dtype.type(0.1), shares[::-1].copy())
    CASES.add(CrossEntropyWithLogitsOp, f"4x7 {dtype}", shares)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_equations():
    found = Equation.of("...ij,jk...", [(2, 3, 4), (4, 5, 1)])
    assert found.operands == ((".0", "i", "j"), ("j", "k", ".0"))
    assert found.result == (".0", "i", "k")
    assert found.summed == ("j",)
    assert found.shape == (2, 3, 5)
    for text, shapes in (
        ("ij,jk->ik", [(2, 3)]),
        ("ij->ij", [(2, 3, 4)]),
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ij->ijz", [(2, 3)]),
        ("i1->i", [(2, 3)]),
    ):
        with pytest.raises(ValueError, match=r"an equation|dimensions|extent|result"):
            Equation.of(text, shapes)
