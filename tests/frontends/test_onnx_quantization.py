"""Quantised operators and networks beside onnxruntime, which is told not to cut its sums off at 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import whence
from whence.dialects.relay.core import FuncOp
from whence.frontends.onnx import from_onnx
from whence.passes.pipelines import relay_pipeline
from whence.passes.runner import run_passes

Array = NDArray[Any]
MICROSOFT = "com.microsoft"
runtime: Any = import_module("onnxruntime")
quantisation: Any = import_module("onnxruntime.quantization")


def _random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def integers(shape: Sequence[int], dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(dtype)
    return _random(seed).integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def _theirs(model: onnx.ModelProto, feeds: Sequence[Array], threads: int = 1) -> list[Array]:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = runtime.InferenceSession(model.SerializeToString(), options)
    names = [given.name for given in session.get_inputs()]
    return session.run(None, dict(zip(names, feeds, strict=True)))


def check(
    op: str, inputs: Sequence[Array | np.generic | None], run: Sequence[int] = (0,), steps: int = 0, **attributes: Any
) -> None:
    """One node, whose inputs at `run` are the graph's and the others constants; of integers `steps` may differ."""
    domain, out = attributes.pop("domain", ""), attributes.pop("out", None)
    tolerance, threads = attributes.pop("tolerance", 1e-5), attributes.pop("threads", 1)
    names = ["" if value is None else f"i{at}" for at, value in enumerate(inputs)]
    arrays = {name: np.asarray(value) for name, value in zip(names, inputs, strict=True) if value is not None}
    given = [f"i{at}" for at in run]

    def declared(name: str, array: Array) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(out or arrays[given[-1]].dtype))
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], name=op, domain=domain, **attributes)],
        "one",
        [declared(name, arrays[name]) for name in given],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name not in given],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    feeds = [arrays[name] for name in given]
    (wanted,) = _theirs(model, feeds, threads)
    found = cast(Array, whence.compile(model, threads=1)(*feeds))
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        assert np.abs(found.astype(int) - wanted.astype(int)).max(initial=0) <= steps


def s(value: float) -> np.float32:
    return np.float32(value)


def z(value: int, dtype: str) -> Array:
    return np.array(value, dtype)


DTYPES = pytest.mark.parametrize("dtype", ["uint8", "int8"])


@DTYPES
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("scales", [(0.022, 0.012, 0.02), (0.02, 0.02, 0.04), (1 / 127.5, 1 / 255, 2 / 255)])
def test_of_two_operands(op: str, dtype: str, scales: tuple[float, float, float]):
    """Scales whose quotients are such that results fall between two steps."""
    a, b = integers((20, 3, 50), dtype), integers((3, 50), dtype, 1)
    for other in (b, b[:1, :1]):
        inputs = (a, s(scales[0]), z(20, dtype), other, s(scales[1]), z(97, dtype), s(scales[2]), z(9, dtype))
        check(op, inputs, (0, 3), domain=MICROSOFT)


@DTYPES
def test_of_each_element(dtype: str):
    inputs = (integers((3, 50), dtype), s(0.04), z(7, dtype), s(1 / 200), z(3, dtype))
    check("QLinearSigmoid", inputs, domain=MICROSOFT)
    check("QLinearLeakyRelu", inputs, domain=MICROSOFT, alpha=0.1)


