"""Sorting, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import NAN, Cases, Check, MakeNet

from whence.dialects.relay.operator import Operator
from whence.dialects.relay.sorting import (
    ArgsortOp,
    InvertPermutationOp,
    SearchSortedOp,
    SortOp,
    TopKOp,
    UniqueOp,
)

CASES = Cases()
_RANDOM = np.random.default_rng(3)
_FEW = _RANDOM.integers(0, 4, (3, 37, 2)).astype(np.float32)
"""With many equals."""
_ODD = np.array([[2, NAN, -1, np.inf, -0.0, 0.0, NAN, -np.inf, 7]], np.float32)

for dtype in ("bfloat16", "bool"):
    CASES.add(ArgsortOp, f"2x19 {dtype}")
for case in (_FEW, _ODD):
    CASES.add(SortOp, case, axis=1, is_ascend=case is _ODD)
    CASES.add(ArgsortOp, case, axis=1, is_ascend=case is _FEW, dtype="int64")
CASES.add(SortOp, "5x1", is_ascend=False)
CASES.add(TopKOp, "3x41 uint64", k=4)
for k in (2, 9):
    CASES.add(TopKOp, _FEW, k=k, axis=1, is_ascend=k == 9, dtype="int64")
CASES.add(TopKOp, np.tile(_ODD, (2, 5)), k=7)
CASES.add(TopKOp, "300", k=3, ret_type="values")
CASES.add(TopKOp, "300", k=0, ret_type="indices")
for right in (True, False):
    CASES.add(
        SearchSortedOp, np.sort(_FEW.ravel()), np.linspace(-1, 5.5, 14, dtype=np.float32).reshape(2, 7), right=right
    )
    rows = np.sort(_RANDOM.integers(0, 9, (2, 3, 8)), -1)
    CASES.add(SearchSortedOp, rows, _RANDOM.integers(-1, 10, (2, 3, 5)), right=right, dtype="int64")
CASES.add(UniqueOp, _FEW.ravel())
CASES.add(UniqueOp, _FEW[:, :4].reshape(6, 4), sorted=False)
CASES.add(UniqueOp, np.array([2, NAN, 1, NAN, 2, -1], np.float16), sorted=False)
CASES.add(InvertPermutationOp, _RANDOM.permutation(17))
CASES.add(InvertPermutationOp, _RANDOM.permutation(5).astype(np.int32))


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
