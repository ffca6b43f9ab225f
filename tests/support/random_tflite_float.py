"""Random models of one operator on floats, and of those that only move elements or compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tflite_builder import Array, Net, random_array

Rng = np.random.Generator
Make = Callable[[Rng], bytes]


def pick(rng: Rng, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def sizes(rng: Rng, rank: int, most: int = 5) -> list[int]:
    return [int(n) for n in rng.integers(1, most + 1, rank)]


def one(
    op: str,
    inputs: Sequence[Array | tuple[str, Sequence[int]]],
    outputs: Sequence[str] = ("float32",),
    options: str = "",
    version: int = 1,
    **fields: Any,
) -> bytes:
    """The model of an operator; inputs are arrays, or dtype and shape of what a call gives."""
    net = Net()
    numbers: list[int] = []
    for at, given in enumerate(inputs):
        if isinstance(given, tuple):
            numbers.append(net.input(f"x{at}", given[1], given[0]))
        else:
            numbers.append(net.const(f"c{at}", given))
    made = [net.tensor(f"y{at}", (), dtype) for at, dtype in enumerate(outputs)]
    net.op(op, numbers, made, options, version, **fields)
    return net.build(made)


def unary(op: str, options: str = "", dtype: str = "float32", **fields: Any) -> Make:
    return lambda rng: one(op, [(dtype, sizes(rng, int(rng.integers(1, 5))))], [dtype], options, **fields)


def broadcasting(rng: Rng, most: int = 4) -> tuple[list[int], list[int]]:
    """Two shapes that broadcast."""
    shape = sizes(rng, int(rng.integers(1, most + 1)))
    kind = pick(rng, "same", "one", "some", "shorter")
    if kind == "same":
        return shape, shape
    if kind == "one":
        return shape, [1]
    other = [pick(rng, n, 1) for n in shape]
    if kind == "shorter":
        other = other[int(rng.integers(len(other))) :]
    return (shape, other) if rng.integers(2) else (other, shape)


def binary(op: str, options: str = "", dtypes: Sequence[str] = ("float32",), result: str = "") -> Make:
    def make(rng: Rng) -> bytes:
        dtype = pick(rng, *dtypes)
        a, b = broadcasting(rng)
        fields = {}
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


def image(rng: Rng, channels: int) -> list[int]:
    return [int(rng.integers(1, 3)), int(rng.integers(3, 10)), int(rng.integers(3, 10)), channels]


def conv(rng: Rng) -> bytes:
    groups = pick(rng, 1, 1, 2)
    depth, outputs = int(rng.integers(1, 5)), int(rng.integers(1, 5)) * groups
    kernel = sizes(rng, 2, 3)
    w = rng.standard_normal((outputs, *kernel, depth)).astype(np.float32)
    dilation = pick(rng, (1, 1), (1, 1), (2, 1), (1, 2)) if groups == 1 else (1, 1)
    strides = (1, 1) if dilation != (1, 1) else sizes(rng, 2, 3)
    shape = image(rng, depth * groups)
    shape[1:3] = [max(n, 6) for n in shape[1:3]]
    inputs = [("float32", shape), w]
    inputs.append(rng.standard_normal(outputs).astype(np.float32))
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
    w = rng.standard_normal((1, *kernel, channels * times)).astype(np.float32)
    return one(
        "DEPTHWISE_CONV_2D",
        [("float32", shape), w, rng.standard_normal(channels * times).astype(np.float32)],
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
    w = rng.standard_normal((*kernel, depth, outputs)).astype(np.float32)
    shape = [1, *[int(n) for n in rng.integers(3, 6, 3)], depth]
    strides = sizes(rng, 3, 2)
    return one(
        "CONV_3D",
        [("float32", shape), w, rng.standard_normal(outputs).astype(np.float32)],
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
    w = rng.standard_normal((outputs, *kernel, depth)).astype(np.float32)
    inputs = [np.array([1, *out, outputs], np.int32), w, ("float32", shape)]
    if rng.integers(2):
        inputs.append(rng.standard_normal(outputs).astype(np.float32))
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
    w = rng.standard_normal((*kernel, outputs, depth)).astype(np.float32)
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
    inputs = [("float32", shape), rng.standard_normal((n, k)).astype(np.float32)]
    if rng.integers(2):
        inputs.append(rng.standard_normal(n).astype(np.float32))
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
        fields = {"outputType": 2 if kind == "int32" else 4}
        return one(op, [("float32", shape), axis], [kind], options, **fields)

    return make


def reshape(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    wanted = pick(rng, [-1], [shape[0], -1], [int(np.prod(shape))], [shape[0] * shape[1], shape[2]])
    return one("RESHAPE", [("float32", shape), np.array(wanted, np.int32)], options="ReshapeOptions", newShape=wanted)


def transpose(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 6)))
    order = rng.permutation(len(shape)).astype(np.int32)
    return one("TRANSPOSE", [("float32", shape), order], options="TransposeOptions")


def concatenation(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 5)))
    axis = int(rng.integers(-len(shape), len(shape)))
    parts: list[Any] = []
    for _ in range(int(rng.integers(1, 4))):
        own = list(shape)
        own[axis] = int(rng.integers(1, 4))
        parts.append(("float32", own))
    return one("CONCATENATION", parts, options="ConcatenationOptions", axis=axis)


def pack(rng: Rng) -> bytes:
    shape, count = sizes(rng, int(rng.integers(1, 4))), int(rng.integers(1, 4))
    axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
    return one("PACK", [("float32", shape)] * count, options="PackOptions", axis=axis, valuesCount=count)


def unpack(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)), 3)
    axis = int(rng.integers(-len(shape), len(shape)))
    outputs = ["float32"] * shape[axis]
    return one("UNPACK", [("float32", shape)], outputs, "UnpackOptions", axis=axis, num=shape[axis])


def split(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis, count = int(rng.integers(-len(shape), len(shape))), int(rng.integers(1, 4))
    shape[axis] = count * int(rng.integers(1, 3))
    outputs = ["float32"] * count
    return one("SPLIT", [np.array(axis, np.int32), ("float32", shape)], outputs, "SplitOptions", numSplits=count)


def split_v(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(-len(shape), len(shape)))
    parts = sizes(rng, int(rng.integers(1, 4)), 3)
    shape[axis] = sum(parts)
    stated = list(parts)
    if rng.integers(2):
        stated[int(rng.integers(len(parts)))] = -1
    inputs = [("float32", shape), np.array(stated, np.int32), np.array(axis, np.int32)]
    return one("SPLIT_V", inputs, ["float32"] * len(parts), "SplitVOptions", numSplits=len(parts))


def slice_(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 5)))
    begin = [int(rng.integers(0, n)) for n in shape]
    size = [pick(rng, -1, int(rng.integers(1, n - b + 1))) for n, b in zip(shape, begin, strict=True)]
    return one("SLICE", [("float32", shape), np.array(begin, np.int32), np.array(size, np.int32)])


def strided_slice(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    count = int(rng.integers(1, len(shape) + 1))
    begin, end, strides = (rng.integers(-6, 7, count), rng.integers(-6, 7, count), rng.choice([-2, -1, 1, 2], count))
    shrink = int(rng.integers(0, 1 << count)) if rng.integers(2) else 0
    for axis in range(count):
        if shrink >> axis & 1:
            begin[axis], strides[axis] = int(rng.integers(-shape[axis], shape[axis])), 1
            end[axis] = begin[axis] + 1
    masks = {name: int(rng.integers(0, 1 << count)) for name in ("beginMask", "endMask")}
    masks = {name: mask & ~shrink for name, mask in masks.items()}
    extra: dict[str, int] = {}
    kind = pick(rng, "", "new", "ellipsis")
    if kind:
        place = int(rng.integers(0, count + 1))
        begin, end, strides = (np.insert(a, place, v) for a, v in ((begin, 0), (end, 1), (strides, 1)))

        def moved(mask: int) -> int:
            return mask & ((1 << place) - 1) | (mask >> place) << place + 1

        masks, shrink = {name: moved(mask) for name, mask in masks.items()}, moved(shrink)
        extra["newAxisMask" if kind == "new" else "ellipsisMask"] = 1 << place
    arrays = [a.astype(np.int32) for a in (begin, end, strides)]
    fields = {**masks, "shrinkAxisMask": shrink, **extra}
    return one("STRIDED_SLICE", [("float32", shape), *arrays], options="StridedSliceOptions", **fields)


def pad(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape = sizes(rng, int(rng.integers(1, 5)))
        inputs: list[Any] = [("float32", shape), rng.integers(0, 3, (len(shape), 2)).astype(np.int32)]
        if op == "PADV2":
            inputs.append(np.array(1.5, np.float32))
        return one(op, inputs, options="PadV2Options" if op == "PADV2" else "PadOptions")

    return make


def mirror_pad(rng: Rng) -> bytes:
    shape, mode = [int(n) for n in rng.integers(2, 5, 2)], pick(rng, 0, 1)
    width = np.array([[int(rng.integers(0, n - (mode == 0) + 1)) for _ in range(2)] for n in shape], np.int32)
    return one("MIRROR_PAD", [("float32", shape), width], options="MirrorPadOptions", mode=mode)


def resize(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape, size = image(rng, 2), np.array(sizes(rng, 2, 12), np.int32)
        mode = pick(rng, {}, {"alignCorners": True}, {"halfPixelCenters": True})
        return one(op, [("float32", shape), size], options=options, version=3, **mode)

    return make


def gather(rng: Rng) -> bytes:
    shape = [int(n) for n in rng.integers(2, 5, int(rng.integers(1, 4)))]
    axis = int(rng.integers(len(shape)))
    batch = int(rng.integers(0, axis + 1))
    own = [*shape[:batch], *sizes(rng, int(rng.integers(0 if batch else 1, 2)), 3)]
    indices = rng.integers(0, shape[axis], own).astype(pick(rng, np.int32, np.int64))
    return one("GATHER", [("float32", shape), indices], options="GatherOptions", version=5, axis=axis, batchDims=batch)


def gather_nd(rng: Rng) -> bytes:
    shape = [int(n) for n in rng.integers(2, 5, int(rng.integers(1, 4)))]
    depth = int(rng.integers(1, len(shape) + 1))
    points = np.stack([rng.integers(0, n, sizes_of) for n in shape[:depth] for sizes_of in [(3, 2)]], -1)
    return one("GATHER_ND", [("float32", shape), points.astype(np.int32)], options="GatherNdOptions")


def one_hot(rng: Rng) -> bytes:
    shape, depth = sizes(rng, int(rng.integers(1, 3))), int(rng.integers(1, 6))
    scalars = [np.array(depth, np.int32), np.array(2.0, np.float32), np.array(-1.0, np.float32)]
    axis = int(rng.integers(-1, len(shape) + 1))
    return one("ONE_HOT", [("int32", shape), *scalars], options="OneHotOptions", axis=axis)


def tile(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    return one("TILE", [("float32", shape), rng.integers(1, 4, len(shape)).astype(np.int32)])


def reverse(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array([int(rng.integers(len(shape)))], np.int32)
    return one("REVERSE_V2", [("float32", shape), axis])


def reverse_sequence(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    seq, batch = (0, 1) if rng.integers(2) else (1, 0)
    lengths = rng.integers(1, shape[seq] + 1, shape[batch]).astype(np.int32)
    return one(
        "REVERSE_SEQUENCE", [("float32", shape), lengths], options="ReverseSequenceOptions", seqDim=seq, batchDim=batch
    )


def space_to_batch(rng: Rng) -> bytes:
    blocks, shape = sizes(rng, 2, 2), image(rng, 2)
    width = np.zeros((2, 2), np.int32)
    for k in range(2):
        width[k, 0] = rng.integers(0, 2)
        width[k, 1] = -(shape[1 + k] + width[k, 0]) % blocks[k]
    return one("SPACE_TO_BATCH_ND", [("float32", shape), np.array(blocks, np.int32), width])


def batch_to_space(rng: Rng) -> bytes:
    blocks, shape = sizes(rng, 2, 2), image(rng, 2)
    shape[0] *= blocks[0] * blocks[1]
    crops = rng.integers(0, 2, (2, 2)).astype(np.int32)
    return one("BATCH_TO_SPACE_ND", [("float32", shape), np.array(blocks, np.int32), crops])


def blocks(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        block = int(rng.integers(1, 4))
        n, h, w, c = sizes(rng, 4, 3)
        shape = [n, h * block, w * block, c] if op == "SPACE_TO_DEPTH" else [n, h, w, c * block * block]
        return one(op, [("float32", shape)], options=options, blockSize=block)

    return make


def prelu(rng: Rng) -> bytes:
    shape = image(rng, 3)
    slope = rng.standard_normal(pick(rng, [1, 1, 3], [3], [shape[1], shape[2], 3], [1, 1, 1])).astype(np.float32)
    return one("PRELU", [("float32", shape), slope])


def cast(rng: Rng) -> bytes:
    kinds = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
    old, new = pick(rng, "float32", "int32", "uint8", "int64", "int16"), pick(rng, *kinds)
    if old == "float32" and new == "uint8":
        new = "int32"
    return one("CAST", [(old, sizes(rng, 2))], [new], "CastOptions", inDataType=kinds[old], outDataType=kinds[new])


def select(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape = sizes(rng, 3)
        if op == "SELECT":
            return one(op, [("bool", pick(rng, shape, shape[:1])), ("float32", shape), ("float32", shape)])
        other = [pick(rng, n, 1) for n in shape]
        return one(op, [("bool", other), ("float32", shape), ("float32", pick(rng, shape, [1]))])

    return make


def expand_dims(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array(int(rng.integers(-len(shape) - 1, len(shape) + 1)), np.int32)
    return one("EXPAND_DIMS", [("float32", shape), axis], options="ExpandDimsOptions")


def squeeze(rng: Rng) -> bytes:
    shape = [pick(rng, 1, 3) for _ in range(4)]
    ones = [at for at, n in enumerate(shape) if n == 1]
    dims = pick(rng, [], ones[:1], [at - 4 for at in ones[1:]])
    return one("SQUEEZE", [("float32", shape)], options="SqueezeOptions", squeezeDims=dims)


def cumsum(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array(int(rng.integers(-len(shape), len(shape))), np.int32)
    flags = {"exclusive": bool(rng.integers(2)), "reverse": bool(rng.integers(2))}
    return one("CUMSUM", [("float32", shape), axis], options="CumsumOptions", **flags)


def topk(rng: Rng) -> bytes:
    shape = sizes(rng, 2, 6)
    k = np.array(int(rng.integers(1, shape[-1] + 1)), np.int32)
    return one("TOPK_V2", [("float32", shape), k], ["float32", "int32"])


def lrn(rng: Rng) -> bytes:
    fields = {"radius": int(rng.integers(1, 4)), "bias": 1.5, "alpha": 0.3, "beta": 0.75}
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


def broadcast_to(rng: Rng) -> bytes:
    a, _ = broadcasting(rng)
    wanted = np.broadcast_shapes(tuple(a), tuple(sizes(rng, 1)) if a[-1] == 1 else (1,))
    return one("BROADCAST_TO", [("float32", a), np.array(wanted, np.int32)], options="BroadcastToOptions", version=2)


def fill(rng: Rng) -> bytes:
    return one("FILL", [np.array(sizes(rng, 3), np.int32), ("float32", [])], options="FillOptions")


def embedding(rng: Rng) -> bytes:
    rows = int(rng.integers(2, 6))
    ids = rng.integers(0, rows, sizes(rng, 1)).astype(np.int32)
    return one("EMBEDDING_LOOKUP", [ids, ("float32", [rows, *sizes(rng, 2)])])


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
    "BATCH_TO_SPACE_ND": batch_to_space,
    "BITWISE_XOR": binary("BITWISE_XOR", "BitwiseXorOptions", ("int32", "int8", "uint8")),
    "BROADCAST_TO": broadcast_to,
    "CAST": cast,
    "CEIL": unary("CEIL"),
    "CONCATENATION": concatenation,
    "CONV_2D": conv,
    "CONV_3D": conv3d,
    "CONV_3D_TRANSPOSE": conv3d_transpose,
    "COS": unary("COS", "CosOptions"),
    "CUMSUM": cumsum,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEPTH_TO_SPACE": blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    "DIV": binary("DIV", "DivOptions", _NUMBERS),
    "ELU": unary("ELU"),
    "EMBEDDING_LOOKUP": embedding,
    "EQUAL": binary("EQUAL", "EqualOptions", _COMPARED, "bool"),
    "EXP": unary("EXP", "ExpOptions"),
    "EXPAND_DIMS": expand_dims,
    "FILL": fill,
    "FLOOR": unary("FLOOR"),
    "FLOOR_DIV": binary("FLOOR_DIV", "FloorDivOptions", _NUMBERS),
    "FLOOR_MOD": binary("FLOOR_MOD", "FloorModOptions", _NUMBERS),
    "FULLY_CONNECTED": fully_connected,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
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
    "MIRROR_PAD": mirror_pad,
    "MUL": binary("MUL", "MulOptions", _NUMBERS),
    "NEG": unary("NEG", "NegOptions"),
    "NOT_EQUAL": binary("NOT_EQUAL", "NotEqualOptions", _COMPARED, "bool"),
    "ONE_HOT": one_hot,
    "PACK": pack,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
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
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "REVERSE_SEQUENCE": reverse_sequence,
    "REVERSE_V2": reverse,
    "ROUND": unary("ROUND"),
    "RSQRT": positive("RSQRT"),
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
    "SIGN": unary("SIGN", "SignOptions"),
    "SIN": unary("SIN"),
    "SLICE": slice_,
    "SOFTMAX": softmax,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "SPACE_TO_DEPTH": blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQRT": positive("SQRT"),
    "SQUARE": unary("SQUARE", "SquareOptions"),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", _NUMBERS),
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "SUB": binary("SUB", "SubOptions", _NUMBERS),
    "SUM": reduction("SUM"),
    "TANH": unary("TANH"),
    "TILE": tile,
    "TOPK_V2": topk,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv,
    "UNPACK": unpack,
    "ZEROS_LIKE": unary("ZEROS_LIKE", "ZerosLikeOptions"),
}
