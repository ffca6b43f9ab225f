"""Transposed convolutions, whose phases are woven by vectors, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence

ODD, CUT = "an odd end", "zeros fill the last block"
CASES: dict[str, tuple[tuple[int, ...], int, int, int, int]] = {
    "whole blocks": ((1, 12, 17, 16), 32, 2, 2, 0),
    CUT: ((1, 7, 9, 12), 30, 2, 4, 1),
    "three phases": ((1, 5, 11, 20), 48, 3, 3, 0),
    ODD: ((1, 6, 12, 12), 45, 2, 3, 1),
    "four phases of a line": ((2, 9, 48), 16, 4, 8, 2),
}
"""The shape of x, the outputs, and the stride, the kernel and the padding along each axis."""


def model(name: str) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """relu(conv_transpose(x)), and inputs."""
    shape, outputs, stride, kernel, pad = CASES[name]
    draw, rank = np.random.default_rng(0), len(shape) - 2
    filters = draw.standard_normal((shape[1], outputs, *[kernel] * rank)).astype(np.float32)
    weights = [numpy_helper.from_array(filters, "w")]
    weights += [numpy_helper.from_array(draw.standard_normal(outputs).astype(np.float32), "b")]
    window: dict[str, Any] = {"kernel_shape": [kernel] * rank, "strides": [stride] * rank, "pads": [pad] * 2 * rank}
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w", "b"], ["c"], "up", **window),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "up", [given], [result], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return made, {"x": draw.standard_normal(shape).astype(np.float32)}


@pytest.mark.parametrize("name", CASES)
def test_phases_are_woven_by_vectors(name: str):
    proto, inputs = model(name)
    exe = whence.compile(proto, audit=True)
    np.testing.assert_allclose(exe.run(inputs)["y"], *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)
    tir = exe.get_source(exe.artifact.calls[-1].name, "tir")
    assert ("vector.shuffle" in tir) == (name != ODD)
    if name not in (ODD, CUT):
        assert not re.findall(r"store .* stride ", tir), "elements are stored beside each other"
        assert not re.findall(r"tir\.load %p0.* -> f32", tir), "numbers are read by vectors"
