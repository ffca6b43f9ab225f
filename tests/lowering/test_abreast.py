"""Elements that are chains of operations: several vectors of them are computed side by side, as one wider vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from reference_runtime import onnxruntime_outputs

import whence

Array = NDArray[Any]
AVX2 = "llvm -mcpu=haswell"
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2**-149, -(2**-149), 2**-126, 2**-24, 9.02, 88.7, -87.4, 3e38])
"""Among them numbers that are denormal, and where results of tanh, exp and sigmoid leave what floats hold."""


def model(nodes: str, shape: tuple[int, ...]) -> onnx.ModelProto:
    extents = ", ".join(map(str, shape))
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        graph (float[{extents}] x) => (float[{extents}] y) {{ {nodes} }}""")


def tir(nodes: str, shape: tuple[int, ...], target: str = AVX2) -> str:
    kernel: Any = whence.compile(model(nodes, shape), target=target).artifact.kernels[0]
    return kernel.tir


@pytest.mark.parametrize("nodes", ["y = Tanh (x)", "y = Sigmoid (x)", "y = Erf (x)", "a = Neg (x) y = Exp (a)"])
def test_elementary_functions_are_computed_four_vectors_at_once(nodes: str):
    assert "-> vector<32xf32>" in tir(nodes, (24, 64))
    assert "-> vector<64xf32>" in tir(nodes, (24, 64), "llvm -mcpu=skylake-avx512")
    # 16 and 8 do not become 32.
    assert "-> vector<16xf32>" in tir(nodes, (3, 48))
    assert "-> vector<8xf32>" in tir(nodes, (3, 24))


def test_short_elements_have_vectors_of_the_machine():
    assert "vector<16xf32>" not in tir("y = Relu (x)", (24, 64))
    assert "vector<32xf32>" not in tir("a = Mul (x, x) b = Add (a, x) y = Relu (b)", (24, 64))


def test_exponentials_of_long_rows_too():
    assert "vector<32xf32>" in tir("y = Softmax (x)", (4, 1024))
    assert "vector<32xf32>" in tir("y = LogSoftmax (x)", (4, 1024))
    # Rows in registers are beside each other anyway.
    assert "vector<32xf32>" not in tir("y = Softmax (x)", (4, 64))


def test_all_lanes_treat_special_numbers_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(scale=4, size=(64, 64)).astype(np.float32)
    x.ravel()[rng.permutation(x.size)[: 40 * len(SPECIAL)]] = np.tile(SPECIAL, 40)
    exact = x.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        expected = {"Tanh": np.tanh(exact), "Sigmoid": 1 / (1 + np.exp(-exact)), "Exp": np.exp(exact)}
        for kind, values in expected.items():
            y = np.asarray(whence.compile(model(f"y = {kind} (x)", x.shape), threads=1)(x))
            np.testing.assert_allclose(y, values.astype(np.float32), rtol=3e-7, atol=2**-126, err_msg=kind)
    y = np.asarray(whence.compile(model("y = Tanh (x)", x.shape), threads=1)(x))
    assert (np.signbit(y) == np.signbit(x))[~np.isnan(x)].all()
    assert (np.abs(y[np.isinf(x)]) == 1).all()


def test_rows_are_those_of_onnxruntime():
    x = np.random.default_rng(0).normal(scale=3, size=(6, 1024)).astype(np.float32)
    x[1, 3], x[2, 5], x[3] = np.nan, -np.inf, -np.inf
    for kind in ("Softmax", "LogSoftmax"):
        source = model(f"y = {kind} (x)", x.shape)
        (expected,) = onnxruntime_outputs(source, {"x": x})
        np.testing.assert_allclose(whence.compile(source, threads=1)(x), expected, rtol=2e-6, atol=1e-6, err_msg=kind)
