"""Convolutions of float16: products of a block of input channels are summed as such, and their sums in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from compiled_kernels import kernels_of
from numpy.typing import NDArray

import whence
from whence import relay
from whence.support.errors import FrontendError
from whence.support.machine import Machine, register_machine
from whence.syntax.relay.equal import structural_equal
from whence.syntax.text import astext, fromtext

Array = NDArray[Any]
# On most machines float16 is slower than float32, and right.
pytestmark = pytest.mark.filterwarnings("ignore::whence.support.errors.PrecisionWarning")

Sizes = tuple[int, int, int, int, int, int, int]
"""Input channels, output channels, rows, columns, the window's side, groups and stride."""


def blocks(sizes: Sizes) -> tuple[onnx.ModelProto, Array, Array]:
    channels, outputs, rows, columns, side, groups, stride = sizes
    pad = side // 2
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 13]>
        net (float[2, {channels}, {rows}, {columns}] x) => (float y)
        <float[{outputs}, {channels // groups}, {side}, {side}] w> {{
            [conv] y = Conv <strides = [{stride}, {stride}], pads = [{pad}, {pad}, {pad}, {pad}], group = {groups}>
                (x, w) }}""")
    shape = 2, outputs, (rows - 1) // stride + 1, (columns - 1) // stride + 1
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape))
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, channels, rows, columns)).astype(np.float32)
    w = rng.standard_normal((outputs, channels // groups, side, side)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    return model, x, w


def convolved(x: Array, w: Array, groups: int, stride: int) -> Array:
    """In float64, of operands rounded to float16."""
    x, w = (operand.astype(np.float16).astype("f8") for operand in (x, w))
    side, depth, outputs = w.shape[2], w.shape[1], len(w) // groups
    x = np.pad(x, ((0, 0), (0, 0), *[(side // 2, side // 2)] * 2))
    windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), (2, 3))[:, :, ::stride, ::stride]
    parts = [
        np.einsum("ncyxij,ocij->noyx", windows[:, g * depth : (g + 1) * depth], w[g * outputs : (g + 1) * outputs])
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize(
    "sizes", [(64, 64, 9, 9, 3, 1, 1), (48, 96, 7, 5, 1, 1, 1), (64, 64, 9, 11, 3, 2, 2), (16, 32, 6, 7, 5, 1, 1)]
)
def test_a_convolution_of_float16(sizes: Sizes) -> None:
    register_machine(Machine("halves", 128, 16, fma_f16=True, triple="x86_64-unknown-linux-gnu", cpu="x86-64"))
    model, x, w = blocks(sizes)
    compiled = whence.compile(model, target="llvm -mcpu=halves", precision="f16", audit=True)
    (y,) = compiled.run({"x": x}).values()
    right = convolved(x, w, *sizes[-2:])
    # The longest sum has 32 products.
    assert 1e-6 < np.abs(y - right).max() / np.ptp(right) < 2e-3


def test_a_convolution_of_float16_of_open_sizes() -> None:
    register_machine(Machine("halves", 128, 16, fma_f16=True, triple="x86_64-unknown-linux-gnu", cpu="x86-64"))
    model, x, w = blocks((32, 32, 9, 11, 3, 1, 1))
    for value in (model.graph.input[0], model.graph.output[0]):
        for axis in (0, 2, 3):
            value.type.tensor_type.shape.dim[axis].dim_param = f"{value.name}{axis}"
    compiled = whence.compile(model, target="llvm -mcpu=halves", precision="f16")
    for part in (x, x[:1, :, :5, :]):
        (y,) = compiled.run({"x": part}).values()
        right = convolved(part, w, 1, 1)
        assert 1e-6 < np.abs(y - right).max() / np.ptp(right) < 2e-3


@pytest.mark.parametrize("sizes", [(64, 64, 28, 28, 3, 1, 1), (256, 64, 56, 56, 1, 1, 1), (64, 128, 56, 56, 3, 1, 2)])
def test_sapphire_rapids_convolves_float16(sizes: Sizes) -> None:
    model = blocks(sizes)[0]
    target = "llvm -mcpu=sapphirerapids -mattr=-amx-tile"
    for precision in ("auto", "f16"):
        compiled = whence.compile(model, target=target, precision=precision)
        (kernel,) = [kernel for kernel in kernels_of(compiled) if "vfmadd" in kernel.assembly]
        lines = kernel.assembly.splitlines()
        loop = [line for line in lines if "vfmadd" in line]
        assert len(loop) >= 7
        # A number of the data is broadcast as it is read, and no vector leaves the registers.
        assert all("ph" in line and "{1to32}" in line and "%zmm" in line for line in loop)
        assert not any("%zmm" in line and "(%rsp" in line for line in lines)


@pytest.mark.parametrize("sizes", [(24, 64, 9, 9, 3, 1, 1), (64, 48, 9, 9, 3, 1, 1), (64, 64, 9, 9, 3, 64, 1)])
def test_channels_that_fill_no_vectors_of_float16_stay_float32(sizes: Sizes) -> None:
    compiled = whence.compile(blocks(sizes)[0], target="llvm -mcpu=sapphirerapids -mattr=-amx-tile", precision="f16")
    assert not any("f16" in kernel.tir for kernel in kernels_of(compiled))


def test_convolutions_of_float16_stay_float32_on_other_machines() -> None:
    for cpu, halves in (("x86-64-v4", False), ("sapphirerapids", True)):
        compiled = whence.compile(blocks((64, 64, 9, 9, 3, 1, 1))[0], target=f"llvm -mcpu={cpu}", precision="f16")
        assert any("f16" in kernel.tir for kernel in kernels_of(compiled)) == halves


def test_parts_of_convolutions_are_attributes() -> None:
    text = """def @main(%x: Tensor[(1, 1, 4, 4, 16), float16], %w: Tensor[(1, 1, 1, 1, 16, 32), float16]) {{
        nn.contrib_conv2d_NCHWc(%x, %w, padding=[0, 0], data_layout="NCHW16c", kernel_layout="OIHW16i32o",
            out_layout="NCHW32c", out_dtype="float32", partial={partial}) }}"""
    head = '#[version = "0.0.5"]\n'
    module = fromtext(head + text.format(partial=16))
    again = fromtext(astext(module))
    assert "partial=16" in astext(again)
    assert structural_equal(module, again)
    with pytest.raises(FrontendError, match="expected partial sums of the 16 products of a block, got 8"):
        _ = relay.IRModule.of(fromtext(head + text.format(partial=8))).module
