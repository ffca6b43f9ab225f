"""Products of bfloat16 in words of two: numbers, and the instruction that some machines have for them."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest
from compiled_kernels import kernels_of
from numpy.typing import NDArray

import whence
from whence import te
from whence.compiler.compile import Precision
from whence.support.errors import PipelineError, ScheduleError
from whence.support.machine import Machine, register_machine

Array = NDArray[Any]
# On most machines bfloat16 is slower than float32, and right.
pytestmark = pytest.mark.filterwarnings("ignore::whence.support.errors.PrecisionWarning")


def rounded(x: Array) -> Array:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64-v3", "native"])
def test_sums_of_pairs(lanes: int, target: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((3, 14), (16, 14)))
    words = np.ascontiguousarray(np.ascontiguousarray(b).view(np.int32).T)
    x, y = te.placeholder((3, 7), "int32"), te.placeholder((7, 16), "int32")
    k = te.reduce_axis((0, 7), name="k")
    total = te.compute((3, 16), lambda i, j: te.sum(te.dot2_bf16(x[i, k], y[k, j]), axis=k), name="total")
    schedule = te.create_schedule(total)
    if lanes > 1:
        outer, inner = schedule[total].split(total.op.axis[1], lanes)
        schedule[total].reorder(outer, k, inner)
        schedule[total].vectorize(inner)
    found = np.asarray(whence.build_schedule(schedule, threads=1, target=target)(a.view(np.int32), words))
    right = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_words_are_int32() -> None:
    x = te.placeholder((4,), "bfloat16")
    with pytest.raises(ScheduleError, match=r"te.dot2_bf16: expected words of int32, got bfloat16 and bfloat16"):
        te.compute((4,), lambda i: te.dot2_bf16(x[i], x[i]), name="wrong")


def product(rows: int = 37, depth: int = 130, columns: int = 100) -> tuple[onnx.ModelProto, Array, Array]:
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 13]>
        net (float[{rows}, {depth}] x) => (float[{rows}, {columns}] y)
        <float[{depth}, {columns}] w> {{ [fc] p = MatMul (x, w) [act] y = Relu (p) }}""")
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns)))
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    return model, x, w


def convolution(groups: int = 1) -> tuple[onnx.ModelProto, Array]:
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 13]>
        net (float[1, 52, 9, 11] x) => (float[1, 24, 5, 6] y)
        <float[24, {52 // groups}, 3, 3] w> {{
            [conv] y = Conv <strides = [2, 2], pads = [1, 1, 1, 1], group = {groups}> (x, w) }}""")
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 52, 9, 11)).astype(np.float32)
    w = rng.standard_normal((24, 52 // groups, 3, 3)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    return model, x


def exact(model: onnx.ModelProto, x: Array) -> Array:
    """The model on operands that are rounded to bfloat16."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    weight = rounded(onnx.numpy_helper.to_array(model.graph.initializer[0]))
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "w"))
    (y,) = whence.compile(model, precision="f32").run({"x": rounded(x)}).values()
    return y


@pytest.mark.parametrize("rows", [1, 37])
def test_a_dense_layer_of_bfloat16(rows: int) -> None:
    model, x, w = product(rows)
    (y,) = whence.compile(model, precision="bf16").run({"x": x}).values()
    right = np.maximum(rounded(x).astype("f8") @ rounded(w).astype("f8"), 0)
    assert np.abs(y - right).max() <= 1e-5 * np.ptp(right)
    assert np.abs(y - np.maximum(x.astype("f8") @ w, 0)).max() > 1e-4 * np.ptp(right)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_convolution_of_bfloat16(groups: int) -> None:
    model, x = convolution(groups)
    (y,) = whence.compile(model, precision="bf16").run({"x": x}).values()
    right = exact(model, x)
    if groups == 4:
        # 13 channels of a group make no pairs: float32 is left.
        right = next(iter(whence.compile(model).run({"x": x}).values()))
    assert np.abs(y - right).max() <= 1e-5 * np.ptp(right)


