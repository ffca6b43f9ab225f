"""Kernels on tensors of int8, of the sizes that networks use, against LiteRT (XNNPACK) and onnxruntime on one thread.

    PYTHONPATH=src:tests/support python benchmarks/int8_kernels.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): the median microseconds of a
call of Whence and of the peer, and theirs / ours, so that more than 1 is faster than the peer. Calls alternate in one
process; the time is that of the thread. `tflite` is a TFLite operator on int8 data and weights, `onnx` an operator of
uint8 data and int8 weights, or one between DequantizeLinear and QuantizeLinear.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import onnx
from ai_edge_litert.interpreter import Interpreter
from onnx import TensorProto, helper, numpy_helper
from quantised import seconds
from tflite_builder import Array, Net, Quant

import whence

runtime: Any = import_module("onnxruntime")

Model = tuple[bytes | onnx.ModelProto, tuple[Array, ...]]
IN, OUT = Quant(0.02, 3), Quant(0.05, -5)
Fields = dict[str, Any]
_RNG = np.random.default_rng(0)


class Case(NamedTuple):
    name: str
    model: Callable[[], Model]


def _tflite(op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], options: str = "", **fields: Any) -> Model:
    """An operator on int8 tensors; `out_quant` is the scale of its result where that is prescribed."""
    net = Net()
    dtypes = fields.pop("dtypes", ("int8", "int8"))
    quants = [None if dtypes[0] == "float32" else IN, fields.pop("out_quant", OUT)]
    inputs = [net.input(f"x{at}", shape, dtypes[0], quants[0]) for at, shape in enumerate(shapes)]
    result = net.tensor("y", out, dtypes[1], None if dtypes[1] == "float32" else quants[1])
    extra = [net.const(f"c{at}", np.asarray(value)) for at, value in enumerate(fields.pop("constants", ()))]
    net.op(op, [*inputs, *extra], [result], options, fields.pop("version", 2), **fields)
    return net.build([result]), tuple(_data(shape, dtypes[0]) for shape in shapes)


def _data(shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "float32":
        return _RNG.standard_normal(shape).astype(np.float32)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return _RNG.integers(low, high + 1, shape).astype(dtype)


def _product(size: int, depth: int, outputs: int, kernel: int, stride: int, kind: str) -> Model:
    """A convolution (over an image), a depthwise one, or a fully connected layer (of `size` rows)."""
    net, depthwise, dense = Net(), kind == "depthwise", kind == "dense"
    shape = (size, depth) if dense else (1, size, size, depth)
    after = -(-size // stride)
    x = net.input("x", shape, "int8", IN)
    weight = (1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, depth)
    taps = kernel * kernel * (1 if depthwise else depth)
    axis = 3 if depthwise else 0
    scales = [0.02] if dense else (_RNG.uniform(0.5, 1, outputs) * 0.02).tolist()
    w = net.const("w", _data((outputs, depth) if dense else weight, "int8"), Quant(scales, [0] * len(scales), axis))
    b = net.const(
        "b", _RNG.integers(-500, 500, outputs).astype(np.int32), Quant([0.02 * s for s in scales], [0] * len(scales))
    )
    y = net.tensor("y", (size, outputs) if dense else (1, after, after, outputs), "int8", Quant(taps**0.5 * 0.1, -5))
    if dense:
        net.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", 4)
    else:
        options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        fields: Fields = {"depthMultiplier": 1} if depthwise else {}
        op = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        net.op(op, [x, w, b], [y], options, 3, strideH=stride, strideW=stride, **fields)
    return net.build([y]), (_data(shape, "int8"),)


def _pool(op: str, size: int, depth: int, kernel: int, stride: int) -> Model:
    after = (size - kernel) // stride + 1
    window: Fields = {"padding": 1, "strideH": stride, "strideW": stride, "filterHeight": kernel, "filterWidth": kernel}
    return _tflite(op, [(1, size, size, depth)], (1, after, after, depth), "Pool2DOptions", out_quant=IN, **window)


def tflite_cases() -> Iterator[Case]:
    for size, depth, outputs, kernel, stride in (
        *((224, 3, 32, 3, 2), (112, 32, 64, 1, 1), (56, 128, 128, 1, 1), (28, 256, 256, 1, 1), (14, 512, 512, 1, 1)),
        *((7, 1024, 1024, 1, 1), (14, 96, 576, 1, 1), (14, 576, 96, 1, 1), (28, 30, 45, 1, 1)),
        *((56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1)),
    ):
        name = f"tflite conv {kernel}x{kernel}/{stride} {size}x{size}x{depth} -> {outputs}"
        yield Case(name, partial(_product, size, depth, outputs, kernel, stride, "conv"))
    for size, depth, kernel, stride in (
        *((112, 32, 3, 1), (112, 64, 3, 2), (56, 128, 3, 1), (14, 512, 3, 1), (7, 1024, 3, 1), (28, 120, 5, 1)),
        (14, 100, 3, 1),
    ):
        name = f"tflite depthwise {kernel}x{kernel}/{stride} {size}x{size}x{depth}"
        yield Case(name, partial(_product, size, depth, depth, kernel, stride, "depthwise"))
    for rows, depth, outputs in ((1, 1024, 1000), (1, 256, 64), (32, 256, 256), (128, 768, 768)):
        yield Case(f"tflite dense {rows}x{depth}x{outputs}", partial(_product, rows, depth, outputs, 1, 1, "dense"))
    image = (1, 28, 28, 192)
    one = (1, 1, 1, 192)
    yield Case("tflite add", partial(_tflite, "ADD", [image, image], image, "AddOptions"))
    yield Case("tflite sub", partial(_tflite, "SUB", [image, image], image, "SubOptions"))
    yield Case("tflite mul", partial(_tflite, "MUL", [image, image], image, "MulOptions"))
    yield Case("tflite mul channel", partial(_tflite, "MUL", [image, one], image, "MulOptions"))
    both = (1, 28, 28, 384)
    yield Case(
        "tflite concatenate",
        partial(_tflite, "CONCATENATION", [image, image], both, "ConcatenationOptions", axis=3, out_quant=IN),
    )
    yield Case("tflite average pool 3x3/1", partial(_pool, "AVERAGE_POOL_2D", 28, 192, 3, 1))
    yield Case("tflite average pool 7x7", partial(_pool, "AVERAGE_POOL_2D", 7, 1024, 7, 1))
    yield Case("tflite max pool 3x3/2", partial(_pool, "MAX_POOL_2D", 57, 64, 3, 2))
    axes = np.array([1, 2], np.int32)
    yield Case(
        "tflite mean",
        partial(_tflite, "MEAN", [(1, 7, 7, 1280)], (1, 1280), "ReducerOptions", constants=[axes], keepDims=False),
    )
    yield Case(
        "tflite softmax 1x1000",
        partial(_tflite, "SOFTMAX", [(1, 1000)], (1, 1000), "SoftmaxOptions", beta=1.0, out_quant=Quant(1 / 256, -128)),
    )
    yield Case(
        "tflite softmax 384x384",
        partial(
            _tflite, "SOFTMAX", [(384, 384)], (384, 384), "SoftmaxOptions", beta=1.0, out_quant=Quant(1 / 256, -128)
        ),
    )
    yield Case("tflite logistic", partial(_tflite, "LOGISTIC", [image], image, out_quant=Quant(1 / 256, -128)))
    yield Case("tflite tanh", partial(_tflite, "TANH", [image], image, out_quant=Quant(1 / 128, 0)))
    yield Case("tflite hard swish", partial(_tflite, "HARD_SWISH", [image], image, "HardSwishOptions", version=1))
    yield Case("tflite leaky relu", partial(_tflite, "LEAKY_RELU", [image], image, "LeakyReluOptions", alpha=0.1))
    yield Case("tflite relu", partial(_tflite, "RELU", [image], image))
    yield Case("tflite requantize", partial(_tflite, "QUANTIZE", [image], image, "QuantizeOptions"))
    yield Case("tflite quantize", partial(_tflite, "QUANTIZE", [image], image, dtypes=("float32", "int8")))
    yield Case("tflite dequantize", partial(_tflite, "DEQUANTIZE", [image], image, dtypes=("int8", "float32")))
    yield Case(
        "tflite resize bilinear",
        partial(
            _tflite,
            "RESIZE_BILINEAR",
            [(1, 28, 28, 64)],
            (1, 56, 56, 64),
            "ResizeBilinearOptions",
            constants=[np.array([56, 56], np.int32)],
            out_quant=IN,
            halfPixelCenters=True,
        ),
    )
    yield Case(
        "tflite pad",
        partial(
            _tflite,
            "PAD",
            [(1, 56, 56, 64)],
            (1, 58, 58, 64),
            constants=[np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)],
            out_quant=IN,
        ),
    )


_ONNX_PARAMETERS: dict[str, Any] = {
    "xs": np.float32(0.02),
    "xz": np.uint8(120),
    "ys": np.float32(0.05),
    "yz": np.uint8(131),
}


def _onnx(nodes: list[onnx.NodeProto], shapes: list[tuple[int, ...]], out: int, **constants: Any) -> Model:
    """A graph of uint8 inputs x0, x1, .., one result y, of a type that `out` names."""
    inputs = [helper.make_tensor_value_info(f"x{at}", TensorProto.UINT8, shape) for at, shape in enumerate(shapes)]
    every = _ONNX_PARAMETERS | constants
    graph = helper.make_graph(
        nodes,
        "kernel",
        inputs,
        [helper.make_tensor_value_info("y", out, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in every.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), tuple(_data(s, "uint8") for s in shapes)


def _contrib(op: str, inputs: list[str], shapes: list[tuple[int, ...]], **fields: Any) -> Model:
    return _onnx([helper.make_node(op, inputs, ["y"], domain="com.microsoft", **fields)], shapes, TensorProto.UINT8)


def _integer_product(m: int, k: int, n: int) -> Model:
    node = helper.make_node("MatMulInteger", ["x0", "w", "xz"], ["y"])
    return _onnx([node], [(m, k)], TensorProto.INT32, w=_data((k, n), "int8"))


def _linear_product(m: int, k: int, n: int) -> Model:
    node = helper.make_node("QLinearMatMul", ["x0", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
    constants = {"w": _data((k, n), "int8"), "ws": np.float32(0.01), "wz": np.int8(0)}
    return _onnx([node], [(m, k)], TensorProto.UINT8, **constants)


def _between(op: str, shapes: list[tuple[int, ...]], **fields: Any) -> Model:
    """An operator of floats between DequantizeLinear and QuantizeLinear."""
    nodes = [helper.make_node("DequantizeLinear", [f"x{i}", "xs", "xz"], [f"f{i}"]) for i in range(len(shapes))]
    nodes.append(helper.make_node(op, [f"f{i}" for i in range(len(shapes))], ["r"], **fields))
    nodes.append(helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"]))
    return _onnx(nodes, shapes, TensorProto.UINT8)


def onnx_cases() -> Iterator[Case]:
    image = (1, 192, 28, 28)
    shared, new = ["x0", "xs", "xz"], ["ys", "yz"]
    for m, k, n in ((1, 1024, 1000), (1, 768, 3072), (128, 768, 768)):
        yield Case(f"onnx MatMulInteger {m}x{k}x{n}", partial(_integer_product, m, k, n))
        yield Case(f"onnx QLinearMatMul {m}x{k}x{n}", partial(_linear_product, m, k, n))
    for op in ("QLinearAdd", "QLinearMul"):
        yield Case(f"onnx {op}", partial(_contrib, op, [*shared, "x1", "xs", "xz", *new], [image, image]))
    for op, fields in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1})):
        yield Case(f"onnx {op}", partial(_contrib, op, [*shared, *new], [image], **fields))
    yield Case(
        "onnx QLinearConcat",
        partial(_contrib, "QLinearConcat", [*new, *shared, "x1", "xs", "xz"], [image, image], axis=1),
    )
    yield Case(
        "onnx QLinearAveragePool",
        partial(_contrib, "QLinearAveragePool", [*shared, *new], [image], kernel_shape=[3, 3], strides=[1, 1]),
    )
    yield Case(
        "onnx QLinearGlobalAveragePool",
        partial(_contrib, "QLinearGlobalAveragePool", [*shared, *new], [(1, 1280, 7, 7)], channels_last=0),
    )
    yield Case(
        "onnx QLinearSoftmax", partial(_contrib, "QLinearSoftmax", [*shared, *new], [(384, 384)], axis=-1, opset=13)
    )
    yield Case("onnx QDQ Add", partial(_between, "Add", [image, image]))
    yield Case("onnx QDQ Softmax", partial(_between, "Softmax", [(384, 384)], axis=-1))
    yield Case("onnx QDQ Relu", partial(_between, "Relu", [image]))
    yield Case(
        "onnx DequantizeLinear", partial(_onnx, [helper.make_node("DequantizeLinear", shared, ["y"])], [image], 1)
    )


def peer(model: bytes | onnx.ModelProto, arrays: tuple[Array, ...]) -> Callable[[], object]:
    """A call of LiteRT or onnxruntime on one thread."""
    if isinstance(model, bytes):
        interpreter: Any = Interpreter(model_content=model, num_threads=1)
        interpreter.allocate_tensors()
        entries = [detail["index"] for detail in interpreter.get_input_details()]
        last = interpreter.get_output_details()[0]["index"]

        def call() -> object:
            for entry, array in zip(entries, arrays, strict=True):
                interpreter.set_tensor(entry, array)
            interpreter.invoke()
            return interpreter.get_tensor(last)

        return call
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options)
    feed = {f"x{at}": array for at, array in enumerate(arrays)}
    return partial(session.run, None, feed)


def main(words: list[str]) -> None:
    ratios: list[float] = []
    print(f"{'':44} {'ours':>9} {'theirs':>9}   theirs/ours")
    for case in (*tflite_cases(), *onnx_cases()):
        if words and not any(word in case.name for word in words):
            continue
        model, arrays = case.model()
        ours, theirs = seconds([partial(whence.compile(model, threads=1), *arrays), peer(model, arrays)])
        ratios.append(theirs / ours)
        print(f"{case.name:44} {1e6 * ours:9.1f} {1e6 * theirs:9.1f} {ratios[-1]:13.2f}", flush=True)
    print(f"{'geometric mean':44} {'':19} {geometric_mean(ratios):13.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
