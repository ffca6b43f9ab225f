"""Models of which external compilers run parts: the numbers, the layers, and what goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.lowering.external import registry
from whence.lowering.external.registry import register_external_codegen, split_target
from whence.passes.relay import pattern_table
from whence.passes.relay.pattern_table import register_supported
from whence.support.errors import FrontendError, FrontendWarning, PipelineError, WhenceError

CALL = "tvmgen_default_{}_main_{}"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def network() -> ModelProto:
    """Convolutions around an operator that onnxruntime is not asked for here (Tan), and a branch beside it."""
    rng = np.random.default_rng(2)
    arrays = {
        "w1": rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "b1": rng.standard_normal(8).astype(np.float32),
        "w2": 0.2 * rng.standard_normal((4, 8, 1, 1)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Tan", ["r1"], ["t"], name="tangent"),
        helper.make_node("Atan", ["t"], ["a"], name="arc"),
        helper.make_node("Add", ["a", "r1"], ["s"], name="sum"),
        helper.make_node("Conv", ["s", "w2"], ["c2"], name="conv2"),
        helper.make_node("GlobalAveragePool", ["c2"], ["y"], name="pool"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "s")],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


X = np.random.default_rng(4).uniform(-0.1, 0.1, (2, 3, 6, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def shared(network: ModelProto) -> whence.Executable:
    return whence.compile(network, target="onnxruntime, llvm -mcpu=native", audit=True)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten."""
    monkeypatch.setattr(registry, "_builders", dict(registry._builders))  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(pattern_table, "_tables", dict(pattern_table._tables))  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(pattern_table, "_supported", dict(pattern_table._supported))  # pyright: ignore[reportPrivateUsage]


def test_parts_run_in_one_program(network: ModelProto, shared: whence.Executable):
    assert shared.kernels == (CALL.format("onnxruntime", 0), "fused_tan_atan", CALL.format("onnxruntime", 1))
    plain, reference = whence.compile(network)(X), onnxruntime_outputs(network, {"x": X})
    for found, mine, theirs in zip(shared(X), plain, reference, strict=True):
        np.testing.assert_allclose(found, mine, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found, np.asarray(theirs, found.dtype), rtol=1e-4, atol=1e-5)


