"""Networks between QuantizeLinear and DequantizeLinear give what onnxruntime gives, to the last step."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

import whence

runtime: Any = import_module("onnxruntime")

Array = NDArray[Any]


def _network(channels: int, groups: int, kernel: int, zero: int) -> ModelProto:
    """A convolution with a bias, and the sum of what it gives and of its data; all of it quantised."""
    rng = np.random.default_rng(channels + kernel)
    weight = rng.integers(-127, 128, (channels, channels // groups, kernel, kernel)).astype(np.int8)
    steps = (rng.uniform(0.5, 1, channels) * 0.01).astype(np.float32)
    scale = np.float32(0.0173)
    constants: dict[str, Any] = {
        **{"xs": scale, "xz": np.uint8(113), "w": weight, "ws": steps, "wz": np.zeros(channels, np.int8)},
        **{"b": rng.integers(-5000, 5000, channels).astype(np.int32), "bs": scale * steps},
        **{"bz": np.zeros(channels, np.int32), "ys": np.float32(0.031), "yz": np.uint8(zero)},
        **{"ss": np.float32(0.0417), "sz": np.uint8(97)},
    }
    node = helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
        node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0),
        node("Conv", ["xd", "wd", "bd"], ["c"], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=groups),
        node("QuantizeLinear", ["c", "ys", "yz"], ["cq"]),
        node("DequantizeLinear", ["cq", "ys", "yz"], ["cd"]),
        node("Add", ["cd", "xd"], ["s"]),
        node("QuantizeLinear", ["s", "ss", "sz"], ["sq"]),
        node("DequantizeLinear", ["sq", "ss", "sz"], ["y"]),
    ]
    shape = (1, channels, 9, 11)
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(("channels", "groups", "kernel", "zero"), [(32, 1, 1, 0), (48, 48, 3, 128), (3, 1, 3, 77)])
def test_sums_and_residuals(channels: int, groups: int, kernel: int, zero: int):
    network = _network(channels, groups, kernel, zero)
    x = np.random.default_rng(0).standard_normal((1, channels, 9, 11), np.float32)
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    (expected,) = runtime.InferenceSession(network.SerializeToString(), options).run(None, {"x": x})
    compiled = whence.compile(network, threads=1)
    np.testing.assert_array_equal(compiled(x), expected)
    assert np.unique(expected).size > 50
    layers = [name for name in compiled.kernels if "conv2d" in name]
    assert layers
    assert not any("arith.divf" in compiled.get_source(name, "tir") for name in layers)
