"""Steps of decoders and their prompts: caches of keys and values that grow, and heads that share them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence
from whence.lowering.kernel.record import Kernel

ort: Any = import_module("onnxruntime")
HEADS, SHARED, SIZE = 6, 2, 16
GROUPED = f"""
<ir_version: 8, opset_import: ["": 18]>
grouped (float[b, {HEADS}, s, {SIZE}] q, float[b, {SHARED}, s, {SIZE}] k, float[b, {SHARED}, s, {SIZE}] v,
         float[b, {SHARED}, p, {SIZE}] past_k, float[b, {SHARED}, p, {SIZE}] past_v, bool[s, t] seen)
     => (float[b, {HEADS}, s, {SIZE}] y, float[b, {SHARED}, t, {SIZE}] all_k, float[b, {SHARED}, t, {SIZE}] all_v)
    <int64[1] two = {{2}}, int64[5] times = {{1, 1, {HEADS // SHARED}, 1, 1}},
     int64[4] heads = {{0, {HEADS}, -1, {SIZE}}}, float scale = {{0.25}}, float far = {{-1e9}}> {{
    [keys] all_k = Concat <axis = 2> (past_k, k)
    [values] all_v = Concat <axis = 2> (past_v, v)
    k5 = Unsqueeze (all_k, two)
    [repeated_keys] k6 = Expand (k5, times)
    k7 = Reshape (k6, heads)
    v5 = Unsqueeze (all_v, two)
    [repeated_values] v6 = Expand (v5, times)
    v7 = Reshape (v6, heads)
    turned = Transpose <perm = [0, 1, 3, 2]> (k7)
    [scores] scores = MatMul (q, turned)
    scaled = Mul (scores, scale)
    [masked] masked = Where (seen, scaled, far)
    [odds] odds = Softmax <axis = -1> (masked)
    [mixed] y = MatMul (odds, v7)
}}
"""
LENGTHS = [(1, 1, 0), (1, 1, 1), (1, 1, 37), (2, 1, 300), (1, 1, 4096), (1, 5, 0), (2, 7, 3), (1, 64, 0), (1, 33, 128)]
"""Rows of a batch, new tokens, and past ones."""


def _arrays(rng: np.random.Generator, batch: int, new: int, past: int) -> dict[str, Any]:
    shapes = {"q": (HEADS, new), "k": (SHARED, new), "v": (SHARED, new), "past_k": (SHARED, past)}
    shapes["past_v"] = shapes["past_k"]
    arrays: dict[str, Any] = {
        name: rng.standard_normal((batch, *shape, SIZE), np.float32) for name, shape in shapes.items()
    }
    arrays["seen"] = np.arange(past + new) <= np.arange(past, past + new)[:, None]
    return arrays


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(GROUPED)


@pytest.fixture(scope="module")
def session(model: onnx.ModelProto) -> Any:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def decoder(model: onnx.ModelProto) -> whence.Executable:
    return whence.compile(model, tier="symbolic", input_shapes="seen:[s,p+s]")


def test_heads_that_share_keys_and_values_read_them_once(decoder: whence.Executable) -> None:
    assert not any("broadcast_to" in name for name in decoder.kernels)
    kernels = [kernel for kernel in decoder.artifact.kernels if isinstance(kernel, Kernel)]
    _, _, one = next(kernel.tir for kernel in kernels if "where" in kernel.symbol).partition("} else {")
    assert "vector.reduction" in one
    # Queries of all heads of a group are multiplied with a key before the next one is read.
    rows = [line.split()[-2] for line in one.splitlines() if "tir.for unrolled %b2" in line]
    assert set(rows) == {str(HEADS // SHARED)}


@pytest.mark.parametrize(("batch", "new", "past"), LENGTHS)
def test_steps_and_prompts_agree(decoder: whence.Executable, session: Any, batch: int, new: int, past: int) -> None:
    inputs = _arrays(np.random.default_rng(past + new), batch, new, past)
    for found, expected in zip(decoder.run(inputs).values(), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("batch", "new", "past"), [(1, 1, 40), (2, 24, 8)])
def test_programs_for_certain_sizes_share_too(
    model: onnx.ModelProto, session: Any, batch: int, new: int, past: int
) -> None:
    inputs = _arrays(np.random.default_rng(1), batch, new, past)
    static = whence.compile(model, input_shapes={name: array.shape for name, array in inputs.items()})
    assert not any("broadcast_to" in name for name in static.kernels)
    for found, expected in zip(static.run(inputs).values(), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
