"""Random models of one operator on quantised numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from random_tflite_parts import broadcasting, image, pick, sizes
from tflite_builder import Array, Net, Quant, random_array

Rng = np.random.Generator
Make = Callable[[Rng], bytes]
RANGE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def quant(rng: Rng, dtype: str, low: float = 0.01, high: float = 0.1) -> Quant:
    """A scale and zero point at random; 16 bits have their zero at 0."""
    scale = float(np.float32(rng.uniform(low, high)))
    if dtype == "int16":
        return Quant(scale / 100, 0)
    least, most = RANGE[dtype]
    return Quant(scale, int(rng.integers(least, most + 1)))


def fused(rng: Rng) -> int:
    return pick(rng, 0, 0, 1, 2, 3)


class One:
    """The model of an operator under construction."""

    def __init__(self, rng: Rng):
        self.rng, self.net = rng, Net()
        self.inputs: list[int] = []

    def input(self, shape: Sequence[int], dtype: str, q: Quant | None = None) -> Quant:
        q = q or quant(self.rng, dtype)
        self.inputs.append(self.net.input(f"x{len(self.inputs)}", shape, dtype, q))
        return q

    def const(self, data: Array, q: Quant | None = None, dtype: str | None = None) -> None:
        self.inputs.append(self.net.const(f"c{len(self.inputs)}", data, q, dtype))

    def end(
        self,
        op: str,
        dtype: str,
        q: Quant | None,
        options: str = "",
        version: int = 2,
        shape: Sequence[int] = (),
        **fields: Any,
    ) -> bytes:
        y = self.net.tensor("y", shape, dtype, q)
        self.net.op(op, self.inputs, [y], options, version, **fields)
        return self.net.build([y])


def weights(one: One, shape: Sequence[int], axis: int, data: str, kind: str, channels: bool) -> Quant:
    """Weights of 8 bits; of int8 their zero is 0, and there may be a scale for each output."""
    rng = one.rng
    if kind == "uint8":
        q = quant(rng, "uint8", 0.005, 0.05)
    elif channels:
        q = Quant(rng.uniform(0.005, 0.05, shape[axis]).astype(np.float32).tolist(), [0] * shape[axis], axis)
    else:
        q = Quant(float(np.float32(rng.uniform(0.005, 0.05))), 0)
    values = random_array(rng, shape, kind)
    one.const(np.maximum(values, -127) if kind == "int8" else values, q)
    return q


def bias(one: One, count: int, x: Quant, w: Quant, wide: bool) -> None:
    scales = np.atleast_1d(np.asarray(x.scale, np.float32) * np.asarray(w.scale, np.float32))
    data = one.rng.integers(-1000, 1000, count).astype(np.int64 if wide else np.int32)
    one.const(data, Quant(scales.tolist(), [0] * len(scales), 0))


def kinds(rng: Rng) -> tuple[str, str, bool]:
    """Dtype of data, of weights, and whether there is a scale for each output."""
    data = pick(rng, "int8", "int8", "uint8", "int16")
    return data, "uint8" if data == "uint8" else "int8", data != "uint8" and bool(rng.integers(2))


def result(rng: Rng, dtype: str) -> Quant:
    return quant(rng, dtype, 0.02, 0.3)


def conv(rng: Rng) -> bytes:
    data, kind, channels = kinds(rng)
    depth, outputs, kernel = int(rng.integers(1, 9)), int(rng.integers(1, 9)), sizes(rng, 2, 3)
    one = One(rng)
    shape = image(rng, depth)
    shape[1:3] = [max(n, 5) for n in shape[1:3]]
    x = one.input(shape, data)
    w = weights(one, (outputs, *kernel, depth), 0, data, kind, channels)
    bias(one, outputs, x, w, data == "int16")
    strides = sizes(rng, 2, 2)
    fields: dict[str, Any] = {
        "strideH": strides[0],
        "strideW": strides[1],
        "padding": pick(rng, 0, 1),
        "fusedActivationFunction": fused(rng),
    }
    return one.end("CONV_2D", data, result(rng, data), "Conv2DOptions", 3, **fields)


def depthwise(rng: Rng) -> bytes:
    data, kind, channels = kinds(rng)
    depth, times, kernel = int(rng.integers(1, 9)), pick(rng, 1, 1, 2), sizes(rng, 2, 3)
    one = One(rng)
    shape = image(rng, depth)
    shape[1:3] = [max(n, 5) for n in shape[1:3]]
    x = one.input(shape, data)
    w = weights(one, (1, *kernel, depth * times), 3, data, kind, channels)
    bias(one, depth * times, x, w, data == "int16")
    stride = pick(rng, 1, 2)
    fields: dict[str, Any] = {
        "strideH": stride,
        "strideW": stride,
        "padding": pick(rng, 0, 1),
        "depthMultiplier": times,
    }
    return one.end(
        "DEPTHWISE_CONV_2D",
        data,
        result(rng, data),
        "DepthwiseConv2DOptions",
        3,
        fusedActivationFunction=fused(rng),
        **fields,
    )


def fully_connected(rng: Rng) -> bytes:
    data, kind, channels = kinds(rng)
    k, n = int(rng.integers(1, 20)), int(rng.integers(1, 12))
    one = One(rng)
    x = one.input([*sizes(rng, int(rng.integers(1, 3)), 3), k], data)
    w = weights(one, (n, k), 0, data, kind, channels)
    bias(one, n, x, w, data == "int16")
    return one.end(
        "FULLY_CONNECTED", data, result(rng, data), "FullyConnectedOptions", 4, fusedActivationFunction=fused(rng)
    )


def transpose_conv(rng: Rng) -> bytes:
    data, kind, channels = kinds(rng)
    depth, outputs, kernel, strides = (
        int(rng.integers(1, 5)),
        int(rng.integers(1, 5)),
        sizes(rng, 2, 4),
        sizes(rng, 2, 2),
    )
    one = One(rng)
    shape = [1, *sizes(rng, 2, 5), depth]
    out = [n * s for n, s in zip(shape[1:3], strides, strict=True)]
    one.const(np.array([1, *out, outputs], np.int32))
    x = quant(rng, data)
    w = weights(one, (outputs, *kernel, depth), 0, data, kind, channels)
    one.input(shape, data, x)
    bias(one, outputs, x, w, data == "int16")
    fields: dict[str, Any] = {"strideH": strides[0], "strideW": strides[1], "padding": 0}
    return one.end("TRANSPOSE_CONV", data, result(rng, data), "TransposeConvOptions", 3, **fields)


def batch_matmul(rng: Rng) -> bytes:
    data = pick(rng, "int8", "int8", "int16")
    m, k, n = sizes(rng, 3, 6)
    batch = sizes(rng, int(rng.integers(0, 3)), 3)
    x, y = bool(rng.integers(2)), bool(rng.integers(2))
    one = One(rng)
    one.input([*batch, *((k, m) if x else (m, k))], data)
    one.input([*batch, *((n, k) if y else (k, n))], data)
    return one.end("BATCH_MATMUL", data, result(rng, data), "BatchMatMulOptions", adjX=x, adjY=y)


def arithmetic(op: str, options: str, dtypes: Sequence[str] = ("int8", "uint8", "int16")) -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, *dtypes)
        a, b = broadcasting(rng)
        one = One(rng)
        one.input(a, dtype)
        q = quant(rng, dtype)
        if rng.integers(2):
            one.const(random_array(rng, b, dtype), q)
        else:
            one.input(b, dtype, q)
        fields: dict[str, Any] = {} if op == "SQUARED_DIFFERENCE" else {"fusedActivationFunction": fused(rng)}
        if op in ("ADD", "SUB"):
            fields["potScaleInt16"] = False
        return one.end(op, dtype, result(rng, dtype), options, **fields)

    return make


def compared(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, "int8", "uint8")
        a, b = broadcasting(rng)
        one = One(rng)
        q = one.input(a, dtype)
        one.input(b, dtype, pick(rng, q, quant(rng, dtype)))
        return one.end(op, "bool", None, options)

    return make


def alike(op: str, options: str) -> Make:
    """Operands and result on one scale."""

    def make(rng: Rng) -> bytes:
        dtype = pick(rng, "int8", "uint8")
        a, b = broadcasting(rng)
        one = One(rng)
        q = one.input(a, dtype)
        one.input(b, dtype, q)
        return one.end(op, dtype, q, options)

    return make


def unary(
    op: str, options: str = "", q: Quant | None = None, dtypes: Sequence[str] = ("int8", "uint8"), **fields: Any
) -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, *dtypes)
        one = One(rng)
        one.input(sizes(rng, int(rng.integers(1, 5)), 8), dtype)
        given = q
        if q is not None and dtype == "uint8":
            given = Quant(q.scale, int(np.asarray(q.zero_point)) + 128)
        return one.end(op, dtype, given or result(rng, dtype), options, **fields)

    return make


def pool(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        dtype, kernel, strides = pick(rng, "int8", "uint8", "int16"), sizes(rng, 2, 3), sizes(rng, 2, 3)
        one = One(rng)
        q = one.input(image(rng, 3), dtype)
        fields: dict[str, Any] = {
            "filterHeight": kernel[0],
            "filterWidth": kernel[1],
            "strideH": strides[0],
            "strideW": strides[1],
        }
        return one.end(
            op, dtype, q, "Pool2DOptions", 3, padding=pick(rng, 0, 1), fusedActivationFunction=fused(rng), **fields
        )

    return make


def reduction(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, "int8", "uint8", "int16")
        one = One(rng)
        shape = sizes(rng, int(rng.integers(1, 5)))
        q = one.input(shape, dtype)
        axes = rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))].astype(np.int32)
        one.const(axes)
        same = op.startswith("REDUCE") or rng.integers(2)
        return one.end(op, dtype, q if same else result(rng, dtype), "ReducerOptions", keepDims=bool(rng.integers(2)))

    return make


def product(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "int16")
    one, shape = One(rng), sizes(rng, int(rng.integers(1, 4)), 4)
    one.input(shape, dtype)
    one.const(rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))].astype(np.int32))
    return one.end("REDUCE_PROD", dtype, result(rng, dtype), "ReducerOptions", keepDims=bool(rng.integers(2)))


def softmax(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8")
    one = One(rng)
    one.input(sizes(rng, int(rng.integers(1, 4)), 12), dtype)
    q = Quant(1 / 256, -128 if dtype == "int8" else 0)
    return one.end("SOFTMAX", dtype, q, "SoftmaxOptions", beta=pick(rng, 1.0, 0.5))


def quantize(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8", "int16")
    net = Net()
    shape = sizes(rng, 3)
    if rng.integers(2):
        x = net.input("x", shape)
    else:
        old = pick(rng, "int8", "uint8") if dtype != "int16" else "int16"
        x = net.input("x", shape, old, quant(rng, old))
    y = net.tensor("y", shape, dtype, quant(rng, dtype))
    net.op("QUANTIZE", [x], [y], "QuantizeOptions", 2)
    return net.build([y])


def dequantize(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8", "int16")
    net = Net()
    shape = sizes(rng, 3)
    x = net.input("x", shape, dtype, quant(rng, dtype))
    y = net.tensor("y", shape)
    net.op("DEQUANTIZE", [x], [y], "DequantizeOptions", 3)
    return net.build([y])


def concatenation(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8", "uint8")
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(-len(shape), len(shape)))
    one = One(rng)
    q = result(rng, dtype)
    for _ in range(int(rng.integers(1, 4))):
        own = list(shape)
        own[axis] = int(rng.integers(1, 4))
        one.input(own, dtype, q if dtype == "int8" else None)
    return one.end("CONCATENATION", dtype, q, "ConcatenationOptions", axis=axis)


def prelu(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8")
    one = One(rng)
    one.input(image(rng, 3), dtype)
    one.const(random_array(rng, [1, 1, 3], dtype), quant(rng, dtype))
    return one.end("PRELU", dtype, result(rng, dtype), version=1)


def moved(op: str) -> Make:
    """What only moves numbers."""

    def make(rng: Rng) -> bytes:
        dtype = pick(rng, "int8", "uint8")
        one = One(rng)
        shape = sizes(rng, 3)
        q = one.input(shape, dtype)
        if op == "PAD":
            one.const(rng.integers(0, 3, (3, 2)).astype(np.int32))
            return one.end(op, dtype, q, "PadOptions")
        if op == "TRANSPOSE":
            one.const(rng.permutation(3).astype(np.int32))
            return one.end(op, dtype, q, "TransposeOptions")
        one.const(np.array([-1], np.int32))
        return one.end(op, dtype, q, "ReshapeOptions", 1)

    return make


def hybrid(op: str) -> Make:
    """Floats with weights of 8 bits."""

    def make(rng: Rng) -> bytes:
        one = One(rng)
        channels, kernel = bool(rng.integers(2)), sizes(rng, 2, 3)
        depth, outputs = int(rng.integers(1, 9)), int(rng.integers(2, 9))
        shape = image(rng, depth) if op != "FULLY_CONNECTED" else [int(rng.integers(1, 4)), depth]
        one.inputs.append(one.net.input("x0", shape))
        if op == "FULLY_CONNECTED":
            weights(one, (outputs, depth), 0, "float32", "int8", False)
            one.const(rng.standard_normal(outputs).astype(np.float32))
            asymmetric = bool(rng.integers(2))
            return one.end(op, "float32", None, "FullyConnectedOptions", 9, asymmetricQuantizeInputs=asymmetric)
        fields: dict[str, Any] = {"strideH": 1, "strideW": 1, "padding": 0, "fusedActivationFunction": pick(rng, 0, 1)}
        if op == "CONV_2D":
            weights(one, (outputs, *kernel, depth), 0, "float32", "int8", channels)
            one.const(rng.standard_normal(outputs).astype(np.float32))
            return one.end(op, "float32", None, "Conv2DOptions", 5, **fields)
        weights(one, (1, *kernel, depth), 3, "float32", "int8", True)
        one.const(rng.standard_normal(depth).astype(np.float32))
        return one.end(op, "float32", None, "DepthwiseConv2DOptions", 6, depthMultiplier=1, **fields)

    return make


def resize(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8")
    one = One(rng)
    q = one.input(image(rng, 2), dtype)
    one.const(np.array(sizes(rng, 2, 12), np.int32))
    fields = pick(rng, {}, {"alignCorners": True}, {"halfPixelCenters": True})
    return one.end("RESIZE_BILINEAR", dtype, q, "ResizeBilinearOptions", 3, **fields)


def log_softmax(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8")
    one = One(rng)
    one.input(sizes(rng, 2, 12), dtype)
    q = Quant(16 / 256, 127 if dtype == "int8" else 255)
    return one.end("LOG_SOFTMAX", dtype, q, "LogSoftmaxOptions", 2)


def softmax_of_16_bits(rng: Rng) -> bytes:
    one = One(rng)
    one.input(sizes(rng, int(rng.integers(1, 4)), 12), "int16", Quant(float(rng.uniform(1e-5, 2e-3)), 0))
    return one.end("SOFTMAX", "int16", Quant(1 / 32768, 0), "SoftmaxOptions", 3, beta=pick(rng, 1.0, 0.5))


def l2_normalization(rng: Rng) -> bytes:
    dtype = pick(rng, "int8", "uint8")
    one = One(rng)
    one.input(sizes(rng, int(rng.integers(1, 4)), 40), dtype)
    return one.end("L2_NORMALIZATION", dtype, Quant(1 / 128, 0 if dtype == "int8" else 128), "L2NormOptions")


def division(rng: Rng) -> bytes:
    """Divisors are far from 0, and results are in small steps: else the kernel shifts by more bits than there are."""
    a, b = broadcasting(rng)
    one = One(rng)
    one.input(a, "uint8")
    one.const(rng.integers(40, 200, b).astype(np.uint8), Quant(0.05, pick(rng, 0, 10, 220)))
    q = Quant(0.003, int(rng.integers(256)))
    return one.end("DIV", "uint8", q, "DivOptions", fusedActivationFunction=pick(rng, 0, 1, 3))


def root(op: str, dtypes: Sequence[str]) -> Make:
    """Of what is above 0."""

    def make(rng: Rng) -> bytes:
        dtype = pick(rng, *dtypes)
        net, shape = Net(), sizes(rng, 3, 8)
        low = 0 if dtype == "int16" else -100
        x = net.input("x", shape, dtype, Quant(quant(rng, dtype).scale, low))
        least = net.const("least", np.asarray(low + 1, dtype), Quant(quant(rng, dtype).scale, low))
        net.tensors[least].quantization = net.tensors[x].quantization
        positive = net.tensor("positive", shape, dtype)
        net.tensors[positive].quantization = net.tensors[x].quantization
        net.op("MAXIMUM", [x, least], [positive], "MaximumMinimumOptions", 3)
        y = net.tensor("y", shape, dtype, result(rng, dtype))
        net.op(op, [positive], [y], version=2)
        return net.build([y])

    return make


HYBRID: dict[str, Make] = {name: hybrid(name) for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")}
QUANTIZED: dict[str, Make] = {
    "ABS": unary("ABS", "AbsOptions", dtypes=("int8", "int16")),
    "ADD": arithmetic("ADD", "AddOptions"),
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "CONCATENATION": concatenation,
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEQUANTIZE": dequantize,
    "ELU": unary("ELU", dtypes=("int8",), version=1),
    "EQUAL": compared("EQUAL", "EqualOptions"),
    "DIV": division,
    "EXP": unary("EXP", "ExpOptions", dtypes=("int8", "int16")),
    "FULLY_CONNECTED": fully_connected,
    "GELU": unary("GELU", "GeluOptions", dtypes=("int8", "uint8", "int16")),
    "GREATER": compared("GREATER", "GreaterOptions"),
    "GREATER_EQUAL": compared("GREATER_EQUAL", "GreaterEqualOptions"),
    "HARD_SWISH": unary("HARD_SWISH", "HardSwishOptions", version=1),
    "L2_NORMALIZATION": l2_normalization,
    "LEAKY_RELU": unary("LEAKY_RELU", "LeakyReluOptions", dtypes=("int8", "uint8", "int16"), alpha=0.2),
    "LESS": compared("LESS", "LessOptions"),
    "LESS_EQUAL": compared("LESS_EQUAL", "LessEqualOptions"),
    "LOG_SOFTMAX": log_softmax,
    "LOG": unary("LOG", dtypes=("int8", "int16")),
    "LOGISTIC": unary("LOGISTIC", q=Quant(1 / 256, -128)),
    "LOGISTIC 16 bits": unary("LOGISTIC", q=Quant(1 / 32768, 0), dtypes=("int16",)),
    "MAXIMUM": alike("MAXIMUM", "MaximumMinimumOptions"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": reduction("MEAN"),
    "MINIMUM": alike("MINIMUM", "MaximumMinimumOptions"),
    "MUL": arithmetic("MUL", "MulOptions"),
    "NOT_EQUAL": compared("NOT_EQUAL", "NotEqualOptions"),
    "PAD": moved("PAD"),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "REDUCE_PROD": product,
    "RELU": unary("RELU", dtypes=("int8", "uint8", "int16")),
    "RELU6": unary("RELU6", dtypes=("int8", "uint8", "int16")),
    "RELU_N1_TO_1": unary("RELU_N1_TO_1", version=1),
    "RESHAPE": moved("RESHAPE"),
    "RESIZE_BILINEAR": resize,
    "SOFTMAX": softmax,
    "SQUARED_DIFFERENCE": arithmetic("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", ("int8",)),
    "SUB": arithmetic("SUB", "SubOptions"),
    "SUM": reduction("SUM"),
    "RSQRT": root("RSQRT", ("int8", "int16")),
    "SOFTMAX 16 bits": softmax_of_16_bits,
    "SQRT": root("SQRT", ("int8", "int16")),
    "TANH": unary("TANH", q=Quant(1 / 128, 0)),
    "TANH 16 bits": unary("TANH", q=Quant(1 / 32768, 0), dtypes=("int16",)),
    "TRANSPOSE": moved("TRANSPOSE"),
    "TRANSPOSE_CONV": transpose_conv,
}
