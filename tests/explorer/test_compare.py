"""A model against a reference, tensor by tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import whence
from whence import relay
from whence.executables.executable import Executable
from whence.explorer.difference import difference
from whence.explorer.reference import layer_tensors, onnxruntime_tensors
from whence.support.errors import FrontendError

Array = npt.NDArray[Any]

_MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[1,16,6,6] x) => (float[1,16,6,6] y)
{
    c1 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w1)
    r1 = Relu (c1)
    c2 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (r1, w2)
    y = Softmax <axis = 1> (c2)
}
"""


@pytest.fixture(scope="module")
def model() -> ModelProto:
    model = onnx.parser.parse_model(_MODEL)
    rng = np.random.default_rng(0)
    for name in ("w1", "w2"):
        model.graph.initializer.append(
            numpy_helper.from_array(rng.standard_normal((16, 16, 3, 3), np.float32) / 12, name)
        )
    return model


@pytest.fixture(scope="module")
def executable(model: ModelProto) -> Executable:
    return whence.compile(model, threads=1)


@pytest.fixture(scope="module")
def inputs() -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((1, 16, 6, 6), np.float32)}


def test_layers_are_compared_with_onnxruntime(model: ModelProto, executable: Executable, inputs: dict[str, Array]):
    found = executable.compare(inputs, onnxruntime_tensors(model, inputs), layer_tensors(model))
    assert found.first is None
    names = [one.layer.name for one in found.differences]
    assert names == ["Relu_0", "Conv_1", "Softmax_0"]
    assert [layer.name for layer in found.unseen] == ["Conv_0"]
    assert all(one.difference.relative < 1e-5 for one in found.differences)
    assert f"no departure in {len(names)} tensors" in str(found)


def test_moving_a_tensor_makes_no_value(inputs: dict[str, Array]):
    """Its layout is changed back for the convolution, after the layers behind that."""
    model = onnx.parser.parse_model(_MODEL.replace("y = Softmax <axis = 1> (c2)", "s = Relu (c2) y = Relu (s)"))
    rng = np.random.default_rng(0)
    for name in ("w1", "w2"):
        model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal((16, 16, 3, 3), np.float32), name))
    executable = whence.compile(model, threads=1)
    assert any("layout_transform" in name for name in executable.kernels[1:])
    found = executable.compare(inputs, onnxruntime_tensors(model, inputs), layer_tensors(model))
    assert found.first is None
    assert "Conv_1" not in [one.layer.name for one in found.differences]


def test_a_step_on_the_way_is_no_value():
    """Of a layer that ends in the middle of the second kernel."""
    weight = np.random.default_rng(3).standard_normal((5, 5), np.float32)
    x, w = relay.var("x", shape=(3, 5)), relay.const(weight)
    two = relay.set_span(relay.nn.dense(relay.nn.dense(x, w), w), "two")
    last = relay.set_span(relay.tanh(two), "last")
    executable = whence.compile(relay.IRModule.from_expr(relay.Function([x], last)), threads=1)
    assert len(executable.kernels) == 2
    given = np.random.default_rng(4).standard_normal((3, 5), np.float32)
    value = given @ weight.T @ weight.T
    found = executable.compare({"x": given}, {"two": value, "last": np.tanh(value)})
    assert [(one.layer.name, one.difference.right) for one in found.differences] == [("last", True)]
    assert [layer.name for layer in found.unseen] == ["two"]


def test_the_first_departure_is_named(model: ModelProto, executable: Executable, inputs: dict[str, Array]):
    reference = onnxruntime_tensors(model, inputs)
    reference["r1"] = reference["r1"].copy()
    reference["r1"][0, 3, 2, 1] += 7
    first = executable.compare(inputs, reference, layer_tensors(model)).first
    assert first is not None
    assert (first.layer.name, first.tensor, first.difference.index) == ("Relu_0", "r1", (0, 3, 2, 1))
    assert first.difference.error == pytest.approx(7, rel=1e-5)
    text = str(executable.compare(inputs, {"Softmax_0": np.full((1, 16, 6, 6), np.nan, np.float32)}))
    assert text.splitlines()[-1].startswith("first departure: layer Softmax_0")


def test_a_wrong_weight_departs_at_its_layer(model: ModelProto, inputs: dict[str, Array]):
    """The layers before it agree."""
    wrong = ModelProto()
    wrong.CopyFrom(model)
    weight = next(tensor for tensor in wrong.graph.initializer if tensor.name == "w2")
    weight.CopyFrom(numpy_helper.from_array(1.01 * numpy_helper.to_array(weight), "w2"))
    with whence.PassContext(config={"relay.FuseOps.max_depth": 1}):
        executable = whence.compile(wrong, threads=1)
    found = executable.compare(inputs, onnxruntime_tensors(model, inputs), layer_tensors(model))
    assert found.first is not None
    assert found.first.layer.name == "Conv_1"
    assert found.first.difference.relative == pytest.approx(0.01, rel=0.01)


def test_differences():
    a = np.array([1.0, np.nan, np.inf, 4.0])
    assert difference(a, a).right
    assert difference(a, a).error == 0
    gap = difference(np.array([1.0, 2.0]), np.array([1.0, np.nan]))
    assert (gap.error, gap.index, gap.right) == (np.inf, (1,), False)
    gap = difference(np.array([100.05, 0.0]), np.array([100.0, 0.0]))
    assert gap.right
    assert gap.relative == pytest.approx(5e-4)
    assert not difference(np.array([100.05, 0.0]), np.array([100.0, 0.0]), rtol=1e-4).right
    assert difference(np.zeros((0, 3)), np.zeros((0, 3))).right


def test_quantised_values_may_be_off_by_a_step():
    expected = np.array([3, -5, 127, 0], np.int8)
    off = np.array([4, -5, 126, 1], np.int8)
    gap = difference(off, expected, step=True)
    assert (gap.right, gap.steps, str(gap)) == (True, 3, "1 step in 3 elements")
    assert not difference(off, expected).right
    gap = difference(np.array([3, -5, 125, 0], np.int8), expected, step=True)
    assert (gap.right, str(gap)) == (False, "2 steps in 1 element")
    # Numbers of tokens and classes are no steps.
    assert not difference(off.astype(np.int64), expected.astype(np.int64), step=True).right


def test_models_that_onnxruntime_does_not_take_are_told(model: ModelProto):
    with pytest.raises(FrontendError, match="expected a model that onnxruntime runs, got: "):
        onnxruntime_tensors(model, {})
