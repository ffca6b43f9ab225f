"""Products of two activations: a panel of the second is copied for all rows of the first, where that is worth it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence


def product(x: tuple[int, ...], y: tuple[int, ...], nodes: str = "z = MatMul (x, y)") -> onnx.ModelProto:
    given = ", ".join(f"float[{', '.join(map(str, shape))}] {name}" for name, shape in (("x", x), ("y", y)) if shape)
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        graph ({given}) => (float[{", ".join(["n"] * max(len(x), len(y)))}] z) {{ {nodes} }}""")


def copies(source: onnx.ModelProto) -> bool:
    kernel: Any = whence.compile(source, target="llvm -mcpu=haswell").artifact.kernels[-1]
    return ".local = tir.alloc" in kernel.tir.replace("matmul.local", "")


@pytest.mark.parametrize(
    ("x", "y"), [((32, 128), (128, 64)), ((33, 260), (260, 96)), ((3, 40, 130), (3, 130, 64)), ((64, 300), (300, 256))]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_panels_are_copied_for_many_rows(x: tuple[int, ...], y: tuple[int, ...], threads: int):
    rng = np.random.default_rng(0)
    source, a, b = product(x, y), rng.standard_normal(x, np.float32), rng.standard_normal(y, np.float32)
    assert copies(source)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(whence.compile(source, threads=threads)(a, b), exact, rtol=1e-4, atol=1e-4)


def test_other_panels_are_multiplied_as_they_lie():
    assert not copies(product((8, 128), (128, 64))), "few rows"
    assert not copies(product((64, 1000), (1000, 16))), "one panel"
    assert not copies(product((64, 50), (50, 64))), "a cache keeps it"
    assert not copies(product((64, 128), (128, 80))), "rows begin at many places"


def test_a_square_is_not_copied():
    source = product((128, 128), (), "z = MatMul (x, x)")
    assert not copies(source)
    a = np.random.default_rng(0).standard_normal((128, 128), np.float32)
    np.testing.assert_allclose(whence.compile(source, threads=1)(a), a @ a, rtol=1e-4, atol=1e-4)


def test_special_numbers_stay_in_their_rows_and_columns():
    rng = np.random.default_rng(0)
    a, b = rng.random((40, 128), np.float32), rng.random((128, 64), np.float32)
    a[7, 3], b[5, 9], b[6, 11] = np.nan, np.inf, -np.inf
    found = np.asarray(whence.compile(product(a.shape, b.shape), threads=1)(a, b))
    with np.errstate(invalid="ignore"):
        exact = a @ b
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(exact))
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(exact))
