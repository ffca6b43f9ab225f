"""A sample of senseless and damaged input of every kind; `tests/support/senseless.py` runs thousands."""

from __future__ import annotations

from collections import Counter

import pytest
from senseless import KINDS, check

CASES = {"onnx-graphs": 12, "tflite-bytes": 8, "mlir-text": 25}


@pytest.mark.parametrize("kind", KINDS)
def test_what_makes_no_sense_is_refused(kind: str):
    ends = Counter(word for seed in range(CASES.get(kind, 15)) for word in check(seed, kind))
    assert ends["refused"]
