"""Convolutions of channels that no block divides, one behind the other, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.executables.executable import Executable

BODIES = {
    "activations": "b = Relu (a)  c = LeakyRelu (a)  d = Mul (b, c)",
    "two ways": "b = Conv <pads = [1, 1, 1, 1]> (a, own)  c = Add (b, a)  d = Relu (c)",
    "depthwise": "b = Conv <pads = [1, 1, 1, 1], group = 43> (a, deep, bias)  d = Relu (b)",
    "pools": "b = MaxPool <kernel_shape = [3, 3]> (a)  d = AveragePool <kernel_shape = [2, 2]> (b)",
    "a gate": "b = GlobalAveragePool (a)  g = Conv (b, single)  s = Relu (g)  d = Mul (a, s)",
    "means": "b = ReduceMean <axes = [2, 3], keepdims = 1> (a)  d = Sub (a, b)",
    "larger": 'd = Resize <mode = "linear"> (a, none, scales)',
}
TARGET = "llvm -mcpu=x86-64-v3"
"""A machine without masks; one that has them gives the last convolution a block of all channels."""
INNER = "no slice is between the convolutions"


def compiled(body: str) -> tuple[ModelProto, Executable, dict[str, np.ndarray]]:
    """13 channels -> 43 -> what a body makes of them -> 27, beside inputs; the model and its program."""
    rng = np.random.default_rng(0)
    weights = {
        "first": (43, 13, 3, 3), "bias": (43,), "own": (43, 43, 3, 3), "deep": (43, 1, 3, 3), "single": (43, 43, 1, 1),
        "both": (43, 86, 1, 1),
        "last": (27, 43, 3, 3), "ends": (27,),
    }  # fmt: skip
    proto = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 14]>
        net (float[2, 13, 9, 10] x) => (float[n, 27, h, w] y)
        <float low = {{-0.3}}, float high = {{0.5}}, float[4] scales = {{1, 1, 2, 2}}, float[0] none = {{}}> {{
            [front] a = Conv <pads = [1, 1, 1, 1]> (x, first, bias)
            {body}
            [back] y = Conv (d, last, ends)
        }}""")
    for name, shape in weights.items():
        if name not in body and name not in ("first", "bias", "last", "ends"):
            continue
        array = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        proto.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    inputs = {"x": rng.standard_normal((2, 13, 9, 10)).astype(np.float32)}
    return proto, whence.compile(proto, target=TARGET, audit=True), inputs


@pytest.mark.parametrize("body", BODIES)
def test_channels_are_taken_away_at_the_end(body: str):
    proto, exe, inputs = compiled(BODIES[body])
    np.testing.assert_allclose(exe.run(inputs)["y"], *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)
    *names, last = (call.name for call in exe.artifact.calls)
    assert "strided_slice" in last
    assert not any("strided_slice" in name or "pad" in name for name in names), INNER
    assert "vector.shuffle" in exe.get_source(last, "tir"), "rows are transposed in registers"


def test_no_infinity_is_made_of_what_is_not_there():
    """Of 1 / 0 in channels of zeros the next convolution would have no numbers."""
    proto, exe, inputs = compiled("b = Tanh (a)  d = Reciprocal (b)")
    (expected,) = onnxruntime_outputs(proto, inputs)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(exe.run(inputs)["y"], expected, rtol=0, atol=1e-2 * abs(expected).max())


@pytest.mark.parametrize("body", ["d = Clip (a, low, high)", "d = Sigmoid (a)", "b = Tanh (a)  d = Abs (b)"])
def test_no_next_layer_sees_infinities_of_which_others_make_numbers(body: str):
    proto, exe, inputs = compiled(body)
    inputs["x"][0, 3, 4, 5] = np.inf
    (expected,) = onnxruntime_outputs(proto, inputs)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(exe.run(inputs)["y"], expected, rtol=1e-4, atol=1e-4)


def test_a_concatenation_takes_what_is_there():
    proto, exe, inputs = compiled("b = Relu (a)  c = Conv (b, single)  e = Concat <axis=1> (b, c)  d = Conv (e, both)")
    (expected,) = onnxruntime_outputs(proto, inputs)
    np.testing.assert_allclose(exe.run(inputs)["y"], expected, rtol=1e-4, atol=1e-4)
