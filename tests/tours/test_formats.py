"""TVM's tutorials on models of other tools, told anew: each model's values against numpy or the tool's own."""

# pyright: basic

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
from against_onnxruntime import onnxruntime_outputs
from exported_programs import PROGRAMS, agree, calls
from tensorflow_graphs import Net as Graph
from tflite_builder import Net

import whence
from whence import relay
from whence.contrib import graph_executor

tvm: Any = whence
RNG = np.random.default_rng(5)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def run(mod: Any, params: Any, **inputs: Any) -> Any:
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(**inputs)
    return module.get_output(0).numpy()


def convolved(x: Any, w: Any) -> Any:
    """A convolution of images and kernels (height, width, in, out) with its image padded to its own size."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.einsum("nhwcij,ijco->nhwo", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)), w)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_onnx() -> None:
    """Super resolution in small: convolutions, then pixels out of channels; held against onnxruntime."""
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[1, 1, 12, 12] image) => (float[1, 1, 24, 24] larger) {
        [conv1] a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, w1)
        [relu1] b = Relu (a)
        [conv2] c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (b, w2)
        [shuffle] larger = DepthToSpace <blocksize = 2> (c)
    }""")
    for name, shape in (("w1", (8, 1, 3, 3)), ("w2", (4, 8, 3, 3))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(floats(*shape), name))
    image = floats(1, 1, 12, 12)
    (expected,) = onnxruntime_outputs(model, {"image": image})
    for freeze in (True, False):
        mod, params = relay.frontend.from_onnx(model, {"image": image.shape}, freeze_params=freeze)
        assert bool(params) == (not freeze)
        np.testing.assert_allclose(run(mod, params, image=image), expected, rtol=1e-4, atol=1e-5)
    mod, params = relay.frontend.from_onnx(model)
    with tvm.transform.PassContext(opt_level=1):
        executor = relay.build_module.create_executor("graph", mod, tvm.cpu(0), "llvm", params).evaluate()
    np.testing.assert_allclose(executor(tvm.nd.array(image)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_tflite() -> None:
    net = Net()
    weight, bias, kernel = floats(4, 3, 3, 2), floats(4), floats(5, 256)
    x = net.input("image", (1, 8, 8, 2))
    a, b, c = (net.tensor(name, shape) for name, shape in (("a", (1, 8, 8, 4)), ("b", (1, 5)), ("c", (1, 5))))
    net.op(
        "CONV_2D",
        [x, net.const("weight", weight), net.const("bias", bias)],
        [a],
        "Conv2DOptions",
        strideH=1,
        strideW=1,
        padding=0,
        fusedActivationFunction=1,
        dilationHFactor=1,
        dilationWFactor=1,
    )
    flat = net.tensor("flat", (1, 256))
    net.op("RESHAPE", [a, net.const("shape", np.array([1, 256], np.int32))], [flat], "ReshapeOptions")
    net.op("FULLY_CONNECTED", [flat, net.const("kernel", kernel), -1], [b], "FullyConnectedOptions")
    net.op("SOFTMAX", [b], [c], "SoftmaxOptions", beta=1.0)
    mod, params = relay.frontend.from_tflite(net.build([c]), {"image": (1, 8, 8, 2)}, {"image": "float32"})
    image = floats(1, 8, 8, 2)
    hidden = np.maximum(convolved(image, weight.transpose(1, 2, 3, 0)) + bias, 0).reshape(1, -1)
    np.testing.assert_allclose(run(mod, params, image=image), softmax(hidden @ kernel.T), rtol=1e-4, atol=1e-5)


def test_pytorch() -> None:
    """A program that torch exported, against what torch computed; its weights are parameters with torch's names."""
    inputs, expected = calls("cnn")[0]
    names = [spec.name for spec in tvm.compile(PROGRAMS / "cnn.pt2").inputs]
    shapes = {name: array.shape for name, array in zip(names, inputs, strict=True)}
    mod, params = relay.frontend.from_exported_program(str(PROGRAMS / "cnn.pt2"), shapes)
    assert any(name.endswith(".weight") for name in params)
    lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(**dict(zip(names, inputs, strict=True)))
    agree(tuple(module.get_output(at).numpy() for at in range(module.get_num_outputs())), expected)


def test_keras(tmp_path: Path) -> None:
    """A file of Keras, read without Keras."""

    def layer(kind: str, name: str, **options: Any) -> Any:
        return {"module": "keras.layers", "class_name": kind, "config": {"name": name, "dtype": "float32", **options}}

    same: Any = {"strides": [1, 1], "padding": "same", "dilation_rate": [1, 1], "use_bias": True}
    layers = [
        layer("InputLayer", "image", batch_shape=[None, 8, 8, 2]),
        layer("Conv2D", "conv", filters=4, kernel_size=[3, 3], activation="relu", **same),
        layer("GlobalAveragePooling2D", "pool", data_format="channels_last", keepdims=False),
        layer("Dense", "classes", units=5, activation="softmax", use_bias=True),
    ]
    weights = {"conv2d": (floats(3, 3, 2, 4), floats(4)), "dense": (floats(4, 5), floats(5))}
    config = {"class_name": "Sequential", "config": {"name": "net", "layers": layers}}
    stored = io.BytesIO()
    with h5py.File(stored, "w") as file:
        for name, arrays in weights.items():
            for at, array in enumerate(arrays):
                file[f"layers/{name}/vars/{at}"] = array
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.9.0"}))
        archive.writestr("model.weights.h5", stored.getvalue())
    image = floats(1, 8, 8, 2)
    hidden = np.maximum(convolved(image, weights["conv2d"][0]) + weights["conv2d"][1], 0).mean((1, 2))
    expected = softmax(hidden @ weights["dense"][0] + weights["dense"][1])
    mod, params = relay.frontend.from_keras(path, {"image": (1, 2, 8, 8)})
    np.testing.assert_allclose(
        run(mod, params, image=image.transpose(0, 3, 1, 2).copy()), expected, rtol=1e-4, atol=1e-5
    )
    mod, params = relay.frontend.from_keras(path, {"image": (1, 8, 8, 2)}, layout="NHWC")
    np.testing.assert_allclose(run(mod, params, image=image), expected, rtol=1e-4, atol=1e-5)


def test_tensorflow() -> None:
    net, weight, kernel = Graph(), floats(3, 3, 2, 4), floats(4, 5)
    x = net.placeholder("image", (1, 8, 8, 2))
    conv = net.op("Conv2D", "conv", x, net.const("w", weight), T="float32", strides=[1, 1, 1, 1], padding="SAME")
    pool = net.op("Mean", "pool", net.op("Relu", "act", conv, T="float32"), net.const("axes", [1, 2], "int32"))
    net.op("Softmax", "scores", net.op("MatMul", "fc", pool, net.const("k", kernel), T="float32"), T="float32")
    image = floats(1, 8, 8, 2)
    expected = softmax(np.maximum(convolved(image, weight), 0).mean((1, 2)) @ kernel)
    for layout in ("NHWC", "NCHW"):
        mod, params = relay.frontend.from_tensorflow(net.build(), layout, {"image": (1, 8, 8, 2)}, ["scores"])
        assert set(params) >= {"w", "k"}
        np.testing.assert_allclose(run(mod, params, image=image), expected, rtol=1e-4, atol=1e-5)
