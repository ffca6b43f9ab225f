"""Logic, choice, remainders, activations and reductions against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnxruntime import check_node, one_node
from numpy.typing import NDArray
from operator_cases import random

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError


def few(shape: tuple[int, ...], dtype: str, least: int = -4) -> NDArray[Any]:
    """Small whole numbers."""
    return np.random.default_rng(len(shape)).integers(least, 5, shape).astype(dtype)


@pytest.mark.parametrize("opset", [9, 16])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_where(opset: int, dtype: str):
    check_node("Where", random((2, 1, 4), "bool"), random((3, 1), dtype), random((4,), dtype), opset=opset)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op: str):
    check_node(op, random((2, 1, 4), "bool"), random((3, 1), "bool"), opset=7)


@pytest.mark.parametrize("op", ["LessOrEqual", "GreaterOrEqual"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_comparisons(op: str, dtype: str):
    check_node(op, few((3, 4), dtype), few((4,), dtype), opset=16)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
def test_mod(dtype: str):
    divisor = few((7,), dtype)
    check_node("Mod", few((3, 7), dtype), np.where(divisor == 0, 3, divisor).astype(dtype), opset=13)
    check_node("Mod", few((3, 7), dtype), np.where(divisor == 0, 3, divisor).astype(dtype), opset=13, fmod=1)


def test_fmod():
    for dtype in ("float32", "float64", "float16"):
        check_node("Mod", random((3, 7), dtype), random((7,), dtype), opset=13, fmod=1)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_bit_shift(direction: str, dtype: str):
    check_node("BitShift", random((3, 5), dtype), np.arange(5).astype(dtype), opset=11, direction=direction)


def test_mean_and_reciprocal():
    check_node("Mean", random((2, 3)), random((3,)), random((1, 1)), opset=13)
    check_node("Mean", random((2, 3)), opset=8)
    check_node("Reciprocal", random((2, 3)), opset=7)


def test_cast_like_and_casts_beyond_a_range():
    check_node("CastLike", random((2, 3)), random((1,), "int32"), opset=15)
    beyond = np.array([-1.5, 300, -300, 40000.7, 70000, 3], np.float32)
    for dtype in (2, 3, 4, 5):
        check_node("Cast", beyond, opset=13, to=dtype)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Celu", {"alpha": 1.5}),
        ("Elu", {}),
        ("Elu", {"alpha": 0.3}),
        ("Gelu", {}),
        ("Gelu", {"approximate": "tanh"}),
        ("HardSigmoid", {}),
        ("HardSigmoid", {"alpha": 0.5, "beta": 0.1}),
        ("HardSwish", {}),
        ("Mish", {}),
        ("Selu", {}),
        ("Selu", {"alpha": 2.0, "gamma": 0.5}),
        ("Shrink", {}),
        ("Shrink", {"lambd": 1.0, "bias": 0.25}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("ThresholdedRelu", {"alpha": 0.7}),
    ],
)
def test_activations(op: str, attributes: dict[str, Any]):
    opset = {"Gelu": 20, "Mish": 18, "HardSwish": 14, "Celu": 12}.get(op, 10)
    x = np.concatenate([random((40,)), np.array([0, -0.0, 30, -30, 100, -100], np.float32)])
    check_node(op, x, opset=opset, **attributes)


@pytest.mark.filterwarnings("ignore:.*expected ONNX opset")
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_a_gate_and_values_have_one_shape(alpha: float):
    gate, values = random((3, 4)), random((3, 4))
    model, inputs = one_node("SwiGLU", [gate, values], opset=28, alpha=alpha)
    (found,) = evaluate_module(from_onnx(model), list(inputs.values()))
    np.testing.assert_allclose(np.asarray(found, np.float32), gate / (1 + np.exp(-alpha * gate)) * values, rtol=1e-5)
    model, _ = one_node("SwiGLU", [gate[:1], values], opset=28, alpha=alpha)
    with pytest.raises(FrontendError, match=r"SwiGLU: expected values of shape \[1, 4\], got \[3, 4\]"):
        from_onnx(model)


@pytest.mark.parametrize("op", ["Softplus", "Mish"])
def test_softplus_where_exp_is_nothing_beside_1(op: str):
    x = np.linspace(-80, -10, 16, dtype=np.float32)
    model, inputs = one_node(op, [x], opset=18)
    (found,) = evaluate_module(from_onnx(model), list(inputs.values()))
    exact = np.exp(x.astype(np.float64)) * (x if op == "Mish" else 1)
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=1e-4)


@pytest.mark.parametrize("slope", [(3, 1, 1), (1,), (5,), (1, 3, 1, 1), (4, 5), (3, 4, 5), (2, 3, 4, 5)])
def test_prelu(slope: tuple[int, ...]):
    check_node("PRelu", random((2, 3, 4, 5)), random(slope), opset=16)


def test_slopes_of_empty_tensors():
    check_node("PRelu", random((2, 1, 3, 0)), random((2, 1, 1, 0)), opset=16)


@pytest.mark.filterwarnings("ignore:.*expected ONNX opset")
def test_slopes_of_old_opsets_lie_along_the_channels():
    x, slopes = random((2, 3, 4, 5)), random((3,))
    model, inputs = one_node("PRelu", [x, slopes], opset=6)
    (found,) = evaluate_module(from_onnx(model), list(inputs.values()))
    np.testing.assert_array_equal(found, np.where(x < 0, x * slopes[:, None, None], x))


@pytest.mark.parametrize("opset", [7, 13])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax(opset: int, axis: int):
    x = few((3, 4, 5), "float32")
    check_node("Hardmax", x, opset=opset, axis=axis)


REDUCTIONS = [
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
]


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op: str):
    x = np.abs(random((2, 3, 4))) + np.float32(0.1)
    for axes in ([0], [1, -1], [0, 1, 2]):
        for keepdims in (0, 1):
            check_node(op, x, opset=11, axes=axes, keepdims=keepdims)
            check_node(op, x, np.array(axes), opset=18, known=[1], keepdims=keepdims)
    check_node(op, x, opset=18)
    check_node(op, x, opset=18, keepdims=0)
    whole = few((3, 5), "int32", 1)
    check_node(op, whole, opset=11, axes=[1])


def test_log_sum_exp_of_extremes():
    x = np.array([[1000, 999], [-1000, -1001], [-np.inf, -np.inf], [np.inf, 1], [-np.inf, 2]], np.float32)
    model, free = one_node("ReduceLogSumExp", [x], opset=13, axes=[1], keepdims=0)
    found: Any = evaluate_module(from_onnx(model), list(free.values()))
    np.testing.assert_allclose(found[0], np.logaddexp(x[:, 0], x[:, 1]), rtol=1e-6)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions_over_no_axes(op: str):
    """With noop_with_empty_axes the elements stay, and what is done before and after adding them up is done."""
    x = np.abs(random((2, 3))) + np.float32(0.1)
    check_node(op, x, np.array([], np.int64), opset=18, known=[1], noop_with_empty_axes=1)
    check_node(op, x, opset=18, noop_with_empty_axes=1)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_reductions_of_bools_and_narrow_integers(op: str):
    check_node(op, random((3, 4), "bool"), np.array([1]), opset=20, known=[1])
    check_node(op, random((3, 4), "int8"), np.array([0]), opset=18, known=[1])


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("last", [0, 1])
def test_places(op: str, axis: int, last: int):
    for dtype in ("float32", "int32", "int8"):
        check_node(op, few((3, 6, 5), dtype), opset=13, axis=axis, select_last_index=last)
    check_node(op, few((3, 6, 5), "float32"), opset=11, axis=axis, keepdims=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumulative_sums(dtype: str, exclusive: int, reverse: int):
    for axis in (0, -1):
        place = np.array(axis, np.int64)
        check_node("CumSum", few((3, 6, 5), dtype), place, opset=14, known=[1], exclusive=exclusive, reverse=reverse)
