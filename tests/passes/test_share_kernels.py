"""Kernels that differ in numbers only: compiled once, and each layer computes with its own numbers."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import whence
from whence.support.context import PassContext


def _quantized(layers: int):
    """Convolutions between QuantizeLinear and DequantizeLinear, each with scales and zero points of its own."""
    dice = np.random.default_rng(0)
    nodes, constants, value = [], [], "x"

    def constant(array: object, dtype: type, name: str) -> str:
        constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    for i in range(layers):
        scale, zero = constant(0.05 + 0.01 * i, np.float32, f"s{i}"), constant(100 + i, np.uint8, f"z{i}")
        weight = constant(dice.integers(-20, 20, (16, 16, 3, 3)), np.int8, f"w{i}")
        ones = constant(0.01 + 0.002 * i, np.float32, f"ws{i}"), constant(0, np.int8, f"wz{i}")
        nodes += [
            helper.make_node("QuantizeLinear", [value, scale, zero], [f"q{i}"]),
            helper.make_node("DequantizeLinear", [f"q{i}", scale, zero], [f"d{i}"]),
            helper.make_node("DequantizeLinear", [weight, *ones], [f"e{i}"]),
            helper.make_node("Conv", [f"d{i}", f"e{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
        ]
        value = f"c{i}"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 16, 8, 8))]
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "layers", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_layers_of_a_quantized_model_share_kernels() -> None:
    kernels = {layers: len(whence.compile(_quantized(layers)).artifact.kernels) for layers in (4, 6)}
    assert kernels[4] == kernels[6]
    with PassContext(3, disabled_pass=["relay-share-kernels"]):
        assert len(whence.compile(_quantized(6)).artifact.kernels) == kernels[6] + 4


def test_each_layer_has_its_own_numbers() -> None:
    model = _quantized(4)
    x = np.random.default_rng(1).standard_normal((1, 16, 8, 8)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = whence.compile(model).run({"x": x}).values()
    with PassContext(3, disabled_pass=["relay-share-kernels"]):
        (apart,) = whence.compile(model).run({"x": x}).values()
    np.testing.assert_array_equal(got, apart)
    # Sums that lie between two steps may round either way.
    assert np.abs(got - session.run(None, {"x": x})[0]).mean() < 0.1 < np.abs(got).mean()
