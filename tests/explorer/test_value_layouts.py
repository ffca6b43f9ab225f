"""Tensors of layers in the layout of the model, whatever the kernels store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import whence
from whence import relay
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.explorer.reference import layer_tensors, onnxruntime_tensors
from whence.runtime.values.moves import Step
from whence.support.errors import FrontendError

_TEXT = """
<ir_version: 8, opset_import: ["": 17]>
net (float[1, 16, 8, 8] x) => (float[1, 8, 8, 16] y) {
    [conv1] a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)
    [relu1] b = Relu (a)
    [conv2] c = Conv <kernel_shape = [1, 1]> (b, v)
    [add1] d = Add (c, b)
    [pool1] e = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (d)
    [move1] y = Transpose <perm = [0, 2, 3, 1]> (e)
}"""


@pytest.fixture(scope="module")
def model() -> ModelProto:
    made = onnx.parser.parse_model(_TEXT)
    rng = np.random.default_rng(0)
    for name, shape in (("w", (16, 16, 3, 3)), ("v", (16, 16, 1, 1))):
        made.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(shape, np.float32) / 8, name))
    return made


def test_layers_have_the_models_layout_and_nodes_the_kernels(model: ModelProto, tmp_path: Path):
    inputs = {"x": np.random.default_rng(1).standard_normal((1, 16, 8, 8), np.float32)}
    expected: dict[str, Any] = {**onnxruntime_tensors(model, inputs)}
    names = layer_tensors(model)
    with whence.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 1}):
        lib = relay.build(whence.load(model))
    made = GraphModuleDebug(lib["debug_create"]("default"), None, None, tmp_path)
    made.set_input("x", inputs["x"])
    stored: dict[str, tuple[int, ...]] = {}
    for layer in names:
        found = made.debug_get_output(layer)
        np.testing.assert_allclose(found, expected[names[layer][0]], rtol=1e-4, atol=1e-5)
        stored[layer] = made.debug_get_output(layer, as_stored=True).shape
    assert stored == dict.fromkeys(("conv1", "relu1", "conv2", "add1", "pool1"), (1, 1, 8, 8, 16)) | {
        "move1": (1, 8, 8, 16)
    }
    node = made.module.graph.nodes[made.stepper.value_of("conv1")].name
    assert made.debug_get_output(node).shape == (1, 1, 8, 8, 16)
    # What is known of layouts is shipped, too.
    loaded = whence.runtime.load_module(lib.export_library(tmp_path / "net.tar"))
    assert loaded.origins[node].moves == ((Step("layout", ("NCHW16c", "NCHW")),),)


def test_a_tensor_is_put_in_as_the_model_has_it(model: ModelProto, tmp_path: Path):
    inputs = {"x": np.zeros((1, 16, 8, 8), np.float32)}
    lib = relay.build(whence.load(model))
    made = GraphModuleDebug(lib["debug_create"]("default"), None, None, tmp_path)
    made.set_input("x", inputs["x"])
    mine = np.random.default_rng(2).standard_normal((1, 16, 8, 8), np.float32)
    made.inject("add1", mine)
    made.resume()
    padded = np.pad(mine, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    np.testing.assert_array_equal(made.get_output(0), windows.max((4, 5)).transpose(0, 2, 3, 1))
    with pytest.raises(FrontendError, match=r"expected float32\[1, 1, 8, 8, 16\]"):
        made.inject("add1", mine[:, :8])


def test_a_reference_of_other_tensors_is_refused(model: ModelProto):
    executable = whence.compile(model)
    inputs = {"x": np.zeros((1, 16, 8, 8), np.float32)}
    with pytest.raises(FrontendError, match="reference: expected tensors of the model, such as 'a', got 'nothing'"):
        executable.compare(inputs, {"nothing": inputs["x"]}, layer_tensors(model))
    with pytest.raises(FrontendError, match="reference 'y': expected 1024 elements, got 3"):
        executable.compare(inputs, {"y": np.zeros(3)}, layer_tensors(model))
