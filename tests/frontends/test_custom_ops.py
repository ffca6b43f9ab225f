# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
"""Operators that Python functions of the user's compute: a kernel of the program at its layer, in every frontend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from flatbuffers import flexbuffers
from numpy.typing import NDArray
from tensorflow_graphs import Net as TensorFlowNet
from tflite_builder import Net

import whence
from whence.executables.graph_factory import GraphExecutorFactoryModule
from whence.explorer.layers import snapshot
from whence.runtime.debugger.module import GraphModuleDebug
from whence.support.errors import FrontendError, FrontendWarning, PipelineError, WhenceError

Array = NDArray[Any]
PROGRAMS = Path(__file__).parents[1] / "exports/pytorch"
KERAS = Path(__file__).parent / "keras/models"
X = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)


def model(body: str, infos: str = "", shape: str = "2, 8") -> onnx.ModelProto:
    text = f"""<ir_version: 8, opset_import: ["": 18, "mine": 1]>
    net (float[{shape}] x) => (float[{shape}] y) {f"<{infos}>" if infos else ""} {{ {body} }}"""
    return onnx.parser.parse_model(text)


WAVE = '[before] a = Relu (x) [wave] b = mine.Wave <height = 2.0, name = "sea"> (a) [after] y = Neg (b)'


def wave(x: Array, height: float = 1.0, name: str = "") -> Array:
    assert name == "sea"
    assert not x.flags.writeable
    return height * np.sin(x)


def test_a_function_stands_in_for_an_operator():
    exe = whence.compile(model(WAVE, "float[2, 8] b"), custom_ops={"mine::Wave": wave}, audit=True)
    np.testing.assert_allclose(exe(X), -2 * np.sin(np.maximum(X, 0)), rtol=1e-6)
    assert exe.layers == ("before", "wave", "after")
    (kernel,) = (name for name in exe.kernels if name.startswith("python_"))
    text = str(exe.why(kernel))
    assert "run by python" in text
    assert "wave  Wave  <memory>:1  python_call" in text, text
    assert "run by  python" in str(exe.where("wave"))
    assert exe.coverage()["relay"] == 1.0


def test_debugger_and_profiler_name_the_layer():
    exe = whence.compile(model(WAVE, "float[2, 8] b"), custom_ops={"Wave": wave})
    assert any("wave" in line for line in str(exe.times({"x": X}, repeat=1)).splitlines())
    lib = GraphExecutorFactoryModule(exe, snapshot(exe.artifact, "relay"))
    debug = GraphModuleDebug(lib.debug_create("default"))
    debug.set_input(x=X)
    expected = wave_of(np.maximum(X, 0))
    np.testing.assert_allclose(np.asarray(debug.debug_get_output("wave")), expected, rtol=1e-6)
    debug.exit()


def wave_of(x: Array) -> Array:
    return 2 * np.sin(x)


def test_a_function_wins_over_a_row_a_function_of_the_model_and_folding():
    body = (
        "[c] k = Constant <value = float[2, 8] {"
        + ", ".join(["1"] * 16)
        + "}> () [tan] t = Tan (k) [end] y = Add (x, t)"
    )
    exe = whence.compile(model(body), custom_ops={"Tan": lambda x: x + 41})
    np.testing.assert_allclose(exe(X), X + 42, rtol=1e-6)
    exe = whence.compile(
        model("[e] y = Elu <alpha = 3.0> (x)"), custom_ops={"ai.onnx::Elu": lambda x, alpha: alpha * x}
    )
    np.testing.assert_allclose(exe(X), 3 * X, rtol=1e-6)
    text = """<ir_version: 8, opset_import: ["": 18, "mine": 1]> net (float[2, 8] x) => (float[2, 8] y) {
        [call] y = mine.twice (x)
    } <opset_import: ["": 18], domain: "mine"> twice (x) => (y) { y = Add (x, x) }"""
    exe = whence.compile(onnx.parser.parse_model(text), custom_ops={"mine::twice": lambda x: 7 * x})
    np.testing.assert_allclose(exe(X), 7 * X, rtol=1e-6)


def test_a_function_in_the_place_of_a_row_gets_its_defaults():
    """Those of the operator, not of the function; only where the function has a parameter for them."""

    def leaky(x: Array, alpha: float = 7.0) -> Array:
        return np.where(x > 0, x, np.float32(alpha) * x)

    for stated, alpha in (("", 0.01), ("<alpha = 0.5>", 0.5)):
        net = model(f"y = LeakyRelu {stated} (x)")
        exe = whence.compile(net, custom_ops={"LeakyRelu": leaky})
        np.testing.assert_allclose(exe(X), np.where(X > 0, X, alpha * X), rtol=1e-6)
    exe = whence.compile(model("y = LeakyRelu (x)"), custom_ops={"LeakyRelu": lambda alpha: alpha + 1})
    np.testing.assert_array_equal(exe(X), X + 1)


def test_several_results_and_what_is_left_out():
    body = "[parts] a, y = mine.Parts (x, , w) [sum] s = ReduceSum (a)"
    source = model(body)
    source.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(3) * X, "w"))

    def parts(x: Array, nothing: None, w: Array) -> tuple[Array, Array]:
        assert nothing is None
        return w[:1], x + w

    custom = whence.CustomOp(parts, lambda x, _, w: [((1, *w.shape[1:]), w.dtype), x])
    exe = whence.compile(source, custom_ops={"mine::Parts": custom})
    np.testing.assert_allclose(exe(X), 4 * X, rtol=1e-6)
    assert [param.name for param in exe.where("parts.w").params] == ["w"]


def test_open_sizes_are_known_when_the_call_comes():
    custom = {"mine::Wave": whence.CustomOp(wave, lambda x: x)}
    exe = whence.compile(model(WAVE, shape="n, 8"), custom_ops=custom)
    np.testing.assert_allclose(exe(X), -wave_of(np.maximum(X, 0)), rtol=1e-6)
    with pytest.warns(FrontendWarning, match="compiled anew for other sizes"):
        np.testing.assert_allclose(exe(X[:1]), -wave_of(np.maximum(X[:1], 0)), rtol=1e-6)
    assert exe.choice.kind == "interpreted"
    assert any("python_mine_Wave" in name or "python_Wave" in name for name in exe.kernels)
    with pytest.raises(FrontendError, match="sizes that are numbers, for a Python function"):
        whence.compile(model(WAVE, shape="n, 8"), custom_ops=custom, tier="symbolic")


# What is wrong is told once, with the layer.


def wrong(function: Any, infos: str = "float[2, 8] b") -> str:
    exe = whence.compile(model(WAVE, infos), custom_ops={"Wave": function})
    with pytest.raises(WhenceError) as error:
        exe(X)
    assert "(layer 'wave', <memory> node 1)" in str(error.value)
    np.testing.assert_array_equal(X, X)
    return str(error.value)


def test_errors_of_the_function_name_the_layer():
    def broken(x: Array, **attributes: Any) -> Array:
        raise ZeroDivisionError("no sea")

    assert "got ZeroDivisionError: no sea" in wrong(broken)
    assert "expected output 0 of float32[2, 8], got float64[2, 8]" in wrong(lambda x, **_: x.astype(np.float64))
    assert "expected output 0 of float32[2, 8], got float32[1, 8]" in wrong(lambda x, **_: x[:1])
    assert "expected 1 outputs, got 2" in wrong(lambda x, **_: (x, x))
    assert "unexpected keyword argument" in wrong(lambda x: x)


def test_errors_of_the_compilation_name_the_layer():
    with pytest.raises(
        FrontendError, match=r"Wave: expected the type of result 0, .* \(layer 'wave', <memory> node 1\)"
    ):
        whence.compile(model(WAVE), custom_ops={"Wave": wave})
    for result in (lambda x: "float32", lambda x: ((2, 8), "texts"), lambda: None):
        with pytest.raises(FrontendError, match=r"Wave: expected the types of results, got .* .layer 'wave'"):
            whence.compile(model(WAVE), custom_ops={"Wave": whence.CustomOp(wave, result)})
    with pytest.raises(FrontendError, match="expected a function or a CustomOp for 'Wave', got int"):
        whence.compile(model(WAVE), custom_ops={"Wave": 3})  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match="custom_ops: expected the file"):
        whence.compile(whence.load(model("y = Relu (x)")), custom_ops={"Relu": wave})
    with pytest.warns(FrontendWarning, match="got 'mine.Wade', of which it has none"):
        whence.compile(model("y = Relu (x)"), custom_ops={"mine::Wade": wave})


def test_export_refuses_with_the_layer(tmp_path: Path):
    exe = whence.compile(model(WAVE, "float[2, 8] b"), custom_ops={"Wave": wave})
    with pytest.raises(PipelineError, match=r"which python runs \(layer 'wave', <memory> node 1\)"):
        exe.export_library(tmp_path / "net.tar")
    assert not list(tmp_path.iterdir())


# The other frontends.


def test_tflite():
    net = Net()
    x = net.input("x", [2, 8])
    wave_out, y = net.tensor("wave", [2, 8]), net.tensor("y", [2, 8])
    builder: Any = flexbuffers.Builder()
    with builder.Map():
        builder.Float("height", 2.0)
    net.op("CUSTOM", [x], [wave_out], custom=("Wave", bytes(builder.Finish())))
    net.op("ABS", [wave_out], [y])
    exe = whence.compile(net.build([y]), custom_ops={"Wave": lambda x, height: height * np.sin(x)})
    np.testing.assert_allclose(exe(X), np.abs(2 * np.sin(X)), rtol=1e-6)
    assert "run by  python" in str(exe.where("wave"))
    # An operator of the schema, with its options.
    net = Net()
    x, y = net.input("x", [2, 8]), net.tensor("y", [2, 8])
    net.op("LEAKY_RELU", [x], [y], "LeakyReluOptions", alpha=0.5)
    exe = whence.compile(net.build([y]), custom_ops={"LEAKY_RELU": lambda x, alpha: x * np.float32(alpha)})
    np.testing.assert_allclose(exe(X), X / 2, rtol=1e-6)


def test_torch():
    """Results are as the exporter states them for the sizes of the call."""
    taken: list[tuple[int, ...]] = []

    def igamma(self: Array, other: Array) -> Array:
        taken.append(self.shape)
        return self * other

    custom = {"aten::igamma": igamma, "aten.special_bessel_j0.default": lambda x: x + 1}
    exe = whence.compile(PROGRAMS / "unknown.pt2", custom_ops=custom, audit=True)
    x = np.random.default_rng(1).standard_normal([3 if n < 0 else n for n in exe.inputs[0].shape]).astype(np.float32)
    y = x + 1
    np.testing.assert_allclose(exe(x), np.abs(y) * np.abs(x) + y + 1, rtol=1e-6)
    assert taken == [x.shape]
    assert "networks.py" in str(exe.where("igamma"))


def test_tensorflow():
    net = TensorFlowNet()
    x = net.placeholder("x", (2, 8))
    wave_out = net.op("Wave", "wave", x, T="float32", height=2.0, _output_shapes=[])
    shapes = net.graph.node[-1].attr["_output_shapes"].list.shape.add()
    for extent in (2, 8):
        shapes.dim.add(size=extent)
    net.op("Neg", "y", wave_out)
    exe = whence.compile(net.build(), custom_ops={"Wave": lambda x, height: np.float32(height) * np.sin(x)})
    np.testing.assert_allclose(exe(X), -wave_of(X), rtol=1e-6)
    assert "wave  Wave" in str(exe.why(next(name for name in exe.kernels if name.startswith("python_"))))


def test_keras_layers_get_their_variables_and_their_configuration():
    """One that has a row is computed by the function, too."""
    config_of_layer: dict[str, Any] = {}

    def dense(x: Array, kernel: Array, bias: Array, **config: Any) -> Array:
        config_of_layer.update(config)
        return x @ kernel + bias

    custom = whence.CustomOp(dense, lambda x, kernel, bias: ((*x.shape[:-1], kernel.shape[1]), x.dtype))
    path = KERAS / "cnn.keras"
    image = np.random.default_rng(2).standard_normal((2, 8, 8, 3)).astype(np.float32)
    expected = whence.compile(path, shapes={"image": image.shape}).run({"image": image})
    exe = whence.compile(path, shapes={"image": image.shape}, custom_ops={"Dense": custom})
    scores = exe.run({"image": image})["classes"]
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(powers / powers.sum(-1, keepdims=True), expected["classes"], rtol=1e-4)
    assert config_of_layer["units"] == 5
    assert config_of_layer["activation"] == "softmax"
    assert "name" not in config_of_layer


PROGRAM = """
"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<2x8xf32>) -> tensor<2x8xf32>}> ({
  ^bb0(%x: tensor<2x8xf32> loc("x")):
    %0 = "stablehlo.custom_call"(%x) <{call_target_name = "wave", api_version = 4 : i32}>
      {"mhlo.backend_config" = {height = 2.0 : f32, name = "sea"}}
      : (tensor<2x8xf32>) -> tensor<2x8xf32> loc("jit(f)/Net/wave/ffi_call")
    %1 = "stablehlo.cholesky"(%0) <{lower = true}>
      : (tensor<2x8xf32>) -> tensor<2x8xf32> loc("jit(f)/Net/turn/cholesky")
    "func.return"(%1) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_calls_and_ops_of_stablehlo():
    with pytest.raises(FrontendError, match=r'custom_ops=\{"cholesky": function, \.\.\}'):
        whence.compile(PROGRAM.encode())
    exe = whence.compile(
        PROGRAM.encode(), custom_ops={"wave": wave, "stablehlo.cholesky": lambda x, lower: -x}, audit=True
    )
    np.testing.assert_allclose(exe(X), -2 * np.sin(X), rtol=1e-6)
    (kernel,) = (name for name in exe.kernels if "wave" in name)
    assert "Net/wave/ffi_call" in str(exe.why(kernel))
