"""The innermost loops of kernels on machines of every class: whole vectors, and sums in registers.

Code is made for each machine and looked at, not run.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper

import whence
from whence.lowering.kernel.record import Kernel

LINUX = "-linux-gnu"


class Class(NamedTuple):
    """A class of machines."""

    target: str
    vector: str
    """The operand of an instruction on whole vectors."""
    loads: float
    """Products per load at least: as many pixels as fit 16 registers, times one vector, or nearly four times four of
    32."""


CLASSES = {
    "avx2": Class(f"-mtriple=x86_64{LINUX} -mcpu=haswell", "%ymm", 0.9),
    "avx512": Class(f"-mtriple=x86_64{LINUX} -mcpu=skylake-avx512", "%zmm", 1.75),
    "vnni": Class(f"-mtriple=x86_64{LINUX} -mcpu=icelake-server", "%zmm", 1.75),
    "zen4": Class(f"-mtriple=x86_64{LINUX} -mcpu=znver4", "%zmm", 1.75),
    "fp16": Class(f"-mtriple=x86_64{LINUX} -mcpu=sapphirerapids -mattr=-amx-tile", "%zmm", 1.75),
    "neon": Class(f"-mtriple=aarch64{LINUX} -mcpu=neoverse-v1", ".4s", 1.8),
}
PRODUCT = re.compile(r"\s+(vfn?madd\w+|fmla|vpdpbusd)\s")
SCALAR = re.compile(r"\s+(v?(mul|add|fn?madd)\w*ss\s|f(mul|add|madd)\s+s\d)")
STACK = re.compile(r"\(%rsp[,)]|\[sp[,\]]")
MEMORY = re.compile(r"\(%|\(,%|\[x|\[sp|\(%rip")


def model(text: str, **weights: NDArray[np.generic]) -> ModelProto:
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> net {text}')
    parsed.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in weights.items())
    return parsed


def floats(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def conv(channels: int, kernel: int, groups: int = 1) -> ModelProto:
    pads = ", ".join([str(kernel // 2)] * 4)
    data = f"float[1,{channels},28,28]"
    return model(
        f"({data} x) => ({data} y) {{ a = Conv <pads = [{pads}], group = {groups}> (x, w, b) y = Relu (a) }}",
        w=floats(channels, channels // groups, kernel, kernel),
        b=floats(channels),
    )


MODELS = {
    "dense": model("(float[37,100] x) => (float[37,192] y) { y = Gemm (x, w, b) }", w=floats(100, 192), b=floats(192)),
    "matmul": model("(float[4,50,33] x, float[4,33,64] w) => (float[4,50,64] y) { y = MatMul (x, w) }"),
    "conv48": conv(48, 3),
    "conv58": conv(58, 1),
    "conv88": conv(88, 3),
    "depthwise": conv(96, 3, 96),
    "softmax": model("(float[64,100] x) => (float[64,100] y) { y = Softmax <axis = -1> (x) }"),
    "norm": model("(float[64,384] x) => (float[64,384] y) { y = LayerNormalization (x, s) }", s=floats(384)),
    "int8": model(
        "(uint8[32,256] x) => (int32[32,96] y) { y = MatMulInteger (x, w) }",
        w=np.random.default_rng(0).integers(-127, 128, (256, 96)).astype(np.int8),
    ),
}


@cache
def kernel_of(name: str, machine: str) -> Kernel:
    """The kernel of a network that is no change of layouts."""
    compiled = whence.compile(MODELS[name], target=f"llvm {CLASSES[machine].target}")
    kernels = [kernel for kernel in compiled.artifact.kernels if isinstance(kernel, Kernel)]
    return max(kernels, key=lambda kernel: sum(operations for operations, _ in kernel.work))


def innermost_loops(assembly: str) -> list[list[str]]:
    """The instructions from a label to a jump back to it, where there is no such pair in between."""
    lines = assembly.splitlines()
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = number
        elif (jump := re.match(r"\s+(?:j|b\.|cb|tb)\w*\s+.*?(\.L\w+)$", line)) and jump[1] in labels:
            loops.append((labels[jump[1]], number))
    inner = [(a, b) for a, b in loops if not any((a, b) != (c, d) and a <= c and d <= b for c, d in loops)]
    return [[line for line in lines[a : b + 1] if re.match(r"\s+[a-z]", line)] for a, b in inner]


def main_loop(name: str, machine: str) -> list[str]:
    loops = innermost_loops(kernel_of(name, machine).assembly)
    return max(loops, key=lambda loop: sum(bool(PRODUCT.match(line)) for line in loop))


def slow(loop: list[str]) -> list[str]:
    """What takes an element at a time, where vectors would do."""
    return [line for line in loop if SCALAR.match(line) or "gather" in line or re.match(r"\s+(call|bl)", line)]


@pytest.mark.parametrize("machine", CLASSES)
@pytest.mark.parametrize("name", ["dense", "matmul", "conv48", "conv58", "conv88", "depthwise"])
def test_a_tile_has_its_sums_in_registers(name: str, machine: str):
    loop = main_loop(name, machine)
    products = [line for line in loop if PRODUCT.match(line)]
    assert len(products) >= 8
    # The last vector of a block of channels may be a shorter one.
    assert sum(CLASSES[machine].vector in line for line in products) >= 3 / 4 * len(products)
    assert [line for line in loop if STACK.search(line)] + slow(loop) == []
    if name != "depthwise":
        assert len(products) >= CLASSES[machine].loads * sum(bool(MEMORY.search(line)) for line in loop)


@pytest.mark.parametrize("machine", CLASSES)
@pytest.mark.parametrize("name", ["softmax", "norm"])
def test_rows_are_computed_in_vectors(name: str, machine: str):
    assembly = kernel_of(name, machine).assembly
    # A short row is in registers as a whole, without a loop.
    assert CLASSES[machine].vector in assembly
    assert [line for loop in innermost_loops(assembly) for line in slow(loop)] == []


@pytest.mark.parametrize("machine", ["vnni", "zen4", "fp16"])
def test_products_of_bytes_are_summed_by_one_instruction(machine: str):
    loop = main_loop("int8", machine)
    products = [line for line in loop if "vpdpbusd" in line]
    assert len(products) >= 8
    assert [line for line in products if CLASSES[machine].vector not in line] == []
    assert [line for line in loop if STACK.search(line)] + slow(loop) == []
    assert len(products) >= CLASSES[machine].loads * sum(bool(MEMORY.search(line)) for line in loop)
