"""Attributes that are booleans, with numbers other than 0 and 1: some operators of onnxruntime compare them with 1,
some with 0, and some take no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from against_onnxruntime import Array, check_node, one_node

from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

rng = np.random.default_rng(3)


def floats(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


AXIS = np.array([1])
ROWS = floats(3, 4)
IMAGE = floats(1, 1, 6, 6)
WINDOWS: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]}
LAYER = [floats(3, 2, 4), floats(1, 20, 4), floats(1, 20, 5), floats(1, 40)]
CASES: list[tuple[str, str, Sequence[Array], dict[str, Any]]] = [
    ("Gemm", "transA", [floats(4, 4), floats(4, 4)], {}),
    ("Gemm", "transB", [floats(4, 4), floats(4, 4)], {}),
    ("ReduceSum", "keepdims", [ROWS, AXIS], {"known": [1]}),
    ("ReduceMax", "noop_with_empty_axes", [ROWS], {}),
    ("ArgMax", "keepdims", [ROWS], {}),
    ("ArgMax", "select_last_index", [np.ones((3, 4), np.float32)], {}),
    ("Trilu", "upper", [floats(4, 4)], {}),
    ("TopK", "largest", [ROWS, np.array([2])], {"known": [1], "outputs": (True, True)}),
    ("MaxPool", "ceil_mode", [IMAGE], WINDOWS),
    ("AveragePool", "ceil_mode", [IMAGE], WINDOWS),
    ("AveragePool", "count_include_pad", [IMAGE], WINDOWS),
    ("Reshape", "allowzero", [ROWS, np.array([0, 4])], {"known": [1]}),
    ("LSTM", "input_forget", LAYER, {"hidden_size": 5}),
    ("GridSample", "align_corners", [floats(1, 1, 5, 5), floats(1, 3, 3, 2) / 2], {}),
    ("IsInf", "detect_negative", [np.array([np.inf, -np.inf, 1], np.float32)], {}),
    ("Attention", "is_causal", [floats(1, 2, 4, 8) for _ in range(3)], {"opset": 23}),
    ("RotaryEmbedding", "interleaved", [floats(1, 2, 3, 8), floats(1, 3, 4), floats(1, 3, 4)], {"opset": 23}),
]


@pytest.mark.parametrize(("op", "attribute", "inputs", "arguments"), CASES)
def test_a_number_is_true_where_it_is_for_onnxruntime(
    op: str, attribute: str, inputs: Sequence[Array], arguments: dict[str, Any]
):
    check_node(op, *inputs, **arguments, **{attribute: 2})


TRANSFORMED = floats(1, 4, 8), floats(8, 24), floats(24)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_masks_of_microsoft(number: int):
    check_node("Attention", *TRANSFORMED, domain="com.microsoft", num_heads=2, unidirectional=number)


REFUSED: list[tuple[str, str, Sequence[Array], dict[str, Any]]] = [
    ("CumSum", "reverse", [floats(5), np.array(0)], {"known": [1]}),
    ("CumSum", "exclusive", [floats(5), np.array(0)], {"known": [1]}),
    ("Mod", "fmod", [floats(5), floats(5)], {}),
    ("MaxPool", "storage_order", [IMAGE], {"kernel_shape": [2, 2], "outputs": (True, True)}),
]


@pytest.mark.parametrize(("op", "attribute", "inputs", "arguments"), REFUSED)
def test_a_number_that_onnxruntime_refuses(op: str, attribute: str, inputs: Sequence[Array], arguments: dict[str, Any]):
    number: Any = 2
    model, _ = one_node(op, inputs, **arguments, **{attribute: number})
    with pytest.raises(FrontendError, match=f"{op}: expected {attribute} 0 or 1, got 2"):
        from_onnx(model)
