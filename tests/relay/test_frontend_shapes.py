"""Shapes that `relay.frontend.from_*` take: those that `whence.compile` takes, read by the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto
from tensorflow_graphs import Net as Graph
from tflite_builder import Net

import whence
from whence import relay
from whence.dialects.relay.size_ranges import main_of
from whence.support.errors import FrontendError

NET = """
<ir_version: 8, opset_import: ["": 18]>
net (float[ROWS, 4] x, float[ROWS, 4] y) => (float[ROWS, 8] z) {
    [sum] s = Add (x, y)
    [pair] z = Concat <axis = 1> (s, x)
}
"""
ANY = relay.Any()


def net(rows: str) -> ModelProto:
    return onnx.parser.parse_model(NET.replace("ROWS", rows))


@pytest.mark.parametrize(
    "shapes",
    [
        None,
        {"x": (ANY, 4)},
        {"x": (ANY, 4), "y": (ANY, 4)},
        {"x": ("n", 4)},
        {"x": ("rows", 4), "y": ("rows", 4)},
        {"x": (-1, 4)},
        {"x": (None, 4)},
        {"x": ("1<=n<=9", 4)},
        "x:[?,4]",
    ],
)
def test_open_shapes_become_sizes(shapes: Any):
    module, params = relay.frontend.from_onnx(net("n"), shapes)
    assert params == {}
    call = relay.create_executor("vm", module.module).evaluate()
    rng = np.random.default_rng(0)
    for rows in (1, 5):
        x, y = (rng.standard_normal((rows, 4)).astype(np.float32) for _ in "xy")
        np.testing.assert_array_equal(call(x, y), np.concatenate([x + y, x], 1))
    assert str(main_of(module.module).function_type) == str(main_of(whence.load(net("n"), shapes)).function_type)


def test_numbers_make_a_module_of_fixed_shapes():
    module, _ = relay.frontend.from_onnx(net("n"), {"x": (3, 4)})
    assert "Tensor[(3, 8), float32]" in str(module["main"])


@pytest.mark.parametrize("shape", [(ANY, 4), ("n", 4), (-1, 4), (3, 4)])
def test_shapes_against_the_model_are_an_error(shape: Any):
    with pytest.raises(FrontendError, match=r"input 'x': expected a shape that agrees with the model's \[2, 4\]"):
        relay.frontend.from_onnx(net("2"), {"x": shape})


def agree(module: whence.IRModule, params: Any, columns: int) -> None:
    """A module of relu takes rows of any number."""
    machine = relay.create_executor("vm", module.module, params=params).evaluate()
    for rows in (1, 5):
        x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
        np.testing.assert_array_equal(machine(x), np.maximum(x, 0))


@pytest.mark.parametrize("shape", [(ANY, 4), ("n", 4), (-1, 4), (None, 4)])
def test_tflite_takes_the_same_shapes(shape: Any):
    builder = Net()
    x = builder.input("x", (1, 4))
    builder.tensors[x].shapeSignature = [-1, 4]
    y = builder.tensor("y", (1, 4))
    builder.op("RELU", [x], [y])
    agree(*relay.frontend.from_tflite(builder.build([y]), {"x": shape}), 4)


@pytest.mark.parametrize("shape", [None, {"x": (ANY, 4)}, {"x": ("n", 4)}, {"x": (-1, 4)}, {"x": (None, 4)}])
def test_tensorflow_takes_the_same_shapes(shape: Any):
    builder = Graph()
    builder.op("Relu", "y", builder.placeholder("x", (-1, 4)), T="float32")
    agree(*relay.frontend.from_tensorflow(builder.build(), shape=shape), 4)
