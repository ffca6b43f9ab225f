"""Operators of com.microsoft that onnxruntime's tools write, in the variants of their attributes, beside it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
import pytest
from against_onnxruntime import Array, check_node, one_node, onnxruntime_outputs
from onnx import helper, numpy_helper

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

rng = np.random.default_rng(5)
runtime: Any = import_module("onnxruntime")
Arguments = dict[str, Any]


def floats(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int64) -> Array:
    return rng.integers(low, high, shape).astype(dtype)


def check(op: str, *inputs: Array | None, **arguments: Any) -> list[Array]:
    return check_node(op, *inputs, domain="com.microsoft", **arguments)


GEMM = floats(3, 4), floats(5, 4), floats(5)
ACTIVATIONS: list[tuple[str, Arguments]] = [
    ("Relu", {}),
    ("Sigmoid", {}),
    ("Softplus", {}),
    ("LeakyRelu", {"activation_alpha": 0.2}),
    ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ("Selu", {"activation_alpha": 1.5, "activation_gamma": 1.1}),
]


@pytest.mark.parametrize(("activation", "attributes"), ACTIVATIONS)
def test_gemm_with_an_activation(activation: str, attributes: Arguments):
    check("FusedGemm", *GEMM, transB=1, alpha=0.5, beta=2.0, activation=activation, **attributes)


WINDOWS: list[Arguments] = [
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1, "dilations": [1, 2]},
    {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
]


@pytest.mark.parametrize("window", WINDOWS)
def test_pool_of_images_with_channels_last(window: Arguments):
    check("NhwcMaxPool", integers(0, 256, 2, 7, 8, 5, dtype=np.uint8), **window)


def test_matrices():
    check("Trilu", floats(2, 4, 5), np.array(1), upper=0)
    check("Inverse", floats(2, 3, 7, 7) + 3 * np.eye(7, dtype=np.float32))
    check("Inverse", floats(1, 1).astype(np.float64))
    for metric in ("euclidean", "sqeuclidean"):
        check("CDist", floats(5, 7), floats(4, 7), metric=metric)
    # The rows below need exchanges.
    check("Inverse", np.array([[0, 2, 1], [1, 0, 0], [3, 0, 1]], np.float32))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (6, 2), (9, 11)])
def test_cheapest_paths(shape: tuple[int, int]):
    """Also of costs that are equal often."""
    for costs in (floats(*shape), integers(0, 3, 1, *shape, dtype=np.float32)):
        model, free = one_node("DynamicTimeWarping", [costs], domain="com.microsoft")
        (wanted,) = onnxruntime_outputs(model, free)
        np.testing.assert_array_equal(cast(Any, whence.compile(model)(costs)), wanted)


def test_pads():
    check("Pad", floats(3, 4), np.array([[1, 2, 0, -1]]), np.array(7, np.float32), known=[1])
    check("Pad", floats(3, 4), np.array([1, 2, 0, 1]), known=[1], mode="reflect", opset=9)
    image, weight, bias = floats(1, 4, 5, 6), floats(4, 2, 3, 3), floats(4)
    options: Arguments = {"strides": [2, 2], "group": 2, "output_padding": [1, 1], "known": [2]}
    check("ConvTransposeWithDynamicPads", image, weight, np.array([1, 0, 1, 2]), bias, **options, rtol=1e-4, atol=1e-5)
    # Of the same extents the padding follows, whatever pads say.
    same: Arguments = {"strides": [2, 2], "group": 2, "auto_pad": "SAME_UPPER", "known": [2]}
    check("ConvTransposeWithDynamicPads", image, weight, np.array([1, 0, 1, 2]), bias, **same, rtol=1e-4, atol=1e-5)


def _blocks(shape: Sequence[int], axis: int, block: int) -> list[int]:
    return [-(-extent // block) if at == axis else extent for at, extent in enumerate(shape)]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_rows_of_packed_bytes(bits: int, zeros: bool):
    """Also of indices outside, whose rows are zeros."""
    table = integers(0, 256, 20, 64 * bits // 8, dtype=np.uint8)
    points = integers(0, 256, 20, bits // 2 or 1, dtype=np.uint8) if zeros else None
    given = [table, np.array([[3, 0], [-1, 25], [-30, 7]]), floats(20, 4), *([points] if zeros else [])]
    known = [0, 2, *([3] if zeros else [])]
    check("GatherBlockQuantized", *given, known=known, bits=bits, quantize_axis=-1, block_size=16, gather_axis=0)


@pytest.mark.parametrize("gathered", [0, 1, 2])
@pytest.mark.parametrize("quantized", [0, 1, 2])
def test_rows_of_small_integers(gathered: int, quantized: int):
    shape = (17, 18, 20)
    for dtype, zeros in ((ml_dtypes.int4, False), (ml_dtypes.uint4, True)):
        own = _blocks(shape, quantized, 16)
        given = [integers(0, 8, *shape, dtype=dtype), integers(-5, 5, 2, 3), floats(*own)]
        if zeros:
            given.append(integers(0, 7, *own, dtype=dtype))
        options = {"quantize_axis": quantized, "gather_axis": gathered, "block_size": 16}
        check("GatherBlockQuantized", *given, known=[0, 2, *([3] if zeros else [])], **options)


UNSATURATED = -64, 64
"""Weights of int8 of which onnxruntime's sums of two products fit 16 bits: on machines without VNNI it cuts others."""