def test_other_ways_to_run_it(shared: whence.Executable):
    expected = shared(X)
    again = shared(X)
    for one, other in zip(expected, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert shared.profile({"x": X}, repeat=2).shape == (2, 3)
    seen: list[str] = []
    stepped = shared.runner.walk([X], shared._pool, lambda call, seconds, outputs: seen.append(call.name))  # pyright: ignore[reportPrivateUsage]
    assert tuple(seen) == shared.kernels
    for one, other in zip(expected, stepped, strict=True):
        np.testing.assert_array_equal(one, other)


def test_layers_are_known_across_the_border(shared: whence.Executable):
    first = shared.why(CALL.format("onnxruntime", 0))
    assert [part.layer.name for part in first.calls[0].layers] == ["conv1", "relu1"]
    assert [one.op for one in first.calls[0].operators] == ["relay.nn.conv2d", "relay.nn.bias_add", "relay.nn.relu"]
    assert str(first).startswith("kernel tvmgen_default_onnxruntime_main_0, run by onnxruntime\n")
    assert "run by     onnxruntime" in str(first)
    assert [part.layer.name for part in shared.why("fused_tan_atan").calls[0].layers] == ["tangent", "arc"]
    assert "run by" not in str(shared.why("fused_tan_atan"))
    where = shared.where("sum")
    assert [part.call for part in where.kernels] == [CALL.format("onnxruntime", 1)]
    assert "run by  onnxruntime" in str(where)
    assert "tir" not in str(where)
    assert set(shared.layers) >= {"conv1", "relu1", "tangent", "arc", "sum", "conv2", "pool"}
    coverage = shared.coverage()
    assert coverage["relay"] == 1
    # Two copies of arguments serve several calls, and constants both `tan` and `atan`: these name none.
    assert coverage["native"] + coverage["native_inferred"] >= 0.97
    with pytest.raises(FrontendError, match="expected a kernel with TIR, got tvmgen_default_onnxruntime_main_0, which"):
        shared.why(CALL.format("onnxruntime", 0), 1)
    times = shared.times({"x": X}, repeat=1)
    assert {layer.name for shares in times.layers for layer in shares if layer} >= {"conv1", "sum", "pool"}
    conv = next(part for part in times.layers[0].items() if part[0] and part[0].name == "conv1")
    assert conv[1] > 0.5 * times.calls[0]


def test_nothing_is_claimed_of_code_that_is_not_ours():
    source = '<ir_version: 8, opset_import: ["" : 17]> net (float[2,16] x) => (float[2,16] y) { y = Relu(x) }'
    whole = whence.compile(onnx.parser.parse_model(source), target="onnxruntime, llvm")
    assert whole.kernels == (CALL.format("onnxruntime", 0),)
    assert whole.coverage() == {"relay": 1.0, "native": 1.0, "native_inferred": 0.0}


def test_threads_may_share_it(shared: whence.Executable):
    expected = shared(X)[0]
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.extend(shared(X)[0] for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(np.array_equal(one, expected) for one in found)


@pytest.mark.usefixtures("registered")
def test_a_compiler_of_ones_own(network: ModelProto):
    seen: list[tuple[int, ...]] = []

    @register_external_codegen("numpy")
    def build(module: Any) -> Run:
        def run(*arrays: Any) -> Any:
            seen.append(arrays[0].shape)
            assert not arrays[0].flags.writeable
            return evaluate_module(module, arrays)

        return run

    for name in ("tan", "add", "nn.conv2d"):
        register_supported("numpy", name, lambda op: True)
    exe = whence.compile(network, target="numpy, onnxruntime, llvm -mcpu=native", audit=True)
    assert exe.kernels[0] == CALL.format("numpy", 0)
    assert "fused_atan" in exe.kernels
    assert any("onnxruntime" in name for name in exe.kernels)
    for found, expected in zip(exe(X), whence.compile(network)(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert seen


MODEL = """
<ir_version: 8, opset_import: ["": 13]>
failing (float[4] x) => (float[4] y) {
  [first] t = Tan (x)
  [second] s = Sin (t)
  [third] y = Atan (s)
}
"""


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ZeroDivisionError("no way"), "ZeroDivisionError: no way"),
        (np.zeros(3, np.float32), r"ValueError: expected output 0 of float32\[4\], got float32\[3\]"),
        (np.zeros(4), r"ValueError: expected output 0 of float32\[4\], got float64\[4\]"),
        ([], "ValueError: expected 1 outputs, got 0"),
    ],
    ids=["raises", "shape", "dtype", "number"],
)
def test_what_fails_in_a_part_is_told_with_its_layers(result: Any, text: str):
    def run(x: Any) -> Any:
        if x[0] < 0 and isinstance(result, Exception):
            raise result
        return result if x[0] < 0 else np.sin(x)

    register_external_codegen("mine", lambda module: run)
    register_supported("mine", "sin", lambda op: True)
    exe = whence.compile(onnx.parser.parse_model(MODEL), target="mine, llvm")
    good, bad = np.full(4, 0.5, np.float32), np.full(4, -0.5, np.float32)
    expected = np.arctan(np.sin(np.tan(good)))
    np.testing.assert_allclose(exe(good), expected, rtol=1e-5)
    place = r" \(layer 'second', <memory> node 1\)"
    with pytest.raises(
        WhenceError, match=rf"function '{CALL.format('mine', 0)}': expected mine to run it, got {text}{place}"
    ):
        exe(bad)
    np.testing.assert_allclose(exe(good), expected, rtol=1e-5)


@pytest.mark.usefixtures("registered")
def test_a_compiler_that_cannot():
    def build(module: Any) -> Run:
        raise PipelineError("mine: expected a simpler function, got this one")

    register_external_codegen("mine", build)
    register_supported("mine", "sin", lambda op: True)
    text = r"mine: expected a simpler function, got this one \(layer 'second', <memory> node 1\)"
    with pytest.raises(PipelineError, match=text):
        whence.compile(onnx.parser.parse_model(MODEL), target="mine, llvm")


def test_targets():
    assert split_target("llvm -mcpu=x -mattr=+a,-b") == ((), "llvm -mcpu=x -mattr=+a,-b")
    assert split_target("onnxruntime, llvm -mattr=+a,-b") == (("onnxruntime",), "llvm -mattr=+a,-b")
    assert split_target("onnxruntime") == (("onnxruntime",), "native")
    assert split_target("onnxruntime,native") == (("onnxruntime",), "native")
    with pytest.raises(PipelineError, match="target: expected"):
        whence.compile("light_squeezenet", target="dnnl, llvm")


def test_onnxruntime_is_missed_in_one_line(network: ModelProto, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(PipelineError, match="external compiler 'onnxruntime': expected the package onnxruntime"):
        whence.compile(network, target="onnxruntime, llvm")


def test_a_model_of_open_sizes():
    text = MODEL.replace("float[4]", "float[n]").replace("Sin", "Relu")
    exe: Any = whence.compile(onnx.parser.parse_model(text), target="onnxruntime, llvm")
    for size in (3, 5):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        # A part of another compiler has known sizes, which who runs the model is told at the second one.
        with pytest.warns(FrontendWarning) if size == 5 else nullcontext():
            np.testing.assert_allclose(exe(x), np.maximum(x, 0), rtol=1e-5, atol=1e-7)
    assert CALL.format("onnxruntime", 0) in exe.kernels
