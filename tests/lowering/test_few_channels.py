"""Convolutions to few channels, whose lanes are input channels, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence

CASES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = {
    "three": ((2, 32, 7, 13), 3, (3, 3), {"pads": [1, 1, 1, 1]}),
    "one, steps": ((1, 16, 9, 20), 1, (5, 2), {"strides": [2, 1], "dilations": [1, 3]}),
    "single pixels": ((2, 64, 8, 9), 2, (1, 1), {}),
    "groups": ((1, 32, 9, 9), 4, (3, 3), {"group": 2, "pads": [0, 1, 2, 1]}),
    "line": ((2, 32, 80), 2, (7,), {"pads": [3, 3]}),
    "space": ((1, 16, 3, 4, 6), 1, (3, 1, 2), {"pads": [1, 0, 1, 1, 0, 0]}),
}


def model(name: str, shape: tuple[int | str, ...] | None = None) -> tuple[ModelProto, dict[str, Any]]:
    """relu(conv(x)) + bias, and inputs."""
    image, made, kernel, attributes = CASES[name]
    draw = np.random.default_rng(0)
    filters = draw.standard_normal((made, image[1] // attributes.get("group", 1), *kernel)).astype(np.float32)
    weights = [numpy_helper.from_array(filters, "w")]
    weights += [numpy_helper.from_array(draw.standard_normal(made).astype(np.float32), "b")]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=kernel, **attributes),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape or image)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "few", [given], [result], weights)
    made_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return made_model, {"x": draw.standard_normal(image).astype(np.float32)}


@pytest.mark.parametrize("name", CASES)
def test_lanes_are_input_channels(name: str):
    proto, inputs = model(name)
    exe = whence.compile(proto, audit=True)
    np.testing.assert_allclose(exe.run(inputs)["y"], *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)
    (kernel,) = (call.name for call in exe.artifact.calls if "conv" in call.name)
    assert "vector.reduction" in exe.get_source(kernel, "tir")


def test_images_of_any_size():
    proto, _ = model("three", ("n", 32, "h", "w"))
    exe = whence.compile(proto, tier="symbolic")
    draw = np.random.default_rng(1)
    for n, h, w in ((1, 1, 1), (2, 5, 4), (1, 8, 33)):
        inputs = {"x": draw.standard_normal((n, 32, h, w)).astype(np.float32)}
        np.testing.assert_allclose(exe.run(inputs)["y"], *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)
