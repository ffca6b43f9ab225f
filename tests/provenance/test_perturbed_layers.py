"""Attribution is true of models of every format: other numbers in a weight change what names it, and what follows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from layer_graphs import keras_graph, onnx_graph, stablehlo_graph, tensorflow_graph, tflite_graph, torch_graph
from perturbed_layers import Array, Network, assert_attributed, complaints, other_numbers
from tensorflow_graphs import Net

from whence.compiler.formats import read_model
from whence.frontends.importing.importer import Importer
from whence.frontends.stablehlo.jax_objects import text_of
from whence.runtime.interpreting.flow import Region, Step

TESTS = Path(__file__).parents[1]
EXPORTS, TENSORFLOW, KERAS = TESTS / "exports", TESTS / "frontends/tensorflow/data", TESTS / "frontends/keras/models"


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def onnx(name: str, **inputs: Array) -> Network:
    path = EXPORTS / f"{name}.onnx"
    return Network(path, onnx_graph(path), inputs)


def tflite(name: str, inputs: dict[str, Array], **options: bool) -> Network:
    path = EXPORTS / "tflite" / f"{name}.tflite"
    return Network(path, tflite_graph(path), inputs, **options)


def torch(name: str, **inputs: Array) -> Network:
    path = EXPORTS / "pytorch" / f"{name}.pt2"
    return Network(path, torch_graph(path), inputs, apart=name == "cnn")


def keras(name: str, **inputs: Array) -> Network:
    path = KERAS / f"{name}.keras"
    return Network(path, keras_graph(path), inputs, apart=True)


def tensorflow(data: bytes, **inputs: Array) -> Network:
    return Network(data, tensorflow_graph(data), inputs, apart=True)


def jax(name: str, x: Array) -> Network:
    path = EXPORTS / "jax" / f"{name}.mlir"
    return Network(path, stablehlo_graph(path.read_text()), {"x": x}, apart=True)


def jax_in_memory(name: str) -> Network:
    """A network of flax, as JAX lowers it now."""
    lower = pytest.importorskip("jax").jit
    function, (x,) = import_module("flax_networks").PROGRAMS[name]
    text = text_of(lower(function).lower(x))
    return Network(text.encode(), stablehlo_graph(text), {"x": x}, apart=True)


def residual() -> bytes:
    """Dense layers around which their input goes."""
    net, rng = Net(), np.random.default_rng(1)
    x = net.placeholder("x", (3, 8))
    for k in range(3):
        w = net.const(f"w{k}", rng.standard_normal((8, 8)), "float32")
        y = net.op(
            "BiasAdd",
            f"bias{k}",
            net.op("MatMul", f"dense{k}", x, w),
            net.const(f"b{k}", np.arange(9.0)[1:9], "float32"),
        )
        x = net.op("AddV2", f"sum{k}", x, net.op("Tanh", f"tanh{k}", y))
    net.op("Softmax", "y", x)
    return net.build()


def branches() -> bytes:
    """Convolutions beside each other, joined, and a gate."""
    net, rng = Net(), np.random.default_rng(2)
    x = net.placeholder("x", (1, 8, 8, 4))
    parts: list[str] = []
    for k, size in enumerate((1, 3)):
        w = net.const(f"w{k}", rng.standard_normal((size, size, 4, 4)), "float32")
        conv = net.op("Conv2D", f"conv{k}", x, w, strides=[1, 1, 1, 1], padding="SAME")
        parts.append(net.op("Sigmoid" if k else "Elu", f"act{k}", conv))
    joined = net.op("ConcatV2", "join", *parts, net.const("axis", 3, "int32"))
    mean = net.op("Mean", "mean", joined, net.const("axes", [1, 2], "int32"), keep_dims=True)
    net.op("Mul", "y", joined, net.op("Sigmoid", "gate", mean))
    return net.build()


def whole(low: int, high: int, shape: tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(0).integers(low, high, shape).astype(dtype)


IMAGE, FRAMES, MFCC = "serving_default_image:0", "serving_default_frames:0", "serving_default_mfcc:0"
NETWORKS: dict[str, Callable[[], Network]] = {
    "onnx-unet.half": lambda: onnx("unet.half", x=floats(1, 3, 16, 24).astype(np.float16)),
    "tflite-autoencoder.half": lambda: tflite("autoencoder.half", {FRAMES: floats(2, 64)}, apart=True),
    "torch-cnn": lambda: torch("cnn", image=floats(2, 3, 16, 16)),
    "tensorflow-cnn": lambda: tensorflow((TENSORFLOW / "cnn.pb").read_bytes(), image=floats(1, 16, 16, 3)),
    "tensorflow-residual": lambda: tensorflow(residual(), x=floats(3, 8)),
    "tensorflow-branches": lambda: tensorflow(branches(), x=floats(1, 8, 8, 4)),
    "keras-cnn": lambda: keras("cnn", image=floats(2, 8, 8, 3)),
    "keras-merging": lambda: keras("merging", x0=floats(2, 6, 4), x1=whole(0, 6, (2, 5), "int32")),
    "jax-cnn": lambda: jax("cnn", floats(2, 12, 12, 3)),
    "jax-perceptron": lambda: jax("perceptron", floats(3, 6)),
}
LARGER: dict[str, Callable[[], Network]] = {
    "onnx-deeplab": lambda: onnx("deeplab", x=floats(1, 3, 24, 24)),
    "onnx-unet.qop": lambda: onnx("unet.qop", x0=floats(1, 3, 16, 24)),
    "tflite-ds_cnn.int8": lambda: tflite("ds_cnn.int8", {MFCC: whole(-128, 128, (1, 49, 10, 1), "int8")}),
    "tflite-resnet.float": lambda: tflite("resnet.float", {IMAGE: floats(1, 32, 32, 3)}),
    "torch-transformer": lambda: torch("transformer", ids=whole(0, 40, (2, 6), "int64")),
    "torch-recurrent": lambda: torch("recurrent", x=floats(2, 5, 4)),
    "jax-transformer": lambda: jax_in_memory("transformer"),
    "keras-masks": lambda: keras("masks", x0=whole(0, 6, (2, 6), "int32"), x1=floats(2, 6, 4)),
    "keras-attention": lambda: keras("attention", x0=floats(2, 6, 4), x1=floats(2, 5, 4)),
    "keras-conv_lstm": lambda: keras(
        "conv_lstm",
        x0=floats(2, 3, 5, 2),
        x1=floats(2, 3, 4, 5, 2),
        x2=floats(2, 2, 2, 3, 4, 2),
        x3=whole(0, 6, (2, 3), "int32"),
    ),
    "keras-convolutions": lambda: keras(
        "convolutions", x0=floats(1, 9, 4), x1=floats(1, 7, 8, 4), x2=floats(1, 4, 5, 6, 4)
    ),
}
"""Those that are tried with `--compile-all`, with each of their weights."""


@cache
def network(name: str) -> Network:
    return NETWORKS[name]()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_weight_changes_what_names_it_and_what_follows(name: str):
    weights = network(name).weights
    assert len({layer for layer, _ in network(name).original.values}) > 5
    assert_attributed(network(name), weights[len(weights) // 2])


@pytest.mark.parametrize("name", [*NETWORKS, *LARGER])
def test_each_weight_changes_what_names_it_and_what_follows(name: str, request: pytest.FixtureRequest):
    if not request.config.getoption("--compile-all"):
        pytest.skip("takes long: --compile-all")
    net = (NETWORKS | LARGER)[name]()
    for weight in net.weights:
        assert_attributed(net, weight)


@pytest.mark.parametrize("name", ["attention", "cnn", "indexed", "opened", "order", "perceptron"])
def test_layers_of_jax_are_called_after_modules_functions_and_primitives(name: str):
    path = EXPORTS / "jax" / f"{name}.mlir"
    imported = [step.layer for step in read_model(path).region.steps]
    assert list(dict.fromkeys(imported)) == list(stablehlo_graph(path.read_text()).reads)


# The harness finds what is untrue.


def test_what_another_weight_changes_is_told():
    net = network("tensorflow-residual")
    constants = read_model(net.source).region.constants
    wrong = complaints(net, "w2", net.compiled({name: other_numbers(constants[name]) for name in ("w0", "w2")}))
    assert any("w0" in text and "a weight at" in text for text in wrong), wrong
    assert any("layer 'tanh0' differs, which is not downstream" in text for text in wrong), wrong


def test_a_weight_under_another_layers_name_is_told():
    """The importer calls the constant of one layer after the layer behind it."""
    path = EXPORTS / "unet.half.onnx"
    net = Network(path, onnx_graph(path), {"x": floats(1, 3, 16, 24).astype(np.float16)})
    weight = net.weights[0]
    (reader,) = net.graph.readers(weight)
    other = next(layer for layer in net.graph.downstream({reader}) if layer != reader)
    place = Importer.place

    def misplaced(self: Importer, name: str, region: Region, step: Step | None = None) -> tuple[str, int]:
        layer, index = place(self, name, region, step)
        return (f"{other}.{name}" if name == weight else layer), index

    with patch.object(Importer, "place", misplaced):
        wrong = complaints(net, weight, net.perturbed(weight))
    assert any(text.startswith("a weight at") and other in text for text in wrong), wrong
