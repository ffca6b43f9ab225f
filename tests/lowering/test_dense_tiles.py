"""Register tiles of dense layers: heights that do and do not divide the rows, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser
from reference_runtime import onnxruntime_outputs

import whence
from whence.lowering.kernel.record import Kernel

Array = np.ndarray[Any, np.dtype[np.float32]]


def layer(rows: int, depth: int, columns: int, draw: np.random.Generator) -> ModelProto:
    """relu(A x B + c), B and c constant."""
    b = draw.standard_normal((depth, columns), dtype=np.float32)
    c = draw.standard_normal(columns, dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["A", "B"], ["p"], name="matmul"),
            helper.make_node("Add", ["p", "c"], ["q"], name="bias"),
            helper.make_node("Relu", ["q"], ["C"], name="relu"),
        ],
        "layer",
        [helper.make_tensor_value_info("A", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("C", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(b, "B"), numpy_helper.from_array(c, "c")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [
        (1, 64, 64),
        (5, 66, 48),
        (7, 3, 64),
        (13, 64, 64),
        (29, 8, 32),
        (49, 20, 16),
        (50, 5, 24),
        (67, 4, 10),
        (1, 512, 1001),
    ],
)
def test_agrees_with_onnxruntime(rows: int, depth: int, columns: int, threads: int):
    draw = np.random.default_rng(rows)
    model = layer(rows, depth, columns, draw)
    a = draw.standard_normal((rows, depth), dtype=np.float32)
    (expected,) = onnxruntime_outputs(model, {"A": a})
    result = cast(Array, whence.compile(model, threads=threads)(a))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [13, 128, 197])
def test_no_guard_stands_in_the_tiles(rows: int):
    model = layer(rows, 64, 64, np.random.default_rng(0))
    exe = whence.compile(model, threads=1, target="llvm -mcpu=skylake-avx512")
    (kernel,) = cast("tuple[Kernel]", exe.artifact.kernels)
    text = kernel.tir
    assert "tir.if" not in text
    # The tail of uneven rows is a second reduction loop, four steps at a time.
    assert len(re.findall(r"tir\.for %k\.outer\w* in 16 {", text)) == (1 if rows == 128 else 2)


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1000), (1, 1001), (7, 1000), (197, 1000)])
def test_threads_share_columns_that_panels_do_not_divide(rows: int, columns: int, cpu: str):
    """A row, or rows that tiles do not divide, leave threads nothing else."""
    model = layer(rows, 1024, columns, np.random.default_rng(0))
    kernels = cast("tuple[Kernel]", whence.compile(model, target=f"llvm -mcpu={cpu}").artifact.kernels)
    (loops,) = [re.findall(r"tir\.for parallel \S+ in (\d+)", one.tir) for one in kernels if "dense" in one.symbol]
    assert len(loops) == 1
    assert int(loops[0]) >= 16


@pytest.mark.parametrize(
    "graph",
    [
        "(float[1,70] a, float[300,70] b, float[300] c) => (float[m,n] y) { y = Gemm <transB = 1> (a, b, c) }",
        "(float[3,37] a, float[7,37] b, float[7] c) => (float[m,n] y) { y = Gemm <transB = 1> (a, b, c) }",
        "(float[40,513] a, float[513,1] b, float[1] c) => (float[m,n] y) { p = MatMul (a, b) y = Add (p, c) }",
        "(float[13,517] a, float[11,517] b, float[11] c) => (float[m,n] y) { y = Gemm <transB = 1> (a, b, c) }",
        "(float[2,9,1024] a, float[2,8,1024] t) => (float[b,m,n] y) "
        "{ u = Transpose <perm = [0, 2, 1]> (t) p = MatMul (a, u) y = Relu (p) }",
    ],
    ids=["one row", "few rows", "one column", "long rows", "batches of long rows"],
)
def test_sums_along_rows_of_both_operands(graph: str):
    """Vectors are parts of rows, which lie in memory as they are, and no columns, which do not."""
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> product {graph}')
    draw = np.random.default_rng(0)
    given = {
        value.name: draw.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim], dtype=np.float32)
        for value in model.graph.input
    }
    exe = whence.compile(model, threads=1)
    (expected,) = onnxruntime_outputs(model, given)
    np.testing.assert_allclose(cast(Array, exe(*given.values())), expected, rtol=1e-4, atol=1e-5)
    (kernel,) = cast("tuple[Kernel]", exe.artifact.kernels)
    assert "vector.reduction <add>" in kernel.tir
    assert not re.search(r"load .* stride [1-9]", kernel.tir)


def test_sums_of_a_single_odd_panel_stay_in_registers():
    graph = "(float[4,33,40] a, float[4,40,45] b) => (float[4,33,45] y) { y = MatMul (a, b) }"
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> graph {graph}')
    exe = whence.compile(model, threads=1, target="llvm -mcpu=skylake-avx512")
    (kernel,) = cast("tuple[Kernel]", exe.artifact.kernels)
    # Each row of the sums starts at a vector, and no end of one is loaded behind a mask.
    assert not re.findall(r"tir\.masked_load .*matmul\[", kernel.tir)
    draw = np.random.default_rng(0)
    given = {"a": draw.standard_normal((4, 33, 40), np.float32), "b": draw.standard_normal((4, 40, 45), np.float32)}
    (expected,) = onnxruntime_outputs(model, given)
    result = cast(Array, whence.compile(model)(*given.values()))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
