"""A padded read of a tensor of one number has the number inside and the other one outside."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence import te
from whence.kernels import build_schedule


@pytest.mark.parametrize("otherwise", [0.0, -2.5])
def test_a_padded_full(otherwise: float) -> None:
    c = te.full((2,), 3.0, name="c")
    a = te.placeholder((6, 3), name="A")
    t = te.compute((6, 3), lambda i, j: a[i, j] + c(i - 2, otherwise=otherwise), name="t")
    x = np.arange(18, dtype="float32").reshape(6, 3)
    wanted = x + np.pad(np.full(2, 3.0), (2, 2), constant_values=otherwise)[:, None]
    np.testing.assert_array_equal(build_schedule(te.create_schedule(t), threads=1)(x), wanted.astype("float32"))


@pytest.mark.parametrize("value", [None, 7.0])
def test_pad_of_a_one_element_constant_in_a_model(value: float | None) -> None:
    names = ["c", "pads"] + (["value"] if value is not None else [])
    constants = [
        numpy_helper.from_array(np.array([3.0], "float32"), "c"),
        numpy_helper.from_array(np.array([3, 1], "int64"), "pads"),
        numpy_helper.from_array(np.array(value or 0.0, "float32"), "value"),
    ]
    nodes = [helper.make_node("Pad", names, ["p"]), helper.make_node("Add", ["x", "p"], ["y"])]
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [5]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "pad", shape[:1], shape[1:], constants[: len(names)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    x = np.random.default_rng(1).standard_normal(5).astype("float32")
    (wanted,) = onnxruntime_outputs(model, {"x": x})
    for level in (0, 3):
        np.testing.assert_array_equal(whence.compile(model, opt_level=level).run({"x": x})["y"], wanted)
