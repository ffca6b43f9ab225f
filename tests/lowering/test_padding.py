"""Products with the zeros around an image: left out where many of them are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.kernels import lower
from whence.lowering.kernel.record import Kernel
from whence.support.errors import ScheduleError

AVX512 = "llvm -mcpu=skylake-avx512"


def convolution(side: int, kernel: int, pad: int, dilation: int, stride: int = 1) -> ModelProto:
    weights = np.random.default_rng(0).standard_normal((24, 20, kernel, kernel)).astype(np.float32)
    attributes: dict[str, Any] = {"pads": [pad] * 4, "dilations": [dilation] * 2, "strides": [stride] * 2}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", **attributes)],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def branches(source: ModelProto) -> int:
    kernels = [k for k in whence.compile(source, threads=1, target=AVX512).artifact.kernels if isinstance(k, Kernel)]
    (kernel,) = [kernel for kernel in kernels if "conv2d" in kernel.symbol]
    return len(re.findall(r"tir\.if \[.*%ky|tir\.if \[.*%kx", kernel.tir))


@pytest.mark.parametrize(
    ("side", "kernel", "pad", "dilation", "stride"),
    [(20, 3, 18, 18, 1), (20, 3, 6, 6, 1), (21, 3, 6, 6, 2), (9, 7, 3, 1, 1), (5, 5, 4, 1, 1), (3, 3, 9, 9, 1)],
)
def test_numbers(side: int, kernel: int, pad: int, dilation: int, stride: int):
    source = convolution(side, kernel, pad, dilation, stride)
    image = np.random.default_rng(1).standard_normal((1, 20, side, side)).astype(np.float32)
    (wanted,) = onnxruntime_outputs(source, {"x": image})
    assert branches(source)
    np.testing.assert_allclose(whence.compile(source, threads=2)(image), wanted, rtol=1e-4, atol=1e-4)


def test_a_thin_border_is_multiplied():
    assert not branches(convolution(56, 3, 1, 1))


@pytest.mark.parametrize("pragma", ["skip_padding", "skip_zeros"])
def test_only_reductions_skip_terms(pragma: str):
    """The pragma is for loops over terms."""
    te = whence.te
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].pragma(b.op.axis[0], pragma)
    with pytest.raises(ScheduleError, match=f"expected an axis of a reduction for {pragma}"):
        lower(schedule, [a, b])
