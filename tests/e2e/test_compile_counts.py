"""Nothing is compiled after the second size; `tests/support/compile_counts.py` runs all models that it counts for."""

from __future__ import annotations

import pytest
from compile_counts import CASES, counts

SAMPLE = ("rnn.trace.onnx", "sliding chunks", "regulated", "padded windows")


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_compiled_after_the_second_size(name: str):
    before, *calls = counts(CASES[name]())
    assert before + calls[0] > 0
    assert calls[1] <= 1
    assert calls[2:] == [0, 0, 0]


def test_there_are_more_of_them():
    assert len(CASES) >= 55
    assert sum(name.endswith(".onnx") for name in CASES) >= 29
