"""Convolutions of single pixels to few channels on plain data: lanes are pixels, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence

AVX2, AVX512 = "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4"
HEAD = '<ir_version: 9, opset_import: ["": 17]>'
CASES: dict[str, tuple[tuple[int, ...], int]] = {
    "image": ((1, 37, 12, 48), 5),
    "images": ((2, 64, 8, 16), 2),
    "two tiles of channels": ((1, 19, 20, 80), 8),
    "prime": ((3, 9, 11, 16), 7),
    "space": ((1, 16, 3, 5, 32), 1),
    "wide": ((1, 5, 6, 272), 4),
}


def model(image: tuple[int, ...], outputs: int, before: str = "") -> tuple[ModelProto, dict[str, Any]]:
    """relu(conv(x)), and inputs; `before` are nodes that make X of x."""
    draw = np.random.default_rng(0)
    given = f"float[{', '.join(map(str, image))}] x"
    graph = f"few ({given}) => (float[{', '.join('nchwd'[: len(image)])}] y)"
    node = f"c = Conv({'X' if before else 'x'}, w, b) y = Relu(c)"
    proto = onnx.parser.parse_model(f"{HEAD} {graph} {{ {before} {node} }}")
    channels = 32 if before else image[1]
    weights = {"w": (outputs, channels, *[1] * (len(image) - 2)), "b": (outputs,)}
    if before:
        weights["v"] = (32, image[1], 3, 3)
    for name, shape in weights.items():
        array = draw.standard_normal(shape).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto, {"x": draw.standard_normal(image).astype(np.float32)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers(name: str, threads: int):
    proto, inputs = model(*CASES[name])
    exe = whence.compile(proto, audit=True, threads=threads)
    np.testing.assert_allclose(exe.run(inputs)["y"], *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("target", "lanes"), [(AVX2, 8), (AVX512, 16)])
def test_vectors_are_pixels_of_data_that_is_not_packed(name: str, target: str, lanes: int):
    """The one kernel multiplies whole vectors of its input with single weights, and writes whole vectors."""
    exe = whence.compile(model(*CASES[name])[0], target=target)
    (call,) = exe.artifact.calls
    tir = exe.get_source(call.name, "tir")
    assert re.search(rf"tir.load %p0\[.*-> vector<{lanes}xf32>", tir)
    assert re.search(r"tir.load %p1\[.*-> f32", tir)
    assert re.search(rf"tir.store %\d+, %out\[.* : vector<{lanes}xf32>", tir)
    assert "vector.reduction" not in tir


def test_data_in_blocks_stays_in_them():
    proto, inputs = model((1, 16, 12, 16), 3, "X = Conv<pads=[1, 1, 1, 1]>(x, v)")
    exe = whence.compile(proto, target=AVX2)
    assert any("vector.reduction" in exe.get_source(call.name, "tir") for call in exe.artifact.calls)
    found = whence.compile(proto, audit=True).run(inputs)["y"]
    np.testing.assert_allclose(found, *onnxruntime_outputs(proto, inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("image", [(1, 40, 12, 12), (1, 40, 12, 29), (1, 40, 128)])
def test_lanes_of_other_rows_are_channels(image: tuple[int, ...]):
    exe = whence.compile(model(image, 2)[0], target=AVX2)
    assert any("vector.reduction" in exe.get_source(call.name, "tir") for call in exe.artifact.calls)
