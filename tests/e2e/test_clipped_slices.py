"""Slices that a short axis cuts off, `x[:1]` of n rows, and what they broadcast with: for every n, by onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from reference_runtime import onnxruntime_outputs

import whence
from whence.executables.sized import SizedExecutable
from whence.support.errors import FrontendError

_SLICES = """zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
    back = Constant <value_ints = [-1]> () end = Constant <value_ints = [9223372036854775807]> () rows = Shape (x)
    first = Slice (x, zero, one) last = Slice (x, back, end)"""


def _model(inputs: str, nodes: str) -> onnx.ModelProto:
    header = '<ir_version: 8, opset_import: ["": 18]> net'
    return onnx.parser.parse_model(f"{header} (float[n, 4] x{inputs}) => (float[k, 4] y) {{ {_SLICES} {nodes} }}")


def _compiled(model: onnx.ModelProto) -> SizedExecutable:
    executable = whence.compile(model, audit=True)
    assert isinstance(executable, SizedExecutable)
    return executable


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Expand (first, rows)",
        "y = Expand (last, rows)",
        "y = Add (first, x)",
        "s = Softmax (x) l = Slice (s, back, end) d = Sub (x, l) y = Exp (d)",
        "c = Greater (x, last) y = Where (c, first, x)",
        "y = Add (first, last)",
    ],
)
def test_a_row_is_stretched_to_every_number_of_rows(nodes: str):
    model = _model("", nodes)
    executable = _compiled(model)
    for n in (0, 1, 2, 3, 9):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)
        (expected,) = onnxruntime_outputs(model, {"x": x})
        result = executable.run({"x": x})["y"]
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_a_row_beside_other_rows_has_to_be_there():
    model = _model(", float[m, 4] z", "y = Mul (first, z)")
    executable = _compiled(model)
    for n, m in ((1, 1), (1, 5), (4, 1), (4, 7), (3, 0)):
        feeds = {name: np.random.default_rng(m).random((rows, 4), np.float32) for name, rows in (("x", n), ("z", m))}
        np.testing.assert_allclose(executable.run(feeds)["y"], onnxruntime_outputs(model, feeds)[0], rtol=1e-6)
    with pytest.raises(FrontendError, match="expected 1 <= n, got n = 0"):
        executable(np.zeros((0, 4), np.float32), np.zeros((3, 4), np.float32))
