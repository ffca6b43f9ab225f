"""Normalisations, dropout and random numbers against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnxruntime import check_node, one_node
from operator_cases import random

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx

MICROSOFT = "com.microsoft"


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_normalization_with_statistics(axis: int, dtype: str):
    x = random((2, 3, 4), dtype)
    row = x.shape[axis:]
    check_node("LayerNormalization", x, random(row, dtype), opset=17, axis=axis)
    every = (True, True, True) if dtype == "float32" else (True,)
    scale, bias = random(row, dtype), random(row[:1] + row[1:], dtype)
    check_node("LayerNormalization", x, scale, bias, opset=17, outputs=every, axis=axis, epsilon=0.01)


def test_layer_normalization_whose_scale_broadcasts():
    check_node("LayerNormalization", random((2, 3, 4)), random((4,)), random((3, 1)), opset=17, axis=1)


@pytest.mark.parametrize("rows", [(4, 5), (3, 4, 5), (2, 3, 4, 5), (3, 1, 5), (2, 1, 1, 5), (1, 5), (1, 1, 1, 1)])
@pytest.mark.parametrize("axis", [3, 2])
def test_a_scale_and_a_bias_that_differ_between_rows(rows: tuple[int, ...], axis: int):
    x = random((2, 3, 4, 5))
    check_node("LayerNormalization", x, random(rows), random(rows), opset=17, axis=axis, outputs=(True, True, True))
    check_node("RMSNormalization", x, random(rows), opset=23, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rms_normalization(axis: int):
    x = random((2, 3, 4))
    check_node("RMSNormalization", x, random(x.shape[axis:]), opset=23, axis=axis, epsilon=0.01)
    check_node("SimplifiedLayerNormalization", x, random(x.shape[axis:]), axis=axis, outputs=(True, True))


@pytest.mark.parametrize("outputs", [(True,), (True, False, False, True), (True, True, True, True)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
def test_skipped_normalizations(outputs: tuple[bool, ...], bias: bool, skip: tuple[int, ...]):
    x, row = random((2, 3, 8)), [random((8,)) * scale for scale in (1, 2, 3)]
    if outputs[1:2] != (True,):
        given = [x, random(skip), row[0], row[1], *([row[2]] if bias else [])]
        check_node("SkipLayerNormalization", *given, domain=MICROSOFT, outputs=outputs, epsilon=0.01)
        given = [x, random(skip), row[0], *([row[2]] if bias else [])]
        check_node("SkipSimplifiedLayerNormalization", *given, domain=MICROSOFT, outputs=outputs)
    else:
        # onnxruntime computes no statistics; they are those of the sum that it gives.
        given = [x, random(skip), row[0]]
        model, free = one_node("SkipLayerNormalization", given, domain=MICROSOFT, outputs=outputs, epsilon=0.01)
        found: Any = evaluate_module(from_onnx(model), list(free.values()))
        _, mean, inverse, total = (np.asarray(one, np.float64) for one in found)
        np.testing.assert_allclose(mean, total.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(inverse, (total.var(-1, keepdims=True) + 0.01) ** -0.5, rtol=1e-4)


@pytest.mark.parametrize("shape", [(2, 4, 5), (1, 4, 3, 5), (2, 4, 2, 3, 2)])
def test_instance_and_group_normalization(shape: tuple[int, ...]):
    x = random(shape)
    check_node("InstanceNormalization", x, random((4,)), random((4,)) * 2, opset=13, epsilon=0.01)
    check_node("GroupNormalization", x, random((4,)), random((4,)) * 2, opset=21, num_groups=2)
    check_node("GroupNormalization", x, random((2,)), random((2,)) * 2, opset=18, num_groups=2)


@pytest.mark.parametrize("shape", [(2, 3), (4, 3, 5), (2, 3, 2, 3, 2)])
def test_batch_normalization_of_any_rank(shape: tuple[int, ...]):
    vectors = [random((3,)), random((3,)) * 2, random((3,)) * 3, np.abs(random((3,))) + np.float32(0.5)]
    check_node("BatchNormalization", random(shape), *vectors, opset=15, epsilon=0.01)


def test_batch_normalization_in_training():
    x = random((4, 3, 5)).astype(np.float64)
    scale, bias, mean, variance = (np.abs(random((3,))) * factor + np.float32(0.5) for factor in (1, 2, 3, 4))
    given = [x.astype(np.float32), scale, bias, mean, variance]
    model, free = one_node(
        "BatchNormalization", given, opset=15, outputs=(True, True, True), training_mode=1, momentum=0.7
    )
    found: Any = evaluate_module(from_onnx(model), list(free.values()))
    own_mean, own_variance = x.mean((0, 2)), x.var((0, 2))
    normal = (x - own_mean[:, None]) / np.sqrt(own_variance + 1e-5)[:, None]
    np.testing.assert_allclose(found[0], normal * scale[:, None] + bias[:, None], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], mean * 0.7 + own_mean * 0.3, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[2], variance * 0.7 + own_variance * 0.3, rtol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(axis: int, p: int):
    x = random((3, 4, 5))
    x[0], x[:, 1], x[..., 2] = 0, 0, 0
    check_node("LpNormalization", x, opset=1 if axis < 0 else 22, axis=axis, p=p) if axis >= 0 else check_node(
        "LpNormalization", x, opset=22, axis=axis, p=p
    )


def test_mean_variance_normalization_and_lrn():
    check_node("MeanVarianceNormalization", random((2, 3, 4, 5)), opset=13, rtol=1e-4, atol=1e-5)
    check_node("MeanVarianceNormalization", random((2, 3, 4)), opset=13, axes=[0, 2], rtol=1e-4, atol=1e-5)
    check_node("LRN", random((2, 5, 3, 4)), opset=13, size=3, alpha=0.1, beta=0.5, bias=2.0)


@pytest.mark.parametrize("op", ["Gelu", "FastGelu", "QuickGelu", "BiasGelu"])
def test_gelus_of_onnxruntime(op: str):
    x = random((3, 8))
    check_node(op, x, *([random((8,))] if op == "BiasGelu" else []), domain=MICROSOFT)
    if op == "FastGelu":
        check_node(op, x, random((8,)), domain=MICROSOFT)


def drawn(op: str, *inputs: Any, **arguments: Any) -> list[Any]:
    model, free = one_node(op, inputs, **arguments)
    found: Any = evaluate_module(from_onnx(model), list(free.values()))
    return found


def test_dropout_in_training():
    x = random((100, 100))
    on = np.array(True)
    found, mask = drawn(
        "Dropout", x, np.array(0.25, np.float32), on, opset=13, known=[1, 2], outputs=(True, True), seed=3
    )
    assert abs(mask.mean() - 0.75) < 0.02
    np.testing.assert_allclose(found, np.where(mask, x / 0.75, 0), rtol=1e-6)
    other, _ = drawn("Dropout", x, np.array(0.25, np.float32), on, opset=13, known=[1, 2], outputs=(True, True), seed=4)
    assert (other != found).any()
    (same,) = drawn("Dropout", x, np.array(0, np.float32), on, opset=13, known=[1, 2])
    np.testing.assert_array_equal(same, x)


def test_random_numbers():
    (bell,) = drawn("RandomNormal", shape=[100, 100], mean=3.0, scale=0.5, seed=1.0, dtype=11)
    assert bell.dtype == np.float64
    assert abs(bell.mean() - 3) < 0.03
    assert abs(bell.std() - 0.5) < 0.02
    (even,) = drawn("RandomUniformLike", random((100, 100), "float16"), low=-1.0, high=1.0, opset=22)
    assert even.dtype == np.float16
    assert abs(even.astype(np.float32).mean()) < 0.03
    (again,) = drawn("RandomUniformLike", random((100, 100), "float16"), low=-1.0, high=1.0, opset=22)
    assert (again != even).any()


def test_choices():
    chance = np.linspace(0, 1, 5, dtype=np.float32)[:, None].repeat(4000, axis=1)
    (found,) = drawn("Bernoulli", chance, opset=15, dtype=9, seed=1.0)
    np.testing.assert_allclose(found.mean(1), chance[:, 0], atol=0.03)
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0]])
    (found,) = drawn(
        "Multinomial", np.log(weights + 1e-30).astype(np.float32), opset=15, sample_size=4000, dtype=7, seed=1.0
    )
    assert found.dtype == np.int64
    shares = [[(row == value).mean() for value in range(3)] for row in found]
    np.testing.assert_allclose(shares, weights, atol=0.03)
