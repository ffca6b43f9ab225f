"""The interval of turns while kernels are compiled, and after it."""

from __future__ import annotations

import sys

import numpy as np
import onnx.parser

import whence
from whence.support.switching import quick_turns

MODEL = """<ir_version: 8, opset_import: ["": 18]>
graph (float[2, 3] x) => (float[2, 3] y) { z = Exp (x) y = Neg (z) }"""


def test_the_last_of_overlapping_sections_brings_the_interval_back() -> None:
    before = sys.getswitchinterval()
    first, second = quick_turns(), quick_turns()
    with first:
        assert sys.getswitchinterval() < before / 10
        second.__enter__()
    assert sys.getswitchinterval() < before / 10
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == before


def test_a_shorter_interval_stays() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    shorter = sys.getswitchinterval()
    try:
        with quick_turns():
            assert sys.getswitchinterval() == shorter
    finally:
        sys.setswitchinterval(before)


def test_kernels_are_compiled_with_quick_turns_and_nothing_else_is() -> None:
    intervals: list[tuple[str, float]] = []

    def tell(what: str, done: int, total: int) -> None:
        intervals.append((what, sys.getswitchinterval()))

    before = sys.getswitchinterval()
    compiled = whence.compile(onnx.parser.parse_model(MODEL), progress=tell)
    assert all(interval < before / 10 for what, interval in intervals if what == "kernels")
    assert all(interval == before for what, interval in intervals if what != "kernels")
    assert {what for what, _ in intervals} == {"passes", "kernels"}
    assert sys.getswitchinterval() == before
    np.testing.assert_allclose(compiled(np.zeros((2, 3), np.float32)), -np.ones((2, 3)), rtol=1e-6)
