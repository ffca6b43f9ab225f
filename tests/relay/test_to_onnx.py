# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Modules written as ONNX models run in onnxruntime, and say which layers their nodes are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from reference_runtime import onnxruntime_outputs
from xdsl.utils.exceptions import VerifyException
from zoo import SMALL

import whence
from whence import relay
from whence.contrib.target.onnx import to_onnx
from whence.relay.executors import create_executor
from whence.relay.module import IRModule
from whence.support.errors import PipelineError

Array = NDArray[Any]


def layers_of(model: onnx.ModelProto) -> set[str]:
    """The layers that nodes name."""
    notes = [note for node in model.graph.node for note in node.metadata_props]
    return {layer for note in notes if note.key == "whence.layers" for layer in note.value.split(", ")}


NETWORKS = (
    *("mobilenet_v2", "vit", "unet", "efficientnet", "vocoder", "edsr", "llama", "t5"),
    *("yolov8n", "ssd", "lstm", "gru", "mamba", "resnet_qdq", "bert_dynamic"),
)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_a_model_again(name: str, tmp_path: Path):
    source, inputs = SMALL[name]()
    module = relay.transform.FoldConstant()(whence.load(source))
    model = to_onnx(module, None, name, path=tmp_path / "net.onnx")
    assert model == onnx.load(tmp_path / "net.onnx")  # pyright: ignore[reportUnknownMemberType]
    assert model.graph.name == name
    assert [value.name for value in model.graph.output] == [value.name for value in source.graph.output]
    expected = onnxruntime_outputs(source, inputs)
    found = onnxruntime_outputs(model, {value.name: inputs[value.name] for value in model.graph.input})
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    named = {node.name for node in source.graph.node}
    assert layers_of(model) - {""} <= named
    # Others may be constants.
    kinds = ("Conv", "Softmax", "ConvTranspose", "Gemm", "LSTM", "GRU")
    lasting = {node.name for node in source.graph.node if node.op_type in kinds}
    assert lasting
    assert lasting <= layers_of(model)


def test_an_optimised_module_names_all_layers_of_a_node():
    x, w, b = relay.var("v0", shape=(1, 4, 8, 8)), relay.var("w", shape=(6, 4, 3, 3)), relay.var("c0", shape=(6,))
    scale = relay.multiply(relay.nn.conv2d(x, w), relay.const(np.full((6, 1, 1), 2.0, np.float32)))
    function = relay.Function([x, w, b], relay.nn.relu(relay.nn.bias_add(scale, b)))
    rng = np.random.default_rng(4)
    params = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "c0": np.ones(6, np.float32)}
    model = to_onnx(function, params)
    # Values in between are called v0 and c0, too, unless that is somebody's name.
    assert [value.name for value in model.graph.input] == ["v0"]
    image = rng.standard_normal((1, 4, 8, 8)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image[0], (3, 3), (1, 2))
    expected = np.maximum(2 * np.einsum("chwij,ocij->ohw", windows, params["w"]) + 1, 0)[None]
    (found,) = onnxruntime_outputs(model, {"v0": image})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def same(function: relay.Function, *arrays: Array, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compare what numpy makes of a function with what onnxruntime makes of its model."""
    expected: Any = create_executor("debug", IRModule.from_expr(function).module)
    wanted = expected.evaluate()(*arrays)
    model = to_onnx(function)
    found = onnxruntime_outputs(model, dict(zip((value.name for value in model.graph.input), arrays, strict=True)))
    for one, other in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert one.dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, np.asarray(other), rtol=rtol, atol=atol)


def test_log1p_is_exact_for_all_magnitudes():
    x = relay.var("x", shape=(400,))
    signs = np.where(np.arange(200) % 2, 1, -1)
    small = (signs * np.logspace(-38, -0.01, 200)).astype(np.float32)
    large = np.logspace(0, 38, 196).astype(np.float32)
    values = np.concatenate([small, large, np.array([np.inf, -1, 0, np.nan], np.float32)])
    model = to_onnx(relay.Function([x], relay.log1p(x)))
    (found,) = onnxruntime_outputs(model, {"x": values})
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, np.log1p(values.astype(np.float64)), rtol=3e-7)


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize(
    "how",
    [
        {"method": "linear"},
        {"method": "nearest_neighbor", "rounding_method": "floor"},
        {"method": "nearest_neighbor", "rounding_method": "round_prefer_ceil"},
        {"method": "cubic", "cubic_alpha": -0.75},
    ],
)
def test_images_are_resized_alike(mode: str, how: dict[str, Any]):
    x = relay.var("x", shape=(1, 2, 7, 5))
    image = np.random.default_rng(0).standard_normal((1, 2, 7, 5)).astype(np.float32)
    for size in ((11, 9), (4, 5)):
        resized = relay.image.resize2d(x, size, layout="NCHW", coordinate_transformation_mode=mode, **how)
        same(relay.Function([x], resized), image, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ascends", [False, True])
@pytest.mark.parametrize("kind", ["both", "values", "indices"])
def test_the_greatest_are_in_the_same_order(kind: str, ascends: bool):
    x = relay.var("x", shape=(3, 20))
    numbers = np.random.default_rng(0).integers(0, 9, (3, 20)).astype(np.float32)
    best: Any = relay.topk(x, 6, 1, kind, ascends, "int32")
    same(relay.Function([x], best.astuple() if kind == "both" else best), numbers)


def test_steps_of_bytes_and_words():
    x, w = relay.var("x", shape=(3, 4)), relay.var("w", shape=(3, 4), dtype="int32")
    rng = np.random.default_rng(0)
    scales = relay.const(np.array([0.1, 0.2, 0.5], np.float32))
    zero = relay.const(np.int32(3))
    quantised = relay.qnn.op.quantize(x, scales, zero, axis=0, out_dtype="uint8")
    same(relay.Function([x], relay.qnn.op.dequantize(quantised, scales, zero, axis=0)), rng.random((3, 4), np.float32))
    words = relay.qnn.op.dequantize(w, scales, relay.const(np.int32(0)), axis=0)
    same(relay.Function([w], words), rng.integers(-99, 99, (3, 4), np.int32))
    with pytest.raises(VerifyException, match=r"ONNX has as it is, got relay\.qnn\.dequantize"):
        to_onnx(relay.Function([w], relay.qnn.op.dequantize(w, scales, zero, axis=0)))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: to_onnx(relay.Function([x], relay.tan(x))),
            r"expected an operator that ONNX has as it is, got relay\.tan",
        ),
        (lambda x: to_onnx(relay.Function([x], relay.exp(x)), opset_version=11), "expected opset_version 17, got 11"),
        (lambda x: to_onnx(relay.Function([x], relay.exp(x)), path="no/such/folder/x.onnx"), "no/such/folder"),
        (lambda x: to_onnx(relay.Function([x], relay.exp(x)), {"y": np.ones(2, np.float32)}), "y"),
    ],
)
def test_what_cannot_be_written_is_refused(call: Any, text: str):
    with pytest.raises((VerifyException, PipelineError), match=text):
        call(relay.var("x", shape=(2, 3)))