@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize("mask", ["none", "lengths", "ends", "raw"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_quantised_attention(past: int, mask: str, dtype: str):
    batch, length, hidden = 2, 5, 16
    whole = length + past
    masks = {
        "none": None,
        "lengths": np.array([whole, whole - 2], np.int32),
        "ends": np.array([whole, whole - 1, 0, 1], np.int32),
        "raw": integers(0, 2, batch, whole, dtype=np.int32),
    }
    low, high = (0, 256) if dtype == "uint8" else UNSATURATED
    scale: Array = rng.uniform(0.002, 0.01, 3 * hidden if past else ()).astype(np.float32)
    inputs = [
        integers(0, 256, batch, length, hidden, dtype=np.uint8),
        integers(low, high, hidden, 3 * hidden, dtype=dtype),
        floats(3 * hidden),
        np.array(0.02, np.float32),
        scale,
        masks[mask],
        np.array(120, np.uint8),
        np.full(scale.shape, 0 if dtype == "int8" else 128, dtype),
        *([floats(2, batch, 2, past, 8)] if past else []),
    ]
    outputs = (True, True) if past else (True,)
    options: Arguments = {"num_heads": 2, "unidirectional": int(mask != "raw"), "outputs": outputs}
    check("QAttention", *inputs, known=[1, 2, 3, 4, 6, 7], **options, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8])
def test_repetitions_are_forbidden(size: int):
    check("NGramRepeatBlock", integers(0, 3, 4, 6), floats(4, 9), ngram_size=size)


def test_windows_of_a_tensor():
    for shape, axis, size, step in (((3, 10), -1, 3, 1), ((5, 6, 7), 0, 2, 3), ((5, 6, 7), 1, 6, 1)):
        check("UnfoldTensor", floats(*shape), dim=axis, size=size, step=step)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize(
    ("activation", "dilation", "past"), [("none", 1, False), ("silu", 2, True), ("swish", 1, True)]
)
def test_convolution_with_a_state(last: int, length: int, activation: str, dilation: int, past: bool):
    channels, behind = 6, 3 * dilation
    data = floats(2, length, channels) if last else floats(2, channels, length)
    state = floats(2, behind, channels) if last else floats(2, channels, behind)
    inputs = [data, floats(channels, 1, 4), floats(channels), *([state] if past else [])]
    options: Arguments = {"activation": activation, "channels_last": last, "dilation": dilation}
    check("CausalConvWithState", *inputs, outputs=(True, True), **options)


def test_window_of_states():
    """The states after each of the last elements, and zeros; onnxruntime has no window on this processor."""
    data, state = floats(1, 2, 2), floats(3, 1, 2, 3)
    inputs = [data, floats(2, 1, 4), None, state]
    model, free = one_node("CausalConvWithState", inputs, outputs=(True, True), domain="com.microsoft", state_window=3)
    _, found = cast(list[Array], evaluate_module(from_onnx(model), list(free.values())))
    whole = np.concatenate([state[2], data], axis=2)
    np.testing.assert_array_equal(found, [np.zeros((1, 2, 3)), whole[..., 1:4], whole[..., 2:5]])


MIXTURES: list[Arguments] = [
    {"activation_type": "relu", "k": 1},
    {"activation_type": "gelu", "k": 2},
    {"activation_type": "silu", "k": 2, "normalize_routing_weights": 1},
    {"activation_type": "identity", "k": 4},
    {"activation_type": "relu", "k": 2, "normalize_routing_weights": -1},
]


def _experts(units: int) -> list[Array]:
    return [floats(4, units, 8), floats(4, units), floats(4, 8, 12), floats(4, 8)]


@pytest.mark.parametrize("attributes", MIXTURES)
def test_mixtures_of_experts(attributes: Arguments):
    check("MoE", floats(2, 3, 8), floats(6, 4), *_experts(12), known=[2, 3, 4, 5], **attributes, rtol=1e-4, atol=1e-4)


def test_experts_with_gates():
    """One layer with its outputs in turn is onnxruntime's; halves of one, and two layers, are the same numbers."""
    data, router, (both, biases, last, end) = floats(5, 8), floats(5, 4), _experts(24)
    gates: Arguments = {"activation_type": "swiglu", "k": 2, "swiglu_limit": 1.0, "activation_alpha": 1.7}
    gates |= {"activation_beta": 1.0, "rtol": 1e-4, "atol": 1e-4}
    (wanted,) = check("MoE", data, router, both, biases, last, end, known=[2, 3, 4, 5], swiglu_fusion=1, **gates)
    apart = [np.concatenate([weight[:, ::2], weight[:, 1::2]], 1) for weight in (both, biases)]
    layers = [both[:, ::2], biases[:, ::2], last, end, both[:, 1::2], biases[:, 1::2]]
    del gates["rtol"], gates["atol"]
    for fusion, weights in ((2, [*apart, last, end]), (0, layers)):
        model, free = one_node(
            "MoE", [data, router, *weights], domain="com.microsoft", known=range(2, 2 + len(weights)),
            swiglu_fusion=fusion, **gates,
        )  # fmt: skip
        (found,) = cast(list[Array], evaluate_module(from_onnx(model), list(free.values())))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_normalisation_that_the_standard_has_not_yet(op: str):
    check_node(op, floats(3, 8), floats(8), opset=11, axis=-1, epsilon=1e-3)


def test_quantised_convolution_with_channels_last():
    kernel = integers(*UNSATURATED, 12, 4, 3, 3, dtype=np.int8)
    scale, zero = np.array(0.02, np.float32), np.array(120, np.uint8)
    weights = [kernel, np.array(0.01, np.float32), np.array(0, np.int8), np.array(0.4, np.float32), zero]
    image = integers(0, 256, 1, 7, 8, 4, dtype=np.uint8)
    check("QLinearConv", image, scale, zero, *weights, known=range(1, 8), channels_last=1, pads=[1] * 4)


def test_layouts_of_a_machine_are_refused_once():
    nodes = [helper.make_node(op, ["x"], ["y"], op, domain="com.microsoft.nchwc") for op in ("ReorderInput", "Conv")]
    nodes[1].input[0], nodes[1].output[0] = "y", "z"
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 16, 4, 4])
    graph = helper.make_graph(nodes, "blocked", [value], [helper.make_empty_tensor_value_info("z")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft.nchwc", 1)]
    with pytest.raises(FrontendError, match=r"nchwc\.Conv .* have it write the model at ORT_ENABLE_EXTENDED"):
        from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def _open(op: str, shapes: Sequence[Sequence[str | int]], inputs: Sequence[Array], **attributes: Any) -> Any:
    """An executable for all sizes of the first inputs, which have names in `shapes`; the others are constants."""
    names = [f"x{at}" for at in range(len(inputs))]
    free = zip(names, shapes, inputs, strict=False)
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], "layer", domain="com.microsoft", **attributes)],
        "open",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), s) for n, s, a in free],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, n) for n, a in list(zip(names, inputs, strict=True))[len(shapes) :]],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return whence.compile(model, threads=1), runtime.InferenceSession(model.SerializeToString())


def test_sizes_that_a_call_decides():
    one, other = _open("Inverse", [["b", "n", "n"]], [floats(1, 2, 2)])
    for b, n in ((1, 3), (2, 7), (3, 1)):
        x = floats(b, n, n) + 3 * np.eye(n, dtype=np.float32)
        np.testing.assert_allclose(one(x), other.run(None, {"x0": x})[0], rtol=1e-4, atol=1e-5)
    assert "for every b, n" in one.report()
    one, other = _open("UnfoldTensor", [["b", "n"]], [floats(1, 4)], dim=1, size=3, step=2)
    for n in (3, 4, 9):
        x = floats(2, n)
        np.testing.assert_array_equal(one(x), other.run(None, {"x0": x})[0])
    assert "for every b, n" in one.report()