@pytest.mark.parametrize(("depth", "pairs"), [(26, True), (25, False)])
def test_a_product_of_two_activations(depth: int, pairs: bool) -> None:
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 13]>
        net (float[2, 3, 33, {depth}] x, float[1, 3, {depth}, 19] w) => (float[2, 3, 33, 19] y) {{
            [scores] y = MatMul (x, w) }}""")
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 33, depth), (1, 3, depth, 19)))
    (y,) = whence.compile(model, precision="bf16").run({"x": x, "w": w}).values()
    # Oddly many numbers stay float32.
    right = rounded(x).astype("f8") @ rounded(w).astype("f8") if pairs else x.astype("f8") @ w.astype("f8")
    assert np.abs(y - right).max() <= 1e-5 * np.ptp(right)


@pytest.mark.parametrize("build", [product, convolution])
def test_zen_4_multiplies_pairs(build: Any) -> None:
    model = build()[0]
    for precision in ("bf16", "auto"):
        compiled = whence.compile(model, target="llvm -mcpu=znver4", precision=precision)
        (kernel,) = [kernel for kernel in kernels_of(compiled) if "vdpbf16ps" in kernel.assembly]
        # Of data a pair is one broadcast from memory.
        assert "vbroadcastss" in kernel.assembly
        assert "vpinsrw" not in kernel.assembly
    assert not any("vdpbf16ps" in kernel.assembly for kernel in kernels_of(whence.compile(model)))


@pytest.mark.parametrize(
    ("build", "fits"), [(partial(product, 37, 128), True), (partial(product, 37, 134), False), (convolution, False)]
)
def test_with_tiles_alone_what_does_not_fit_them_stays_float32(build: Any, fits: bool) -> None:
    """On Sapphire Rapids pairs of bfloat16 in vectors are slower than float32."""
    model = build()[0]
    chosen: dict[Precision, bool] = {"auto": fits, "bf16": True}
    for precision, halves in chosen.items():
        compiled = whence.compile(model, target="llvm -mcpu=sapphirerapids", precision=precision)
        assert any("bf16" in kernel.tir for kernel in kernels_of(compiled)) == halves


def test_the_record_says_which_half_gains() -> None:
    halves = {
        cpu: Machine.of("x86_64", cpu).half
        for cpu in ("znver3", "znver4", "znver5", "icelake-server", "sapphirerapids", "graniterapids-d", "x86-64-v4")
    }
    assert halves == {
        "znver3": "float32",
        "znver4": "bfloat16",
        "znver5": "bfloat16",
        "icelake-server": "float32",
        "sapphirerapids": "bfloat16",
        "graniterapids-d": "bfloat16",
        "x86-64-v4": "float32",
    }
    assert Machine.of("x86_64", "znver4", "-avx512bf16").half == "float32"
    assert Machine.of("x86_64", "sapphirerapids", "-amx-bf16").half == "float16"
    assert Machine.of("x86_64", "sapphirerapids", "-amx-tile,-avx512fp16").half == "float32"


def test_models_of_bfloat16_stay_such_where_it_gains() -> None:
    model, _, w = product()
    weight = onnx.helper.make_tensor(
        "w", onnx.TensorProto.BFLOAT16, w.shape, w.astype(ml_dtypes.bfloat16).tobytes(), raw=True
    )
    model.graph.initializer[0].CopyFrom(weight)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
    for cpu, pairs in (("znver4", True), ("x86-64-v4", False)):
        kernels = kernels_of(whence.compile(model, target=f"llvm -mcpu={cpu}"))
        assert any("vdpbf16ps" in kernel.assembly for kernel in kernels) == pairs


def test_sapphire_rapids_adds_products_of_float16() -> None:
    model = product(64, 1024, 256)[0]
    target = "llvm -mcpu=sapphirerapids -mattr=-amx-bf16"
    compiled = whence.compile(model, target=target, precision="auto")
    (kernel,) = [kernel for kernel in kernels_of(compiled) if "vfmadd" in kernel.assembly]
    loop = [line for line in kernel.assembly.splitlines() if "vfmadd" in line]
    # Numbers are broadcast as they are, and sums of 32 products are widened.
    assert len(loop) >= 8
    assert all("ph" in line and "%zmm" in line for line in loop)
    assert "vpbroadcastw" in kernel.assembly
    assert not any("vfmadd" in k.assembly and "ph" in k.assembly for k in kernels_of(whence.compile(model)))


@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 96, 64), (13, 96, 100), (7, 50, 24)])
def test_sums_of_float16(rows: int, depth: int, columns: int) -> None:
    """On a machine that is said to have arithmetic of float16, and has code in its place."""
    register_machine(Machine("halves", 128, 16, fma_f16=True, triple="x86_64-unknown-linux-gnu", cpu="x86-64"))
    model, x, w = product(rows, depth, columns)
    (y,) = whence.compile(model, target="llvm -mcpu=halves", precision="f16").run({"x": x}).values()
    right = np.maximum(x.astype(np.float16).astype("f8") @ w.astype(np.float16).astype("f8"), 0)
    error = np.abs(y - right).max() / np.ptp(right)
    # The longest sum has 32 products; of 50 there are parts of 25.
    assert 1e-6 < error < 2e-3


def test_other_words_are_errors() -> None:
    model = product()[0]
    with pytest.raises(PipelineError, match=r"precision: expected f32, f16, bf16 or auto, got 'int8'"):
        whence.compile(model, precision="int8")  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match="expected precision or pipeline, got both"):
        whence.compile(model, precision="bf16", pipeline="relay-fuse-ops")
