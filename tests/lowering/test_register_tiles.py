"""The register tiles of convolutions: what is summed stays in registers, of which machines have 16 or 32."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser

import whence
from whence.lowering.kernel.record import Kernel

# Input channels, output channels, rows and columns, kernel, stride: those of squeezenet that take longest, by shape.
LAYERS = [
    (3, 64, 224, 3, 2),
    (16, 64, 55, 1, 1),
    (16, 64, 55, 3, 1),
    (128, 16, 55, 1, 1),
    (32, 128, 27, 3, 1),
    (48, 192, 13, 3, 1),
    (64, 256, 13, 3, 1),
]


def convolution(channels: int, made: int, size: int, kernel: int, stride: int, target: str) -> Kernel:
    draw = np.random.default_rng(channels)
    pad = kernel // 2
    node = f"Y = Conv<kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], pads=[{pad},{pad},{pad},{pad}]>"
    weights = draw.standard_normal((made, channels, kernel, kernel)).astype(np.float32)
    graph = helper.make_graph(
        [parser.parse_node(f"{node}(X, W)")],
        "layer",
        [helper.make_tensor_value_info("X", 1, (1, channels, size, size))],
        [helper.make_tensor_value_info("Y", 1, None)],
        [numpy_helper.from_array(weights, "W")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    kernels = whence.compile(model, threads=1, target=target).artifact.kernels
    (found,) = [one for one in kernels if isinstance(one, Kernel) and "conv2d" in one.symbol]
    return found


def innermost_loops(assembly: str) -> list[list[str]]:
    """The lines from a label to a jump back to it, where there is no such pair in between."""
    lines = assembly.splitlines()
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = number
        elif (jump := re.match(r"\s+j\w+\s+(\.LBB\w+)", line)) and jump[1] in labels:
            loops.append((labels[jump[1]], number))
    return [lines[a : b + 1] for a, b in loops if not any(a <= c and d < b for c, d in loops)]


@pytest.mark.parametrize(
    ("layer", "cpu", "register"),
    # Where there are more registers, the narrowest and the widest of each kernel.
    [*((layer, "haswell", "ymm") for layer in LAYERS), *((layer, "znver5", "zmm") for layer in LAYERS[::3])],
    ids=str,
)
def test_no_sum_of_a_tile_is_spilled(layer: tuple[int, int, int, int, int], cpu: str, register: str):
    kernel = convolution(*layer, target=f"llvm -mcpu={cpu}")
    loops = [loop for loop in innermost_loops(kernel.assembly) if any("vfmadd" in line for line in loop)]
    products = [line for loop in loops for line in loop if "vfmadd" in line]
    # A tile has enough sums under way, in the widest vectors.
    assert max(sum("vfmadd" in line for line in loop) for loop in loops) >= 8
    assert all(f"%{register}" in line for line in products)
    # Whole vectors go to and from the stack where registers are short; a pixel is read as a scalar.
    assert not [line for loop in loops for line in loop if re.search(r"vmov[au]p[sd].*\(%rsp", line)]
