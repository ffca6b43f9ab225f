"""Graphs with dynamic axes as exporters write them are one program each, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence
from whence.executables.sized import SizedExecutable
from whence.support.errors import FrontendError

ort: Any = import_module("onnxruntime")
RNG = np.random.default_rng(6)

POSITIONS = """graph (float[b, s, 4] x, float[20, 4] k) => (float[p, q, r] y) <int64[1] z = {0}> {
    n = Shape <start = 1, end = 2> (x)
    t = Slice (k, z, n, z)
    y = Add (x, t)
}"""
"""A table of 20 positions, cut to the length of the sequence."""
MULTIPLES = """graph (float[b, 3, s] x) => (float[p, q, r] y)
    <int64[5] zs = {0, 0, 0, 0, 0}, int64 most = {31}, int64 of = {32}, int64[1] a = {0}> {
    n = Shape <start = 2> (x)
    more = Add (n, most)
    count = Div (more, of)
    whole = Mul (count, of)
    after = Sub (whole, n)
    pads = Concat <axis = 0> (zs, after)
    y = Pad (x, pads)
}"""
"""Filled up to a multiple of 32."""
NORM = """graph (float[b, 4, s] x) => (float[p, q, r] y) <float[4] k = {1, 2, 3, 4}> {
    y = InstanceNormalization (x, k, k)
}"""
LARGEST = """graph (float[b, s] x) => (float[p, q] y, int64[p, q] i) <int64[1] k = {3}> { y, i = TopK (x, k) }"""


@pytest.mark.parametrize(
    ("text", "shapes", "bad", "bound"),
    [
        (POSITIONS, [(1, 1, 4), (2, 0, 4), (3, 20, 4)], (1, 21, 4), "0 <= s <= 20"),
        (MULTIPLES, [(1, 3, 1), (2, 3, 32), (1, 3, 77)], None, ""),
        (NORM, [(1, 4, 2), (3, 4, 33)], None, ""),
        (LARGEST, [(1, 3), (2, 40)], (1, 2), "3 <= s"),
    ],
    ids=["positions", "multiples", "norm", "largest"],
)
def test_one_program(text: str, shapes: Sequence[Sequence[int]], bad: Sequence[int] | None, bound: str):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    executable = whence.compile(model, tier="symbolic", audit=True, threads=1)
    assert isinstance(executable, SizedExecutable)
    judge = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    others = {spec.name: RNG.standard_normal(spec.shape, np.float32) for spec in executable.inputs[1:]}
    for shape in shapes:
        inputs = {"x": RNG.standard_normal(shape, np.float32), **others}
        for found, expected in zip(executable.run(inputs).values(), judge.run(None, inputs), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    if bad is not None:
        with pytest.raises(FrontendError, match=f"expected {bound}, got s = {bad[1]}"):
            executable.run({"x": np.zeros(bad, np.float32), **others})
