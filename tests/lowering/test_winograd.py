"""Winograd's convolutions: right against sums in float64, where they stand, and where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType, f32
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

import whence
from whence.dialects.relay.winograd import WinogradConv2DOp, WinogradWeightTransformOp
from whence.frontends.onnx import from_onnx
from whence.passes.relay.alter_op_layout import AlterOpLayoutPass
from whence.provenance.walk import walk

Shape = tuple[int | str, ...]
Array = NDArray[Any]

CASES: dict[str, tuple[tuple[int, int, int, int], int, list[int]]] = {
    "even": ((1, 64, 28, 28), 64, [1, 1, 1, 1]),
    "odd, a batch": ((2, 64, 15, 21), 80, [1, 1, 1, 1]),
    "no padding": ((1, 96, 18, 13), 64, [0, 0, 0, 0]),
    "padding at one side": ((1, 64, 16, 19), 72, [0, 1, 2, 0]),
    "whole blocks, padding at one side": ((1, 64, 16, 19), 80, [0, 1, 2, 0]),
    "rows of many": ((1, 128, 9, 84), 64, [1, 1, 1, 1]),
}
TARGETS = {"padding at one side": "llvm -mcpu=x86-64-v3"}
"""The machine that a case is about, where not any: one with masks gives an odd number of channels one block of all."""


def model(image: Shape, outputs: int, pads: list[int], *, window: int = 3, **attributes: Any) -> ModelProto:
    """relu(conv(x))."""
    draw = np.random.default_rng(0)
    assert isinstance(image[1], int)
    filters = draw.standard_normal((outputs, image[1] // attributes.get("group", 1), window, window)) / image[1] ** 0.5
    weights = [numpy_helper.from_array(filters.astype(np.float32), "w")]
    weights += [numpy_helper.from_array(draw.standard_normal(outputs).astype(np.float32), "b")]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=pads, **attributes),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, image)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [given], [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def exact(proto: ModelProto, x: Array, pads: list[int]) -> Array:
    """The convolution's sums and bias in float64."""
    weight, bias = (numpy_helper.to_array(tensor).astype(np.float64) for tensor in proto.graph.initializer)
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("ncyxij,ocij->noyx", views, weight, optimize=True) + bias[:, None, None]


def winograd(exe: Any) -> bool:
    return any("contrib_conv2d_winograd" in call.name for call in exe.artifact.calls)


@pytest.mark.parametrize("name", CASES)
def test_sums_are_as_exact_as_others(name: str):
    image, outputs, pads = CASES[name]
    proto = model(image, outputs, pads)
    x = np.random.default_rng(1).standard_normal(image).astype(np.float32)
    exe = whence.compile(proto, target=TARGETS.get(name, "native"), audit=True, threads=1)
    (call,) = (call.name for call in exe.artifact.calls if "winograd" in call.name)
    assert call.endswith("_add_nn_relu")
    with whence.transform.PassContext(config={"relay.winograd": False}):
        direct = whence.compile(proto, threads=1)
    assert not winograd(direct)
    right = np.maximum(exact(proto, x, pads), 0)
    errors = [np.abs(program.run({"x": x})["y"] - right).max() for program in (exe, direct)]
    assert errors[0] < 1e-5
    assert errors[0] < 3 * errors[1]


def test_bits_are_those_of_any_threads_and_place_in_a_batch():
    image, outputs, pads = CASES["odd, a batch"]
    proto = model(image, outputs, pads)
    one, two = (whence.compile(proto, threads=threads) for threads in (1, 2))
    x = np.random.default_rng(1).standard_normal(image).astype(np.float32)
    y = one.run({"x": x})["y"]
    np.testing.assert_array_equal(two.run({"x": x})["y"], y)
    np.testing.assert_array_equal(one.run({"x": x[::-1]})["y"], y[::-1])


def test_lines_belong_to_the_layer():
    exe = whence.compile(model(*CASES["even"]), threads=1)
    (name,) = (call.name for call in exe.artifact.calls if "winograd" in call.name)
    lines = exe.get_source(name, "tir").splitlines()
    products = [number for number, line in enumerate(lines, 1) if "math.fma" in line]
    transforms = [number for number, line in enumerate(lines, 1) if "arith.subf" in line]
    assert products
    assert transforms
    for line in (products[0], transforms[0], transforms[-1]):
        assert "serves conv\n" in str(exe.why(name, line=line))


@pytest.mark.parametrize(
    ("image", "outputs", "more"),
    [
        ((1, 32, 28, 28), 64, {}),
        ((1, 64, 28, 28), 48, {}),
        ((1, 64, 28, 28), 64, {"strides": [2, 2]}),
        ((1, 64, 28, 28), 64, {"dilations": [2, 2]}),
        ((1, 128, 28, 28), 128, {"group": 2}),
        ((1, 64, 28, 28), 64, {"window": 5}),
    ],
)
def test_others_are_left(image: Shape, outputs: int, more: dict[str, Any]):
    assert not altered(model(image, outputs, [1, 1, 1, 1], **more))


def test_sizes_of_a_call_are_left():
    assert not winograd(whence.compile(model((1, 64, "h", "w"), 64, [1, 1, 1, 1]), tier="symbolic", threads=1))


@pytest.mark.parametrize(
    ("lanes", "images", "size", "taken"),
    [(8, 1, 56, True), (16, 1, 56, True), (8, 1, 7, True), (16, 1, 7, False), (16, 16, 7, True), (8, 1, 3, False)],
)
def test_weights_from_memory_decide_for_few_pixels(lanes: int, images: int, size: int, taken: bool):
    assert altered(model((images, 256, size, size), 256, [1, 1, 1, 1]), vector=lanes) == taken


def altered(proto: ModelProto, **options: int) -> bool:
    """Return whether a pass makes a convolution of transformed weights."""
    module = from_onnx(proto)
    AlterOpLayoutPass(**options).apply(Context(), module)
    return any(isinstance(op, WinogradConv2DOp) for op in walk(module))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"tile_size": 4}, "tile_size 2, got 4"),
        ({"strides": [2, 2]}, r"strides of 1, got \[2, 2\]"),
        ({"dilation": [2, 2]}, r"dilation of 1, got \[2, 2\]"),
        ({"groups": 2}, "8 input channels = kernel input channels x groups"),
    ],
)
def test_what_it_is_not_for_is_refused(attributes: dict[str, Any], expected: str):
    data, weight = (create_ssa_value(TensorType(f32, shape)) for shape in ((1, 8, 9, 9), (4, 4, 16, 8)))
    with pytest.raises(VerifyException, match=expected):
        WinogradConv2DOp(data, weight, **attributes)
    with pytest.raises(VerifyException, match="4x4 transformed weights"):
        WinogradConv2DOp(data, create_ssa_value(TensorType(f32, (3, 3, 16, 8))))
    with pytest.raises(VerifyException, match="windows of 3x3"):
        WinogradWeightTransformOp(create_ssa_value(TensorType(f32, (16, 8, 5, 5))))
