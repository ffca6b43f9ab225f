"""Products of tiles in kernels: their numbers, as vectors in the order of tiles, and the code for machines with AMX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
import pytest
from compiled_kernels import kernels_of
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from reference_runtime import onnxruntime_outputs
from tiled import tiled

import whence
from whence.executables.executable import Executable
from whence.lowering.kernel.record import Kernel
from whence.runtime import load_module
from whence.support.context import PassContext
from whence.support.errors import PipelineError

AMX = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"
Arrays = Mapping[str, NDArray[Any]]


def made(
    nodes: list[onnx.NodeProto], inputs: Arrays, result: int, weights: Arrays, name: str = "y"
) -> tuple[ModelProto, Arrays]:
    given = [
        helper.make_tensor_value_info(each, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for each, value in inputs.items()
    ]
    output = helper.make_tensor_value_info(name, result, None)
    constants = [numpy_helper.from_array(np.asarray(value), each) for each, value in weights.items()]
    graph = helper.make_graph(nodes, "tiles", given, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), inputs


def halves(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    """Numbers that bfloat16 has."""
    draw = np.random.default_rng(seed).standard_normal(shape)
    return draw.astype(ml_dtypes.bfloat16).astype(np.float32)


def conv(shape: tuple[int, ...], outputs: int, kernel: int, **attributes: Any) -> tuple[ModelProto, Arrays]:
    filters = halves(outputs, shape[1] // attributes.get("group", 1), kernel, kernel, seed=1)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[kernel] * 2, **attributes),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    return made(nodes, {"x": halves(*shape)}, TensorProto.FLOAT, {"w": filters, "b": halves(outputs, seed=2)})


def dense(rows: int, depth: int, columns: int) -> tuple[ModelProto, Arrays]:
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"], "fc"), helper.make_node("Relu", ["g"], ["y"], "relu")]
    weights = {"w": halves(depth, columns, seed=1), "b": halves(columns, seed=2)}
    return made(nodes, {"x": halves(rows, depth)}, TensorProto.FLOAT, weights)


def batches(batch: int, rows: int, depth: int, columns: int) -> tuple[ModelProto, Arrays]:
    inputs = {"x": halves(batch, rows, depth), "w": halves(batch, depth, columns, seed=1)}
    return made([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], inputs, TensorProto.FLOAT, {})


FLOATS = {
    "dense": dense(64, 256, 128),
    "one row": dense(1, 96, 40),
    "uneven rows": dense(49, 64, 96),
    "three tiles of columns": dense(33, 50 * 2, 48),
    "panels that end early": dense(20, 64, 1000),
    "single pixels": conv((1, 64, 9, 9), 96, 1),
    "window": conv((2, 32, 14, 14), 64, 3, pads=[1, 1, 1, 1]),
    "steps": conv((1, 64, 15, 21), 32, 3, strides=[2, 2], pads=[1, 0, 1, 1]),
    "dilated groups": conv((1, 64, 12, 40), 64, 3, dilations=[2, 2], group=2),
    "half blocks": conv((1, 48, 7, 7), 80, 3, pads=[1, 1, 1, 1]),
    "a block of 20": conv((1, 64, 10, 9), 20, 3, pads=[1, 1, 1, 1]),
    "batches": batches(3, 64, 64, 64),
    "uneven batches": batches(2, 37, 64, 50),
}


@pytest.mark.parametrize("name", FLOATS)
def test_bfloat16(name: str):
    model, inputs = FLOATS[name]
    with tiled() as target:
        exe = whence.compile(model, target=target, precision="bf16", audit=True)
    assert in_tiles(exe)
    (expected,) = onnxruntime_outputs(model, dict(inputs))
    np.testing.assert_allclose(exe.run(inputs)["y"], expected, rtol=1e-4, atol=1e-4 * float(np.abs(expected).max()))


def in_tiles(exe: Executable) -> list[Kernel]:
    """The kernels in which buffers stand for registers."""
    return [kernel for kernel in kernels_of(exe) if "%tile0 = tir.alloc" in kernel.tir]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> NDArray[Any]:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def quantized_dense(rows: int, depth: int, columns: int, dtype: str) -> tuple[ModelProto, Arrays]:
    node = helper.make_node("MatMulInteger", ["x", "w", "zx"], ["y"], "fc")
    weights = {"w": numbers((depth, columns), "int8", 1), "zx": np.array(7, dtype)}
    return made([node], {"x": numbers((rows, depth), dtype)}, TensorProto.INT32, weights)


def quantized_conv(
    shape: tuple[int, ...], outputs: int, kernel: int, dtype: str, **attributes: Any
) -> tuple[ModelProto, Arrays]:
    filters = numbers((outputs, shape[1] // attributes.get("group", 1), kernel, kernel), "int8", 1)
    node = helper.make_node("ConvInteger", ["x", "w", "zx"], ["y"], "conv", **attributes)
    weights = {"w": filters, "zx": np.array(3, dtype)}
    return made([node], {"x": numbers(shape, dtype)}, TensorProto.INT32, weights)


BYTES = {
    "dense": quantized_dense(64, 256, 128, "uint8"),
    "signed": quantized_dense(49, 320, 96, "int8"),
    "odd": quantized_dense(5, 132, 40, "uint8"),
    "single pixels": quantized_conv((1, 128, 10, 10), 64, 1, "uint8"),
    "window": quantized_conv((1, 64, 14, 14), 128, 3, "uint8", pads=[1, 1, 1, 1]),
    "signed steps": quantized_conv((2, 64, 15, 28), 96, 3, "int8", strides=[2, 2], pads=[1, 1, 1, 1]),
    "groups": quantized_conv((1, 128, 7, 7), 64, 3, "uint8", group=2, pads=[1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name: str):
    model, inputs = BYTES[name]
    with tiled() as target:
        exe = whence.compile(model, target=target, audit=True)
    assert in_tiles(exe)
    expected = cast(Any, ReferenceEvaluator(model)).run(None, dict(inputs))[0]
    found = exe.run(inputs)["y"]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, whence.compile(model).run(inputs)["y"])


CODE: dict[str, tuple[ModelProto, Any, str]] = {
    "conv": (FLOATS["window"][0], "auto", "tdpbf16ps"),
    "dense": (FLOATS["dense"][0], "bf16", "tdpbf16ps"),
    "bytes": (BYTES["window"][0], None, "tdpbusd"),
}


@pytest.mark.parametrize("name", CODE)
def test_code_of_a_machine_with_tiles(name: str):
    model, precision, instruction = CODE[name]
    exe = whence.compile(model, target=AMX, precision=precision)
    (kernel,) = [kernel for kernel in kernels_of(exe) if instruction in kernel.assembly]
    functions = re.split(r"^(?=[a-z]\S+:$)", kernel.assembly, flags=re.MULTILINE)
    (worker,) = [text for text in functions if instruction in text]
    lines = [line.strip() for line in worker.splitlines() if not line.startswith("\t.")]
    # A thread configures once, before the loop over its share, and releases at the end.
    (configured,) = [at for at, line in enumerate(lines) if line.startswith("ldtilecfg")]
    assert configured < min(at for at, line in enumerate(lines) if line.startswith(".LBB"))
    assert [line for line in lines if line in ("tilerelease", "retq")] == ["tilerelease", "retq"]
    # As many products as loads, in registers throughout.
    (loop,) = [part for part in re.split(r"^\.LBB\S+:$", worker, flags=re.MULTILINE) if instruction in part]
    assert loop.count(instruction) == loop.count("tileloadd") == 4
    line = next(at for at, text in enumerate(kernel.tir.splitlines(), 1) if "tir.tile_dot" in text)
    why = str(exe.why(kernel.symbol, line))
    assert f"{instruction} %tmm" in why
    assert "serves conv" in why or "serves fc" in why


@pytest.mark.parametrize("outputs", [24, 40])
def test_blocks_of_channels_that_are_no_whole_tiles(outputs: int):
    model, _ = conv((1, 64, 10, 40), outputs, 3, pads=[1, 1, 1, 1])
    exe = whence.compile(model, target=AMX, precision="bf16")
    (kernel,) = [kernel for kernel in kernels_of(exe) if "tir.tile_dot" in kernel.tir]
    assert "tdpbf16ps" in kernel.assembly


def test_layers_on_ever_more_channels_share_tiles():
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, NDArray[Any]] = {}
    data = "x"
    for number in range(4):
        weights[f"w{number}"] = halves(32, 64 + 32 * number, 1, 1, seed=number)
        nodes.append(helper.make_node("Conv", [data, f"w{number}"], [f"c{number}"], f"conv{number}"))
        nodes.append(helper.make_node("Concat", [data, f"c{number}"], [f"d{number}"], axis=1))
        data = f"d{number}"
    model, inputs = made(nodes, {"x": halves(1, 64, 6, 6)}, TensorProto.FLOAT, weights, data)
    with tiled() as target:
        exe = whence.compile(model, target=target, precision="bf16", audit=True)
    assert [kernel.sizes for kernel in in_tiles(exe)] == [1], "the number of blocks is an argument"
    (expected,) = onnxruntime_outputs(model, dict(inputs))
    np.testing.assert_allclose(exe.run(inputs)[data], expected, atol=0.03 * float(np.abs(expected).max()))


def test_both_products_of_attention_are_in_tiles():
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], "turn", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "t"], ["s"], "scores"),
        helper.make_node("Softmax", ["s"], ["p"], "softmax", axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"], "mix"),
    ]
    model, inputs = made(nodes, {name: halves(2, 48, 64) for name in "qkv"}, TensorProto.FLOAT, {})
    exe = whence.compile(model, target=AMX, precision="auto")
    assert sum("tdpbf16ps" in kernel.assembly for kernel in kernels_of(exe)) == 2
    with tiled() as target:
        found = whence.compile(model, target=target, precision="auto").run(inputs)["y"]
    (expected,) = onnxruntime_outputs(model, dict(inputs))
    np.testing.assert_allclose(found, expected, atol=0.02 * float(np.abs(expected).max()))


@pytest.mark.parametrize("name", ["dense", "signed steps"])
def test_kernels_with_both_ask_when_they_run(name: str, tmp_path: Path):
    model, inputs = BYTES[name]
    with tiled("if-refused") as target:
        exe = whence.compile(model, target=target, audit=True)
    (kernel,) = [kernel for kernel in kernels_of(exe) if "tdpbusd" in kernel.assembly]
    assert "call whence_tiles_allowed" in kernel.tir.replace('tir.call_extern "', "call ")
    assert re.search(r"tir\.dot4|vpdpbusd", kernel.tir), "vectors beside the tiles"
    assert not kernel.tiles
    expected = whence.compile(model).run(inputs)["y"]
    np.testing.assert_array_equal(exe.run(inputs)["y"], expected)
    for suffix in ("tar", "so"):
        exe.export_library(tmp_path / f"net.{suffix}")
        np.testing.assert_array_equal(load_module(tmp_path / f"net.{suffix}").run(inputs)["y"], expected)


def test_the_option_has_two_words():
    with PassContext(config={"tir.lower_tiles": "sometimes"}):
        with pytest.raises(PipelineError, match=r"tir\.lower_tiles: expected always, if-refused or nothing, got"):
            whence.compile(BYTES["dense"][0], target=AMX)


@pytest.mark.parametrize("features", ["-amx-tile", "-amx-int8,-amx-bf16"])
def test_no_tiles_without_the_instructions(features: str):
    for name in ("window", "dense"):
        target = f"{AMX} -mattr={features}"
        floats, integers = FLOATS[name][0], BYTES[name][0]
        for exe in (whence.compile(floats, target=target, precision="auto"), whence.compile(integers, target=target)):
            assert not any("tmm" in kernel.assembly for kernel in kernels_of(exe))


def test_layers_with_no_channels_for_a_row_of_a_tile_have_vectors():
    model, inputs = conv((1, 3, 16, 16), 8, 3)
    with tiled() as target:
        exe = whence.compile(model, target=target, precision="bf16")
    assert not in_tiles(exe)
    (expected,) = onnxruntime_outputs(model, dict(inputs))
    np.testing.assert_allclose(exe.run(inputs)["y"], expected, rtol=1e-4, atol=1e-4)


def test_depthwise_networks_of_bytes_keep_their_blocks():
    depthwise = helper.make_node("ConvInteger", ["x", "d", "zx"], ["c"], "depthwise", group=64, pads=[1, 1, 1, 1])
    nodes = [
        depthwise,
        helper.make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("DynamicQuantizeLinear", ["f"], ["q", "s", "z"]),
        helper.make_node("ConvInteger", ["q", "w", "z"], ["y"], "pointwise"),
    ]
    weights = {
        "d": numbers((64, 1, 3, 3), "int8", 1),
        "w": numbers((64, 64, 1, 1), "int8", 2),
        "zx": np.array(0, "uint8"),
    }
    model, _ = made(nodes, {"x": numbers((1, 64, 8, 8), "uint8")}, TensorProto.INT32, weights)
    with tiled() as target:
        exe = whence.compile(model, target=target)
    assert not in_tiles(exe)