@DTYPES
@pytest.mark.parametrize("last", [0, 1])
def test_averages(dtype: str, last: int):
    shape = (2, 8, 8, 40) if last else (2, 40, 8, 8)
    inputs = (integers(shape, dtype), s(0.04), z(7, dtype), s(0.02), z(3, dtype))
    check("QLinearGlobalAveragePool", inputs, domain=MICROSOFT, channels_last=last)
    if not last:
        window: dict[str, Any] = {"kernel_shape": [2, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}
        check("QLinearAveragePool", inputs, domain=MICROSOFT, **window)
        check("QLinearAveragePool", inputs, domain=MICROSOFT, kernel_shape=[2, 2], strides=[2, 2])


@DTYPES
@pytest.mark.parametrize(("axis", "opset"), [(-1, 13), (1, 13), (1, 12)])
def test_softmax(dtype: str, axis: int, opset: int):
    x = integers((6, 5, 7), dtype)
    for scale in (1 / 256, 1 / 255, 0.0039):
        inputs = (x, s(0.5), z(7, dtype), s(scale), z(0 if dtype == "uint8" else -128, dtype))
        check("QLinearSoftmax", inputs, domain=MICROSOFT, axis=axis, opset=opset)


def test_mean():
    """onnxruntime has QLinearReduceMean in its schemas only."""
    x, scale, zero = integers((4, 5, 6), "uint8"), s(0.03), z(7, "uint8")
    names = ["x", "a", "b", "c", "d"]
    arrays = (x, scale, zero, s(0.02), z(100, "uint8"))
    node = helper.make_node("QLinearReduceMean", names, ["y"], domain=MICROSOFT, axes=[0, 2], keepdims=0)
    graph = helper.make_graph(
        [node],
        "mean",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in zip(names[1:], arrays[1:], strict=True)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    found = cast(Array, whence.compile(helper.make_model(graph, opset_imports=opsets, ir_version=8))(x))
    mean: Array = (x.astype(np.float64) - 7).mean((0, 2)) * 0.03
    wanted: Array = np.clip(np.round(mean / 0.02) + 100, 0, 255)
    np.testing.assert_array_equal(found, wanted)


def test_concatenation():
    parts = (integers((2, 3), "uint8"), s(0.04), z(9, "uint8"), integers((2, 4), "uint8"), s(0.05), z(1, "uint8"))
    check("QLinearConcat", (s(0.05), z(1, "uint8"), *parts), (2, 5), steps=1, domain=MICROSOFT, axis=1)


CONVOLUTIONS: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ((2, 3, 9, 8), (16, 3, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
    ((1, 16, 5, 5), (8, 16, 1, 1), {}),
    ((1, 16, 7, 7), (16, 1, 3, 3), {"group": 16, "pads": [1] * 4}),
    ((1, 8, 6, 7), (12, 4, 3, 2), {"group": 2, "dilations": [2, 1]}),
    ((2, 6, 14), (8, 6, 3), {"pads": [1, 1]}),
    ((1, 3, 6, 7, 5), (4, 3, 3, 2, 3), {"pads": [1, 0, 1, 1, 0, 1]}),
)


@pytest.mark.parametrize(("data", "weight", "attributes"), CONVOLUTIONS)
def test_convolution(data: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any]):
    outputs = weight[0]
    scales = _random(2).random(outputs).astype(np.float32) * 0.01 + s(0.001)
    bias = _random(3).integers(-999, 999, outputs).astype(np.int32)
    own = (integers(weight, "int8"), scales, np.zeros(outputs, np.int8), s(0.3), z(7, "uint8"), bias)
    check("QLinearConv", (integers(data, "uint8", 1), s(0.02), z(120, "uint8"), *own), steps=1, **attributes)


@DTYPES
def test_products(dtype: str):
    a, zero = integers((3, 5, 13), dtype), z(7, dtype)
    for shape in ((13, 32), (3, 13, 9)):
        b = integers(shape, dtype, 1)
        check("MatMulInteger", (a, b, zero, zero), (0, 1) if len(shape) == 3 else (0,), out="int32")
        quantised = (a, s(0.02), zero, b, s(0.01), zero, s(0.7), z(3, dtype))
        check("QLinearMatMul", quantised, (0, 3) if len(shape) == 3 else (0,), steps=1)
    check("MatMulInteger", (a[:, None], integers((2, 13, 9), dtype, 1), zero, zero), (0, 1), out="int32")
    # Sums of two of its products stay below 2^15.
    weight, bias = integers((21, 13), "int8") // 2, integers((21,), "int8").astype(np.int32) * 50
    own = (weight, s(0.01), z(0, "int8"), bias)
    if dtype == "uint8":
        check("QGemm", (a[0], s(0.02), zero, *own, s(0.4), z(3, dtype)), steps=1, domain=MICROSOFT, transB=1)
        check("QGemm", (a[0], s(0.02), zero, *own), domain=MICROSOFT, transB=1, alpha=1.5, out="float32")


def test_blocks_of_which_the_last_is_cut_off():
    x, scales = integers((3, 7), "int8"), np.array([[0.5, 0.25, 2], [1, 0.75, 3], [0.1, 0.2, 0.3]], np.float32)
    every = np.repeat(scales, 3, axis=1)[:, :7]
    node = helper.make_node("DequantizeLinear", ["x", "s"], ["y"], axis=1, block_size=3)
    graph = helper.make_graph(
        [node],
        "blocks",
        [helper.make_tensor_value_info("x", TensorProto.INT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(scales, "s")],
    )
    exe = whence.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    np.testing.assert_allclose(cast(Any, exe(x)), x * every, rtol=1e-6)


def test_choice():
    condition = np.array([[True], [False], [True]])
    parts = (integers((3, 5), "uint8"), s(0.04), z(3, "uint8"), integers((1, 5), "uint8", 1), s(0.05), z(1, "uint8"))
    check("QLinearWhere", (condition, *parts, s(0.06), z(9, "uint8")), (0, 1, 4), steps=1, domain=MICROSOFT)


@DTYPES
@pytest.mark.parametrize("lengths", [None, [9, 31, 24]])
def test_recurrent_layer(dtype: str, lengths: list[int] | None):
    """40 steps: the input is quantised once, as far as the longest sequence goes, and the state row by row."""
    x = _random().standard_normal((40, 3, 6)).astype(np.float32)
    x[31:] *= 3
    weights = integers((2, 6, 32), dtype), integers((2, 8, 32), dtype, 1)
    bias = _random(2).standard_normal((2, 64)).astype(np.float32) * s(0.1)
    scale, zero = np.full(2, 0.004, np.float32), np.full(2, 128 if dtype == "uint8" else 0, dtype)
    ends = None if lengths is None else np.array(lengths, np.int32)
    inputs = (x, *weights, bias, ends, None, None, None, scale, zero, scale, zero)
    # Theirs quantises those rows together that a thread has.
    options: dict[str, Any] = {"hidden_size": 8, "direction": "bidirectional", "threads": 3, "tolerance": 2e-5}
    check("DynamicQuantizeLSTM", inputs, domain=MICROSOFT, out="float32", **options)


def test_dynamic_quantisation():
    x = _random().standard_normal((2, 5, 16)).astype(np.float32)
    weight = integers((16, 7), "uint8")
    check("DynamicQuantizeMatMul", (x, weight, s(0.02), z(120, "uint8")), domain=MICROSOFT)


class _Samples(quantisation.CalibrationDataReader):
    def __init__(self, shape: Sequence[int]):
        random = _random(9)
        self._left = [{"x": random.standard_normal(shape).astype(np.float32)} for _ in range(6)]

    def get_next(self) -> dict[str, Array] | None:
        return self._left.pop() if self._left else None


SHAPE = (1, 3, 10, 10)


def _network() -> onnx.ModelProto:
    """A strided convolution, a depthwise one, a residual, pools, a concatenation and a dense layer."""
    random = _random(5)
    shapes = {"a": (8, 3, 3, 3), "b": (8, 1, 3, 3), "c": (8, 8, 1, 1), "d": (16, 5), "e": (5,), "f": (8,)}
    weights = {name: random.standard_normal(shape).astype(np.float32) * 0.4 for name, shape in shapes.items()}
    pads = "pads = [1, 1, 1, 1]"
    text = f"""
    <ir_version: 8, opset_import: ["": 17]>
    net (float[1, 3, 10, 10] x) => (float[1, 5] y) {{
      [c1] t1 = Conv <strides = [2, 2], {pads}> (x, a, f)
      [r1] t2 = Relu (t1)
      [c2] t3 = Conv <group = 8, {pads}> (t2, b)
      [c3] t4 = Conv (t3, c, f)
      [sum] t5 = Add (t2, t4)
      [pool] t6 = MaxPool <kernel_shape = [3, 3], {pads}> (t5)
      [join] t7 = Concat <axis = 1> (t5, t6)
      [mean] t8 = GlobalAveragePool (t7)
      [flat] t9 = Flatten (t8)
      [out] y = Gemm (t9, d, e)
    }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_network(form: str, per_channel: bool, tmp_path: Path):
    (tmp_path / "float.onnx").write_bytes(_network().SerializeToString())
    quantisation.quantize_static(
        tmp_path / "float.onnx",
        tmp_path / "int8.onnx",
        _Samples(SHAPE),
        quant_format=quantisation.QuantFormat[form],
        per_channel=per_channel,
        activation_type=quantisation.QuantType.QUInt8,
        weight_type=quantisation.QuantType.QInt8,
    )
    model = onnx.ModelProto.FromString((tmp_path / "int8.onnx").read_bytes())
    x = _random(11).standard_normal(SHAPE).astype(np.float32)
    scales = {value.name: numpy_helper.to_array(value) for value in model.graph.initializer}
    step = next(float(scales[n.input[1]]) for n in reversed(model.graph.node) if n.op_type == "DequantizeLinear")
    found = cast(Array, whence.compile(model, threads=1, audit=True)(x))
    assert np.abs(found - _theirs(model, [x])[0]).max() <= (2 * step + 1e-6 if form == "QDQ" else 0)
    # Only what comes first and goes out last are floats.
    module = from_onnx(model)
    run_passes(module, relay_pipeline(3), audit=True)
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None)
    calls = [op for op in main.block.ops if op.name == "relay.call"]
    assert [str(op.results[0].type).rpartition("x")[2] for op in calls[:-1]].count("f32>") == 0


def test_small_dtypes():
    x = _random().standard_normal((4, 6)).astype(np.float32) * 3
    for dtype in ("int4", "uint4", "float8_e4m3fn", "float8_e5m2"):
        kind = np.dtype(getattr(ml_dtypes, dtype))
        scale = np.array([0.5, 0.25, 1, 2], np.float32)
        zero = np.zeros(4, kind)
        graph = helper.make_graph(
            [
                helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=0),
                helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=0),
            ],
            "round",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
            [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(zero, "z")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        np.testing.assert_array_equal(whence.compile(model, threads=1)(x), _theirs(model, [x])[0])
