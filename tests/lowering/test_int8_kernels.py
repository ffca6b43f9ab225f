"""Kernels on bytes: sums of the largest products, odd numbers of channels, long rows; beside integers of numpy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from tflite_builder import Net, Quant

import whence
from whence.lowering.kernel.record import Kernel

Array = NDArray[Any]
AVX2 = "llvm -mcpu=haswell"


def kernels(exe: whence.Executable) -> list[Kernel]:
    return [kernel for kernel in exe.artifact.kernels if isinstance(kernel, Kernel)]


def model(op: str, data: tuple[int, ...], weight: Array, zero: Any = 3, **attributes: Any) -> ModelProto:
    """An integer product of uint8 data, with its zero point or points, and a constant weight of int8."""
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w", "z"], ["y"], **attributes)],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, data)],
        [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array(zero, np.uint8), "z")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convolved(x: Array, weight: Array, groups: int, pad: int) -> Array:
    """Tap by tap, in int64."""
    image = np.pad(x.astype(np.int64) - 3, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    outputs, depth, kernel, _ = weight.shape
    side = image.shape[2] - kernel + 1
    total = np.zeros((outputs, side, side), np.int64)
    for o in range(outputs):
        first = o // (outputs // groups) * depth
        for y in range(kernel):
            for x_ in range(kernel):
                part = image[0, first : first + depth, y : y + side, x_ : x_ + side]
                total[o] += np.tensordot(weight[o, :, y, x_].astype(np.int64), part, 1)
    return total[None]


@pytest.mark.parametrize(
    ("channels", "outputs", "kernel", "groups"),
    [
        *((30, 45, 1, 1), (21, 29, 3, 1), (20, 20, 3, 20), (64, 32, 1, 1), (32, 32, 3, 1)),
        *((3, 32, 3, 1), (4, 16, 5, 1), (1, 16, 3, 1), (48, 48, 3, 48), (32, 32, 5, 32)),
    ],
)
def test_convolutions(channels: int, outputs: int, kernel: int, groups: int):
    rng = np.random.default_rng(channels)
    shape = (outputs, channels // groups, kernel, kernel)
    data = (1, channels, 7, 7)
    weight = rng.integers(-128, 128, shape).astype(np.int8)
    weight[0] = -128
    exe = whence.compile(model("ConvInteger", data, weight, group=groups, pads=[kernel // 2] * 4), threads=1)
    for x in (np.full(data, 255, np.uint8), rng.integers(0, 256, data).astype(np.uint8)):
        np.testing.assert_array_equal(exe(x), convolved(x, weight, groups, kernel // 2))


@pytest.mark.parametrize(("rows", "depth", "columns"), [(5, 33, 40), (1, 129, 40), (3, 64, 29)])
def test_matrix_products(rows: int, depth: int, columns: int):
    rng = np.random.default_rng(0)
    weight = rng.integers(-128, 128, (depth, columns)).astype(np.int8)
    weight[:, 0] = -128
    exe = whence.compile(model("MatMulInteger", (rows, depth), weight), threads=1)
    for x in (np.full((rows, depth), 255, np.uint8), rng.integers(0, 256, (rows, depth)).astype(np.uint8)):
        np.testing.assert_array_equal(exe(x), (x.astype(np.int64) - 3) @ weight.astype(np.int64))


@pytest.mark.parametrize("rows", [16, 5])
def test_rows_have_zero_points_of_their_own(rows: int):
    """As many as there are columns, too, whose sums they multiply where bytes are multiplied as they are."""
    rng = np.random.default_rng(rows)
    x, weight = rng.integers(0, 256, (rows, 37)).astype(np.uint8), rng.integers(-128, 128, (37, 16)).astype(np.int8)
    zero = rng.integers(0, 256, rows)
    given = model("MatMulInteger", x.shape, weight, zero)
    assert any("vpdpbusd" in one.assembly for one in kernels(whence.compile(given, target="llvm -mcpu=cascadelake")))
    expected = (x.astype(np.int64) - zero[:, None]) @ weight.astype(np.int64)
    np.testing.assert_array_equal(whence.compile(given, threads=1)(x), expected)


@pytest.mark.parametrize(("channels", "kernel", "groups"), [(32, 1, 1), (3, 3, 1), (32, 3, 32)])
def test_bytes_are_multiplied_as_they_lie(channels: int, kernel: int, groups: int):
    """Four at once, also those of an image and of depthwise convolutions; by pairs on machines without."""
    weight = np.ones((32, channels // groups, kernel, kernel), np.int8)
    net = model("ConvInteger", (1, channels, 14, 14), weight, group=groups, pads=[kernel // 2] * 4)
    for target, word, other in (("llvm -mcpu=cascadelake", "vpdpbusd", "vpmaddwd"), (AVX2, "vpmaddwd", "vpdpbusd")):
        exe = whence.compile(net, threads=1, target=target)
        assembly = "".join(kernel.assembly for kernel in kernels(exe))
        assert word in assembly
        assert other not in assembly
        if kernel == 1 and word == "vpdpbusd":
            assert not any("data_words" in kernel.tir for kernel in kernels(exe))
        if groups > 1:
            whole = any("-> vector<64xi8>" in kernel.tir for kernel in kernels(exe))
            assert whole == (word == "vpdpbusd")


def test_pairs_are_multiplied_by_their_instruction_in_odd_blocks():
    weight = np.ones((45, 30, 1, 1), np.int8)
    exe = whence.compile(model("ConvInteger", (1, 30, 7, 7), weight), threads=1, target=AVX2)
    assembly = "".join(kernel.assembly for kernel in kernels(exe))
    assert "vpmaddwd" in assembly
    assert "vpmulld" not in assembly


def test_weights_of_few_rows_stay_bytes():
    weight = np.ones((64, 48), np.int8)
    for rows, size in ((1, 1), (3, 1), (4, 2)):
        exe = whence.compile(model("MatMulInteger", (rows, 64), weight), threads=1, target=AVX2)
        assert sum(param.nbytes for param in exe.artifact.params) // weight.nbytes == size
        assert ("vpmovsxbw" in kernels(exe)[0].assembly) == (size == 1)


def _elementwise(shape: tuple[int, ...]) -> bytes:
    net = Net()
    inputs = [net.input(name, shape, "int8", Quant(0.02, 3)) for name in "ab"]
    result = net.tensor("y", shape, "int8", Quant(0.05, -5))
    net.op("ADD", inputs, [result], "AddOptions", 2)
    return net.build([result])


@pytest.mark.parametrize("shape", [(1, 3, 8, 20), (1, 7, 3, 5)])
def test_an_image_of_bytes_is_one_row(shape: tuple[int, ...]):
    """One loop of vectors of 16, or of what the last axes give, without masks of bytes."""
    (kernel,) = kernels(whence.compile(_elementwise(shape), threads=1, target=AVX2))
    assert "masked" not in kernel.tir
    assert len(re.findall(r"tir\.for", kernel.tir)) <= 1


def test_a_mean_of_the_whole_image_is_a_sum():
    net, shape = Net(), (1, 5, 3, 21)
    x = net.input("x", shape, "int8", Quant(0.02, 3))
    y = net.tensor("y", (1, 1, 1, 21), "int8", Quant(0.02, 3))
    window: dict[str, Any] = {"padding": 1, "strideH": 1, "strideW": 1, "filterHeight": 5, "filterWidth": 3}
    net.op("AVERAGE_POOL_2D", [x], [y], "Pool2DOptions", 2, **window)
    exe = whence.compile(net.build([y]), threads=1)
    data = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    total = data.astype(np.int64).sum((1, 2), keepdims=True)
    expected = np.sign(total) * ((np.abs(total) + 7) // 15)
    np.testing.assert_array_equal(exe(data), expected)
    assert not any("conv2d" in kernel.symbol for kernel in kernels(exe))
