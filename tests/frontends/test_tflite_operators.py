"""Every TFLite operator on random data, shapes and options, against LiteRT's reference kernels."""

from __future__ import annotations

import numpy as np
import pytest
from random_tflite import CASES, run_case
from random_tflite_float import one


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_litert_gives(name: str):
    outcome = run_case(name, 1)
    assert outcome.skipped or not outcome.problem


def test_few_cases_are_refused_by_litert():
    assert sum(run_case(name, 1).skipped for name in list(CASES)[::4]) <= 2


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    monkeypatch.setitem(CASES, "wrong", lambda _: one("EXP", [("float32", [3])], options="ExpOptions"))
    monkeypatch.setattr("random_tflite._found", lambda *_: [rng.random(3).astype(np.float32)])
    assert "off by" in run_case("wrong", 0).problem
