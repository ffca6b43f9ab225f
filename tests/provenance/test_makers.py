"""Who made an op: the ledger names the patterns that a watcher of xDSL's own rewriters saw, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.makers import judged

EXPORTS = Path(__file__).parents[1] / "exports"
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "light_squeezenet": {},
    "light_shufflenet": {},
    "lstm.onnx": {},
    "bert.onnx": {"given_0": (2, 7), "given_1": (2, 7)},
    "convnext.onnx": {"given_0": (1, 3, 32, 32)},
    "mobilenet_v3.qdq.onnx": {},
    "tflite/autoencoder.dynamic.tflite": {},
    "tflite/mobilenet_v1.int8.tflite": {},
    "tflite/ds_cnn.int16.tflite": {},
    "tflite/mobilebert.int8.tflite": {},
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_ledger_names_those_patterns_that_made_an_op(name: str):
    verdict = judged(str(EXPORTS / name) if "." in name else name, SHAPES[name])
    assert (verdict.wrong, verdict.missing) == ([], [])
    assert verdict.operators > 10
    assert verdict.made > 0
