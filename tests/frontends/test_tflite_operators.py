"""Every TFLite operator on random data, shapes and options, against LiteRT's reference kernels."""

from __future__ import annotations

import numpy as np
import pytest
from random_tflite import CASES, run_case
from random_tflite_parts import one
from tflite_builder import Array


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_litert_gives(name: str):
    outcome = run_case(name, 1)
    assert outcome.skipped or not outcome.problem


def test_few_cases_are_refused_by_litert():
    assert sum(run_case(name, 1).skipped for name in list(CASES)[::4]) <= 2


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)

    def exponential(_: np.random.Generator) -> bytes:
        return one("EXP", [("float32", [3])], options="ExpOptions")

    monkeypatch.setitem(CASES, "wrong", exponential)

    def wrong(*_: object) -> list[Array]:
        return [rng.random(3).astype(np.float32)]

    monkeypatch.setattr("random_tflite._found", wrong)
    assert "off by" in run_case("wrong", 0).problem
