"""Every TFLite operator on random data, shapes and options, against LiteRT's reference kernels."""

from __future__ import annotations

import numpy as np
import pytest
from random_tflite import CASES, run_case
from random_tflite_parts import one
from random_tflite_quantized import One
from tflite_builder import Array, Quant, litert

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite


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


def _random(op: str, seed: int, shape: list[int]) -> list[Array]:
    """What we give for a random operator, and LiteRT."""
    data = one(op, [np.array(shape, np.int32)], options="RandomOptions", seed=seed, seed2=7)
    return [np.asarray(evaluate_module(from_tflite(data), [])[0]), litert(data, {})[0]]


@pytest.mark.parametrize("op", ["RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"])
def test_random_numbers_are_distributed_as_litert_has_them(op: str):
    found = [np.sort(one.reshape(-1)) for one in _random(op, 3, [40, 500])]
    # Two-sample Kolmogorov-Smirnov: of 20000 numbers each, 0.02 is exceeded once in 1500 times.
    places = np.concatenate(found)
    mine, theirs = (np.searchsorted(one, places, side="right") / len(one) for one in found)
    assert np.abs(mine - theirs).max() < 0.02
    assert found[0].dtype == found[1].dtype
    assert not np.array_equal(_random(op, 4, [5])[0], _random(op, 3, [5])[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_quotient_smaller_than_a_step_is_none(dtype: str):
    """Where LiteRT shifts by more bits than there are, and gives whatever that is."""
    rng, zero = np.random.default_rng(0), 0 if dtype == "int8" else 128
    x, y = (rng.choice([-120, -75, -3, 1, 90, 127], 200) + zero for _ in range(2))
    quotient = One(rng)
    quotient.input((200,), dtype, Quant(0.01, zero))
    quotient.const(y.astype(dtype), Quant(0.05, zero))
    data = quotient.end("DIV", dtype, Quant(1.0, zero), "DivOptions", fusedActivationFunction=0)
    (found,) = evaluate_module(from_tflite(data), [x.astype(dtype)])
    real = (x - zero) * 0.01 / ((y - zero) * 0.05)
    wanted = np.clip(real + zero, *((-128, 127) if dtype == "int8" else (0, 255)))
    assert np.abs(np.asarray(found, np.float64) - wanted).max() <= 0.51


def test_random_classes_are_as_frequent_as_litert_has_them():
    logits = np.array([[0, 1, -np.inf, 2.5], [3, 0, 0, 0]], np.float32)
    inputs = [logits, np.array(20000, np.int32)]
    data = one("MULTINOMIAL", inputs, ["int64"], "RandomOptions", seed=5)
    mine, theirs = np.asarray(evaluate_module(from_tflite(data), [])[0]), litert(data, {})[0]
    assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    odds = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for found in (mine, theirs):
        np.testing.assert_allclose([np.bincount(row, minlength=4) / 20000 for row in found], odds, atol=0.015)
