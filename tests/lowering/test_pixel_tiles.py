"""Convolutions by single pixels, whose tiles go on from one row to the next, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.lowering.kernel.record import Kernel


class Layer(NamedTuple):
    image: tuple[int, ...]
    channels: int
    made: int
    attributes: dict[str, Any]
    tile: int
    """Pixels of a tile on a machine of 16 registers of 8 numbers."""
    flat: bool
    """Whether tiles go on from row to row."""


LAYERS = {
    "even": Layer((6, 10), 48, 32, {}, 6, True),
    "odd, many channels": Layer((7, 7), 16, 256, {}, 5, True),
    "odd, few channels": Layer((7, 9), 16, 32, {}, 5, False),
    "groups": Layer((2, 14), 64, 64, {"group": 2}, 4, True),
    "steps": Layer((8, 12), 16, 16, {"strides": [2, 2]}, 6, False),
    "space": Layer((3, 2, 4), 16, 16, {}, 6, True),
}


def model() -> ModelProto:
    """For each layer relu(conv(x)) + x' of a batch of two, x' of the result's shape."""
    draw = np.random.default_rng(0)
    nodes: list[NodeProto] = []
    inputs: list[ValueInfoProto] = []
    outputs: list[ValueInfoProto] = []
    weights: list[TensorProto] = []
    for name, layer in LAYERS.items():
        ones = [1] * len(layer.image)
        group = layer.attributes.get("group", 1)
        filters = draw.standard_normal((layer.made, layer.channels // group, *ones)).astype(np.float32)
        bias = draw.standard_normal(layer.made).astype(np.float32)
        weights += [numpy_helper.from_array(filters, f"{name} w"), numpy_helper.from_array(bias, f"{name} b")]
        conv = [f"{name} x", f"{name} w", f"{name} b"]
        nodes += [
            helper.make_node("Conv", conv, [f"{name} c"], name, kernel_shape=ones, **layer.attributes),
            helper.make_node("Relu", [f"{name} c"], [f"{name} r"], f"{name} relu"),
            helper.make_node("Add", [f"{name} r", f"{name} a"], [f"{name} y"], f"{name} add"),
        ]
        image = [-(-extent // 2) for extent in layer.image] if "strides" in layer.attributes else layer.image
        shapes = {"x": (2, layer.channels, *layer.image), "a": (2, layer.made, *image)}
        float32 = TensorProto.FLOAT
        inputs += [helper.make_tensor_value_info(f"{name} {k}", float32, shape) for k, shape in shapes.items()]
        outputs.append(helper.make_tensor_value_info(f"{name} y", float32, shapes["a"]))
    graph = helper.make_graph(nodes, "layers", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_agrees_with_onnxruntime():
    exe, draw = whence.compile(model(), threads=2), np.random.default_rng(1)
    feeds = {spec.name: draw.standard_normal(spec.shape).astype(np.float32) for spec in exe.inputs}
    for result, expected in zip(exe.run(feeds).values(), onnxruntime_outputs(model(), feeds), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_tiles_go_on_where_threads_have_enough_to_share():
    artifact = whence.compile(model(), threads=1, target="llvm -mcpu=haswell").artifact
    found: dict[str, tuple[int, bool]] = {}
    for call in artifact.calls:
        kernel = artifact.kernels[call.kernel]
        assert isinstance(kernel, Kernel)
        tiles = re.findall(r"tir\.for unrolled %(p|x)\w* in (\d+)", kernel.tir)
        if "conv" in call.name and tiles:
            (name,) = {layer for layer in call.run.layers if layer in LAYERS}
            found[name] = max(int(width) for _, width in tiles), {axis for axis, _ in tiles} == {"p"}
    assert found == {name: (layer.tile, layer.flat) for name, layer in LAYERS.items()}
