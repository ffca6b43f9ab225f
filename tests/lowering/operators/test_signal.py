"""Fourier transforms, compiled."""

from __future__ import annotations

import pytest
from operator_cases import Cases, Check, MakeNet

from whence.dialects.relay.operator import Operator
from whence.dialects.relay.signal import DftOp, StftOp

CASES = Cases()
CASES.add(DftOp, "2x3x60", "2x3x60")
CASES.add(DftOp, "64 float64", "64 float64", inverse=True)
CASES.add(DftOp, "2x7 float16", "2x7 float16")
CASES.add(StftOp, "2x50", "20", n_fft=20, hop_length=7, win_length=20)
CASES.add(StftOp, "1x40", "12", n_fft=16, hop_length=8, win_length=12, normalized=True, onesided=False)


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)
