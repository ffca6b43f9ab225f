"""Convolutions of volumes larger than a cache: which loops are outside, and onnxruntime's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.target import Target
from whence.target import register_machine


@pytest.mark.parametrize(("window", "rows_outside"), [((3, 1, 1), True), ((3, 3, 3), False)])
def test_channels_are_inside_rows_where_only_a_row_and_the_weights_fit(
    window: tuple[int, ...], rows_outside: bool
) -> None:
    """The cache of this machine holds the weights of three taps, not of 27, and no volume."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((1, 32, 4, 12, 16), dtype=np.float32)
    weight = draw.standard_normal((32, 32, *window), dtype=np.float32)
    conv = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[extent // 2 for extent in window] * 2)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
    weights = {"w": weight, "b": draw.standard_normal(32, dtype=np.float32)}
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph([conv], "volume", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    here = Target.native()
    small = replace(here.hardware, name="small-cache", l1=1 << 15, l2=1 << 16, triple=here.triple, cpu=here.cpu)
    program = whence.compile(model, target=f"llvm -mcpu={register_machine(small).name}")
    (kernel,) = (kernel for kernel in cast("tuple[Kernel]", program.artifact.kernels) if "conv3d" in kernel.symbol)
    order = "%ax0, %ax2, %ax3, %ax1.outer," if rows_outside else "%ax0, %ax1.outer, %ax2, %ax3,"
    assert order in kernel.schedule
    (expected,) = onnxruntime_outputs(model, {"x": x})
    np.testing.assert_allclose(program.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("channels", [19, 35])
def test_threads_share_a_transposition_of_few_rows(channels: int) -> None:
    """Tiles of 16 rows do not divide these, and of what is cut off threads cannot share the loop."""
    x = np.random.default_rng(0).standard_normal((1, 56, 56, channels), dtype=np.float32)
    turn = helper.make_node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 2])
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in {"x": x.shape, "y": (1, channels, 56, 56)}.items()
    ]
    graph = helper.make_graph([turn], "turn", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    program = whence.compile(model, threads=2)
    (kernel,) = cast("tuple[Kernel]", program.artifact.kernels)
    (loop,) = (line for line in kernel.tir.splitlines() if "tir.for parallel" in line)
    assert int(loop.split(" in ")[1].split()[0]) >= 16
    np.testing.assert_array_equal(program.run({"x": x})["y"], x.transpose(0, 3, 1, 2))
