# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Modules written as ONNX models run in onnxruntime, and say which layers their nodes are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from reference_runtime import onnxruntime_outputs
from xdsl.utils.exceptions import VerifyException
from zoo import SMALL

import whence
from whence import relay
from whence.contrib.target.onnx import to_onnx
from whence.support.errors import PipelineError


def layers_of(model: onnx.ModelProto) -> set[str]:
    """The layers that nodes name."""
    notes = [note for node in model.graph.node for note in node.metadata_props]
    return {layer for note in notes if note.key == "whence.layers" for layer in note.value.split(", ")}


@pytest.mark.parametrize("name", ["mobilenet_v2", "vit", "unet", "efficientnet", "vocoder", "edsr", "llama", "t5"])
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
    assert layers_of(model) <= named
    # Others may be constants.
    lasting = {node.name for node in source.graph.node if node.op_type in ("Conv", "Softmax", "ConvTranspose", "Gemm")}
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
