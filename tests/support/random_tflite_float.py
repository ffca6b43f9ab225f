"""Random models of one operator on floats, integers and booleans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from random_tflite_parts import Make, Rng, broadcasting, image, normal, one, pick, sizes
from tflite_builder import Net, random_array


def unary(op: str, options: str = "", dtype: str = "float32", **fields: Any) -> Make:
    return lambda rng: one(op, [(dtype, sizes(rng, int(rng.integers(1, 5))))], [dtype], options, **fields)


def binary(op: str, options: str = "", dtypes: Sequence[str] = ("float32",), result: str = "") -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, *dtypes)
        a, b = broadcasting(rng)
        fields: dict[str, Any] = {}
        if options in ("AddOptions", "SubOptions", "MulOptions", "DivOptions"):
            fields["fusedActivationFunction"] = pick(rng, 0, 0, 1, 2, 3) if dtype == "float32" else 0
        right: Any = (dtype, b)
        if rng.integers(2):
            right = random_array(rng, b, dtype)
            if dtype[0] == "i":
                right = np.where(right == 0, 1, right).astype(dtype)
        elif op in ("FLOOR_DIV", "FLOOR_MOD", "DIV") and dtype[0] == "i":
            right = np.maximum(np.abs(random_array(rng, b, dtype)), 1).astype(dtype)
        return one(op, [(dtype, a), right], [result or dtype], options, **fields)

    return make


def positive(op: str) -> Make:
    """An operator of numbers above 0."""

    def make(rng: Rng) -> bytes:
        net = Net()
        shape = sizes(rng, 2)
        x = net.input("x", shape)
        a = net.tensor("a", shape)
        net.op("ABS", [x], [a], "AbsOptions")
        y = net.tensor("y", shape)
        net.op(op, [a], [y])
        return net.build([y])

    return make


def conv(rng: Rng) -> bytes:
    groups = pick(rng, 1, 1, 2)
    depth, outputs = int(rng.integers(1, 5)), int(rng.integers(1, 5)) * groups
    kernel = sizes(rng, 2, 3)
    w = normal(rng, (outputs, *kernel, depth))
    dilation = pick(rng, (1, 1), (1, 1), (2, 1), (1, 2)) if groups == 1 else (1, 1)
    strides = (1, 1) if dilation != (1, 1) else sizes(rng, 2, 3)
    shape = image(rng, depth * groups)
    shape[1:3] = [max(n, 6) for n in shape[1:3]]
    inputs: list[Any] = [("float32", shape), w]
    inputs.append(normal(rng, outputs))
    return one(
        "CONV_2D",
        inputs,
        options="Conv2DOptions",
        strideH=strides[0],
        strideW=strides[1],
        dilationHFactor=dilation[0],
        dilationWFactor=dilation[1],
        padding=pick(rng, 0, 1),
        fusedActivationFunction=pick(rng, 0, 1, 2, 3),
    )


def depthwise(rng: Rng) -> bytes:
    channels, times, kernel = int(rng.integers(1, 6)), pick(rng, 1, 1, 2, 3), sizes(rng, 2, 3)
    stride = int(rng.integers(1, 3))
    shape = image(rng, channels)
    shape[1:3] = [max(n, 6) for n in shape[1:3]]
    w = normal(rng, (1, *kernel, channels * times))
    return one(
        "DEPTHWISE_CONV_2D",
        [("float32", shape), w, normal(rng, channels * times)],
        options="DepthwiseConv2DOptions",
        strideH=stride,
        strideW=stride,
        depthMultiplier=times,
        dilationHFactor=pick(rng, 1, 2) if stride == 1 else 1,
        padding=pick(rng, 0, 1),
        fusedActivationFunction=pick(rng, 0, 1, 3),
    )


def conv3d(rng: Rng) -> bytes:
    depth, outputs, kernel = int(rng.integers(1, 4)), int(rng.integers(1, 4)), sizes(rng, 3, 2)
    w = normal(rng, (*kernel, depth, outputs))
    shape = [1, *[int(n) for n in rng.integers(3, 6, 3)], depth]
    strides = sizes(rng, 3, 2)
    return one(
        "CONV_3D",
        [("float32", shape), w, normal(rng, outputs)],
        options="Conv3DOptions",
        strideD=strides[0],
        strideH=strides[1],
        strideW=strides[2],
        padding=pick(rng, 0, 1),
    )


def transpose_conv(rng: Rng) -> bytes:
    depth, outputs, kernel = int(rng.integers(1, 4)), int(rng.integers(1, 4)), sizes(rng, 2, 4)
    strides, padding = sizes(rng, 2, 3), pick(rng, 0, 1)
    shape = [1, *sizes(rng, 2, 5), depth]
    if padding == 0:
        out = [n * s for n, s in zip(shape[1:3], strides, strict=True)]
    else:
        out = [(n - 1) * s + k for n, s, k in zip(shape[1:3], strides, kernel, strict=True)]
    w = normal(rng, (outputs, *kernel, depth))
    inputs: list[Any] = [np.array([1, *out, outputs], np.int32), w, ("float32", shape)]
    if rng.integers(2):
        inputs.append(normal(rng, outputs))
    return one(
        "TRANSPOSE_CONV",
        inputs,
        options="TransposeConvOptions",
        version=3,
        strideH=strides[0],
        strideW=strides[1],
        padding=padding,
    )


def conv3d_transpose(rng: Rng) -> bytes:
    depth, outputs, kernel = int(rng.integers(1, 3)), int(rng.integers(1, 3)), sizes(rng, 3, 2)
    strides = sizes(rng, 3, 2)
    shape = [1, *sizes(rng, 3, 3), depth]
    out = [n * s for n, s in zip(shape[1:4], strides, strict=True)]
    w = normal(rng, (*kernel, outputs, depth))
    return one(
        "CONV_3D_TRANSPOSE",
        [np.array([1, *out, outputs], np.int32), w, ("float32", shape)],
        options="Conv3DOptions",
        strideD=strides[0],
        strideH=strides[1],
        strideW=strides[2],
    )


def pool(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        kernel, strides = sizes(rng, 2, 3), sizes(rng, 2, 3)
        return one(
            op,
            [("float32", image(rng, 3))],
            options="Pool2DOptions",
            filterHeight=kernel[0],
            filterWidth=kernel[1],
            strideH=strides[0],
            strideW=strides[1],
            padding=pick(rng, 0, 1),
            fusedActivationFunction=pick(rng, 0, 1, 3),
        )

    return make


def fully_connected(rng: Rng) -> bytes:
    k, n = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    shape = [*sizes(rng, int(rng.integers(0, 3)), 3), k]
    inputs: list[Any] = [("float32", shape), normal(rng, (n, k))]
    if rng.integers(2):
        inputs.append(normal(rng, n))
    return one(
        "FULLY_CONNECTED",
        inputs,
        options="FullyConnectedOptions",
        version=2,
        keepNumDims=bool(rng.integers(2)),
        fusedActivationFunction=pick(rng, 0, 1, 3),
    )


def batch_matmul(rng: Rng) -> bytes:
    m, k, n = sizes(rng, 3)
    batch = sizes(rng, int(rng.integers(0, 3)), 3)
    other = [pick(rng, e, 1) for e in batch]
    x, y = bool(rng.integers(2)), bool(rng.integers(2))
    left, right = [*batch, *((k, m) if x else (m, k))], [*other, *((n, k) if y else (k, n))]
    return one("BATCH_MATMUL", [("float32", left), ("float32", right)], options="BatchMatMulOptions", adjX=x, adjY=y)


def reduction(op: str, dtype: str = "float32") -> Make:
    def make(rng: Rng) -> bytes:
        shape = sizes(rng, int(rng.integers(1, 5)))
        axes = rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))].astype(np.int32)
        axes = np.where(rng.integers(0, 2, len(axes)) > 0, axes - len(shape), axes).astype(np.int32)
        return one(op, [(dtype, shape), axes], [dtype], "ReducerOptions", keepDims=bool(rng.integers(2)))

    return make


def extreme(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape, kind = sizes(rng, int(rng.integers(1, 5))), pick(rng, "int32", "int64")
        axis = np.array(int(rng.integers(-len(shape), len(shape))), np.int32)
        fields: dict[str, Any] = {"outputType": 2 if kind == "int32" else 4}
        return one(op, [("float32", shape), axis], [kind], options, **fields)

    return make


def prelu(rng: Rng) -> bytes:
    shape = image(rng, 3)
    slope = normal(rng, pick(rng, [1, 1, 3], [3], [shape[1], shape[2], 3], [1, 1, 1]))
    return one("PRELU", [("float32", shape), slope])


def cast(rng: Rng) -> bytes:
    kinds = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
    old, new = pick(rng, "float32", "int32", "uint8", "int64", "int16"), pick(rng, *kinds)
    if old == "float32" and new == "uint8":
        new = "int32"
    return one("CAST", [(old, sizes(rng, 2))], [new], "CastOptions", inDataType=kinds[old], outDataType=kinds[new])


def cumsum(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array(int(rng.integers(-len(shape), len(shape))), np.int32)
    flags: dict[str, Any] = {"exclusive": bool(rng.integers(2)), "reverse": bool(rng.integers(2))}
    return one("CUMSUM", [("float32", shape), axis], options="CumsumOptions", **flags)


def topk(rng: Rng) -> bytes:
    shape = sizes(rng, 2, 6)
    k = np.array(int(rng.integers(1, shape[-1] + 1)), np.int32)
    return one("TOPK_V2", [("float32", shape), k], ["float32", "int32"])


def lrn(rng: Rng) -> bytes:
    fields: dict[str, Any] = {"radius": int(rng.integers(1, 4)), "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    name = "LOCAL_RESPONSE_NORMALIZATION"
    return one(name, [("float32", image(rng, 7))], options="LocalResponseNormalizationOptions", **fields)


def leaky(rng: Rng) -> bytes:
    return one(
        "LEAKY_RELU", [("float32", sizes(rng, 3))], options="LeakyReluOptions", alpha=pick(rng, 0.1, 0.5, 1.5, -0.2)
    )


def softmax(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 5)))
    return one("SOFTMAX", [("float32", shape)], options="SoftmaxOptions", beta=pick(rng, 1.0, 0.5, 2.0))


def gelu(rng: Rng) -> bytes:
    return one("GELU", [("float32", sizes(rng, 3))], options="GeluOptions", approximate=bool(rng.integers(2)))


def add_n(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    return one("ADD_N", [("float32", shape)] * int(rng.integers(2, 5)), options="AddNOptions")


def power(rng: Rng) -> bytes:
    a, b = broadcasting(rng)
    return one("POW", [("float32", a), np.full(b, pick(rng, 2.0, 3.0), np.float32)], options="PowOptions")


def atan2(rng: Rng) -> bytes:
    shape = sizes(rng, 2)
    return one("ATAN2", [("float32", shape), ("float32", shape)], options="ATan2Options")


_COMPARED = ("float32", "int32", "int64")
_NUMBERS = ("float32", "int32")
FLOAT: dict[str, Make] = {
    "ABS": unary("ABS", "AbsOptions"),
    "ADD": binary("ADD", "AddOptions", _NUMBERS),
    "ADD_N": add_n,
    "ARG_MAX": extreme("ARG_MAX", "ArgMaxOptions"),
    "ARG_MIN": extreme("ARG_MIN", "ArgMinOptions"),
    "ATAN2": atan2,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "BITWISE_XOR": binary("BITWISE_XOR", "BitwiseXorOptions", ("int32", "int8", "uint8")),
    "CAST": cast,
    "CEIL": unary("CEIL"),
    "CONV_2D": conv,
    "CONV_3D": conv3d,
    "CONV_3D_TRANSPOSE": conv3d_transpose,
    "COS": unary("COS", "CosOptions"),
    "CUMSUM": cumsum,
    "DEPTHWISE_CONV_2D": depthwise,
    "DIV": binary("DIV", "DivOptions", _NUMBERS),
    "ELU": unary("ELU"),
    "EQUAL": binary("EQUAL", "EqualOptions", _COMPARED, "bool"),
    "EXP": unary("EXP", "ExpOptions"),
    "FLOOR": unary("FLOOR"),
    "FLOOR_DIV": binary("FLOOR_DIV", "FloorDivOptions", _NUMBERS),
    "FLOOR_MOD": binary("FLOOR_MOD", "FloorModOptions", _NUMBERS),
    "FULLY_CONNECTED": fully_connected,
    "GELU": gelu,
    "GREATER": binary("GREATER", "GreaterOptions", _COMPARED, "bool"),
    "GREATER_EQUAL": binary("GREATER_EQUAL", "GreaterEqualOptions", _COMPARED, "bool"),
    "HARD_SWISH": unary("HARD_SWISH", "HardSwishOptions"),
    "L2_NORMALIZATION": lambda rng: one(
        "L2_NORMALIZATION", [("float32", sizes(rng, int(rng.integers(1, 5))))], options="L2NormOptions"
    ),
    "L2_POOL_2D": pool("L2_POOL_2D"),
    "LEAKY_RELU": leaky,
    "LESS": binary("LESS", "LessOptions", _COMPARED, "bool"),
    "LESS_EQUAL": binary("LESS_EQUAL", "LessEqualOptions", _COMPARED, "bool"),
    "LOCAL_RESPONSE_NORMALIZATION": lrn,
    "LOG": positive("LOG"),
    "LOGICAL_AND": binary("LOGICAL_AND", "LogicalAndOptions", ("bool",)),
    "LOGICAL_NOT": unary("LOGICAL_NOT", "LogicalNotOptions", "bool"),
    "LOGICAL_OR": binary("LOGICAL_OR", "LogicalOrOptions", ("bool",)),
    "LOGISTIC": unary("LOGISTIC"),
    "LOG_SOFTMAX": unary("LOG_SOFTMAX", "LogSoftmaxOptions"),
    "MAXIMUM": binary("MAXIMUM", "MaximumMinimumOptions", _NUMBERS),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": reduction("MEAN"),
    "MINIMUM": binary("MINIMUM", "MaximumMinimumOptions", _NUMBERS),
    "MUL": binary("MUL", "MulOptions", _NUMBERS),
    "NEG": unary("NEG", "NegOptions"),
    "NOT_EQUAL": binary("NOT_EQUAL", "NotEqualOptions", _COMPARED, "bool"),
    "POW": power,
    "PRELU": prelu,
    "REDUCE_ALL": reduction("REDUCE_ALL", "bool"),
    "REDUCE_ANY": reduction("REDUCE_ANY", "bool"),
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "REDUCE_PROD": reduction("REDUCE_PROD"),
    "RELU": unary("RELU"),
    "RELU6": unary("RELU6"),
    "RELU_0_TO_1": unary("RELU_0_TO_1"),
    "RELU_N1_TO_1": unary("RELU_N1_TO_1"),
    "ROUND": unary("ROUND"),
    "RSQRT": positive("RSQRT"),
    "SIGN": unary("SIGN", "SignOptions"),
    "SIN": unary("SIN"),
    "SOFTMAX": softmax,
    "SQRT": positive("SQRT"),
    "SQUARE": unary("SQUARE", "SquareOptions"),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", _NUMBERS),
    "SUB": binary("SUB", "SubOptions", _NUMBERS),
    "SUM": reduction("SUM"),
    "TANH": unary("TANH"),
    "TOPK_V2": topk,
    "TRANSPOSE_CONV": transpose_conv,
    "ZEROS_LIKE": unary("ZEROS_LIKE", "ZerosLikeOptions"),
}
