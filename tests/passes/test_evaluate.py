"""Operator semantics against onnxruntime, and against plain numpy written another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import Array, close, ort, random, rng, run

from whence.dialects.relay import nn, transform, winograd
from whence.dialects.relay.attributes import Value
from whence.dialects.relay.operator import Operator
from whence.runtime.values.tensors import aligned_empty


def test_reshapes() -> None:
    x = random(2, 3, 4)
    assert (run(transform.ReshapeOp, x, newshape=(0, -1))[0] == x.reshape(2, 12)).all()
    assert (run(transform.BatchFlattenOp, x)[0] == ort("Flatten", x)).all()
    assert (run(transform.SqueezeOp, x.reshape(2, 1, 12, 1), axis=(-1,))[0] == x.reshape(2, 1, 12)).all()
    assert (run(transform.SqueezeOp, x.reshape(2, 1, 12, 1))[0] == x.reshape(2, 12)).all()
    assert (run(transform.ExpandDimsOp, x, axis=-1, num_newaxis=2)[0] == x[..., None, None]).all()
    assert (run(transform.BroadcastToOp, x[:, :1], shape=(5, 2, 3, 4))[0] == x[:, [0, 0, 0]]).all()


def test_transpose_is_a_view() -> None:
    x = random(2, 3, 4)
    (result,) = run(transform.TransposeOp, x, axes=(2, 0, 1))
    assert (result == ort("Transpose", x, perm=[2, 0, 1])).all()
    assert np.shares_memory(result, x)
    assert (run(transform.TransposeOp, x)[0] == ort("Transpose", x)).all()


def test_concatenate_and_take() -> None:
    x, y = random(2, 3, 4), random(2, 5, 4)
    assert (run(transform.ConcatenateOp, x, y, axis=-2)[0] == ort("Concat", x, y, axis=1)).all()
    indices = np.array([[0, 2], [1, 1]], np.int64)
    assert (run(transform.TakeOp, x, indices, axis=1)[0] == ort("Gather", x, indices, axis=1)).all()
    outside = np.array([-4, 9, 1], np.int32)
    assert (run(transform.TakeOp, x, outside, axis=1)[0] == x[:, [0, 2, 1]]).all()
    assert (run(transform.TakeOp, x, outside, axis=1, mode="wrap")[0] == x[:, [2, 0, 1]]).all()


def test_strided_slice() -> None:
    x = random(6, 7, 8)
    (result,) = run(transform.StridedSliceOp, x, begin=(5, 1), end=(-9, 100), strides=(-2, 3), axes=(0, 2))
    starts, ends = np.array([5, 1], np.int64), np.array([-9, 100], np.int64)
    axes, steps = np.array([0, 2], np.int64), np.array([-2, 3], np.int64)
    assert (result == ort("Slice", x, starts, ends, axes, steps)).all()
    assert run(transform.StridedSliceOp, x, begin=(4,), end=(2,))[0].shape == (0, 7, 8)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode: str) -> None:
    x, value = random(2, 3, 5), np.array(1.5, np.float32)
    (result,) = run(transform.PadOp, x, value, pad_width=(0, 1, 2, 0, 3, 1), pad_mode=mode)
    assert (result == ort("Pad", x, np.array([0, 2, 3, 1, 0, 1], np.int64), value, mode=mode)).all()


@pytest.mark.parametrize(
    ("cls", "onnx_name"),
    [
        (transform.SumOp, "ReduceSum"),
        (transform.MeanOp, "ReduceMean"),
        (transform.MaxOp, "ReduceMax"),
        (transform.MinOp, "ReduceMin"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_reductions(cls: type[Operator], onnx_name: str, dtype: Any) -> None:
    x = (random(3, 4, 5) * 9).astype(dtype)
    axes = np.array([0, 2], np.int64)
    reference = ort(onnx_name, x, axes, keepdims=1)
    close(run(cls, x, axis=(0, -1), keepdims=True)[0], reference, 1e-5)
    close(run(cls, x, axis=(1,), exclude=True)[0], reference.reshape(4), 1e-5)
    close(run(cls, x)[0], ort(onnx_name, x, keepdims=0), 1e-5)


def blocked(x: Array, src: str, dst: str) -> Array:
    """A layout transform written element by element."""
    import re

    def axes(layout: str) -> list[tuple[str, int]]:
        return [(a or b, int(f or 0)) for f, a, b in re.findall(r"(\d+)([a-z])|([A-Z])", layout)]

    def full(layout: list[tuple[str, int]], index: tuple[int, ...]) -> dict[str, int]:
        where: dict[str, int] = {}
        for (letter, factor), i in zip(layout, index, strict=True):
            big = letter.upper()
            block = next((f for other, f in layout if other == big.lower()), 1)
            where[big] = where.get(big, 0) + (i if factor else i * block)
        return where

    a, b = axes(src), axes(dst)
    elements = {tuple(sorted(full(a, index).items())): x[index] for index in np.ndindex(*x.shape)}
    extents = {letter: 1 + max(dict(key)[letter] for key in elements) for letter, factor in a if not factor}
    blocks = {letter.upper(): factor for letter, factor in b if factor}
    shape = [factor or extents[letter] // blocks.get(letter, 1) for letter, factor in b]
    out = np.zeros(shape, x.dtype)
    for index in np.ndindex(*shape):
        out[index] = elements[tuple(sorted(full(b, index).items()))]
    return out


@pytest.mark.parametrize(
    ("shape", "src", "dst"),
    [
        ((2, 8, 3, 5), "NCHW", "NHWC"),
        ((2, 8, 3, 5), "NCHW", "NCHW4c"),
        ((2, 2, 3, 5, 4), "NCHW4c", "NCHW"),
        ((2, 2, 3, 5, 4), "NCHW4c", "NCHW2c"),
        ((2, 2, 3, 5, 4), "NCHW4c", "NHWC4c"),
        ((8, 4, 3, 3), "OIHW", "OIHW2i4o"),
        ((2, 2, 3, 3, 2, 4), "OIHW2i4o", "OIHW"),
        ((8, 1, 3, 3), "OIHW", "OIHW1i4o"),
        ((6, 5), "NC", "NC3n"),
    ],
)
def test_layout_transform(shape: tuple[int, ...], src: str, dst: str) -> None:
    x = random(*shape)
    (result,) = run(transform.LayoutTransformOp, x, src_layout=src, dst_layout=dst)
    assert (result == blocked(x, src, dst)).all()
    assert result.flags.c_contiguous
    assert result.ctypes.data % 64 == 0
    repeated = np.broadcast_to(np.float32(3), shape)
    (result,) = run(transform.LayoutTransformOp, repeated, src_layout=src, dst_layout=dst)
    assert not any(result.strides)


def test_aligned_empty() -> None:
    for size in (1, 63, 1000):
        assert aligned_empty((size, 3), np.dtype(np.float32)).ctypes.data % 64 == 0


@pytest.mark.parametrize(
    ("groups", "strides", "dilation", "padding"),
    [(1, (1, 1), (1, 1), (1, 1, 1, 1)), (4, (2, 1), (1, 2), (0, 2, 1, 3)), (8, (2, 2), (1, 1), (1, 1, 0, 0))],
)
def test_conv2d(groups: int, strides: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, ...]) -> None:
    x, w = random(2, 8, 9, 11), random(16, 8 // groups, 3, 2)
    reference = ort("Conv", x, w, group=groups, strides=strides, dilations=dilation, pads=padding)
    common: dict[str, Value] = {"strides": strides, "dilation": dilation, "padding": padding, "groups": groups}
    close(run(nn.Conv2DOp, x, w, **common)[0], reference, 1e-4)
    nhwc, hwio = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    (result,) = run(nn.Conv2DOp, nhwc, hwio, data_layout="NHWC", kernel_layout="HWIO", **common)
    close(result, reference.transpose(0, 2, 3, 1), 1e-4)


def test_blocked_conv2d() -> None:
    x, w = random(2, 8, 7, 6), random(16, 8, 3, 3)
    reference = ort("Conv", x, w, pads=[1, 1, 1, 1])
    (result,) = run(
        nn.ContribConv2DNCHWcOp,
        blocked(x, "NCHW", "NCHW4c"),
        blocked(w, "OIHW", "OIHW4i8o"),
        padding=(1, 1),
        data_layout="NCHW4c",
        kernel_layout="OIHW4i8o",
        out_layout="NCHW8c",
    )
    close(result, blocked(reference, "NCHW", "NCHW8c"), 1e-4)
    w = random(8, 1, 3, 3)
    (result,) = run(
        nn.ContribDepthwiseConv2DNCHWcOp,
        blocked(x, "NCHW", "NCHW4c"),
        blocked(w, "OIHW", "OIHW1i4o"),
        groups=8,
        data_layout="NCHW4c",
        kernel_layout="OIHW1i4o",
        out_layout="NCHW4c",
    )
    close(result, blocked(ort("Conv", x, w, group=8), "NCHW", "NCHW4c"), 1e-4)


def test_transformed_windows() -> None:
    for padding, shape in (((1, 1, 1, 1), (2, 3, 6, 8)), ((0, 0, 0, 0), (1, 3, 7, 9)), ((2, 0, 1, 1), (1, 3, 5, 4))):
        x, w = random(*shape), random(5, 3, 3, 3)
        (points,) = run(winograd.WinogradWeightTransformOp, w)
        assert points.shape == (4, 4, 5, 3)
        (result,) = run(winograd.WinogradConv2DOp, x, points, padding=padding)
        close(result, ort("Conv", x, w, pads=padding), 1e-4)


def test_matrix_products() -> None:
    x, w = random(3, 5), random(6, 5)
    reference = ort("Gemm", x, w, transB=1)
    close(run(nn.DenseOp, x, w)[0], reference)
    packed = blocked(w, "NC", "NC2n")
    close(run(nn.ContribDensePackOp, x, packed, weight_layout="NC2n")[0], reference)
    a, b = random(4, 2, 5), random(1, 5, 3)
    reference = ort("MatMul", a, b)
    close(run(nn.BatchMatmulOp, a, b, transpose_b=False)[0], reference)
    at, bt = a.transpose(0, 2, 1), b.transpose(0, 2, 1)
    close(run(nn.BatchMatmulOp, at, bt, transpose_a=True)[0], reference)


def test_bias_add() -> None:
    x, bias = random(2, 3, 4), random(3)
    assert (run(nn.BiasAddOp, x, bias, axis=-2)[0] == ort("Add", x, bias[:, None])).all()


def test_batch_norm() -> None:
    x, gamma, beta, mean, var = random(2, 3, 4, 5), random(3), random(3), random(3), np.abs(random(3)) + np.float32(0.1)
    reference = ort("BatchNormalization", x, gamma, beta, mean, var, epsilon=1e-3)
    result, new_mean, new_var = run(nn.BatchNormOp, x, gamma, beta, mean, var, epsilon=1e-3)
    close(result, reference)
    assert (new_mean == mean).all()
    assert (new_var == var).all()
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    last = np.moveaxis(x, 1, -1)
    plain = ort("BatchNormalization", x, one, zero, mean, var, epsilon=1e-3)
    attributes: dict[str, Value] = {"axis": -1, "epsilon": 1e-3, "scale": False, "center": False}
    close(run(nn.BatchNormOp, last, gamma, beta, mean, var, **attributes)[0], np.moveaxis(plain, 1, -1))


def test_layer_norm() -> None:
    x, gamma, beta = random(2, 3, 7) * 3 + 1, random(7), random(7)
    close(run(nn.LayerNormOp, x, gamma, beta, epsilon=1e-3)[0], ort("LayerNormalization", x, gamma, beta, epsilon=1e-3))
    one, zero = np.ones(7, np.float32), np.zeros(7, np.float32)
    first = np.moveaxis(x, -1, 0)
    (plain,) = run(nn.LayerNormOp, first, gamma, beta, axis=0, scale=False, center=False)
    close(plain, np.moveaxis(ort("LayerNormalization", x, one, zero, epsilon=1e-5), -1, 0))


def test_dropout_lets_the_data_through() -> None:
    x = random(3, 4)
    result, mask = run(nn.DropoutOp, x)
    assert (result == x).all()
    assert (mask == 1).all()


@pytest.mark.parametrize("size", [3, 5])
def test_lrn(size: int) -> None:
    x = random(2, 7, 3, 3)
    (result,) = run(nn.LRNOp, x, size=size, bias=1.5, alpha=0.3, beta=0.6)
    close(result, ort("LRN", x, size=size, bias=1.5, alpha=0.3, beta=0.6))


def test_lrn_of_even_size_looks_further_ahead() -> None:
    x = random(5, 7)
    (result,) = run(nn.LRNOp, x, size=4, bias=1.5, alpha=0.3, beta=0.6)
    for c in range(7):
        total = (x[:, max(0, c - 1) : c + 3] ** 2).sum(axis=1)
        close(result[:, c], x[:, c] / (1.5 + 0.3 / 4 * total) ** 0.6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = random(3, 4, 5) * 30
    close(run(nn.SoftmaxOp, x, axis=axis)[0], ort("Softmax", x, axis=axis))
    close(run(nn.LogSoftmaxOp, x, axis=axis)[0], ort("LogSoftmax", x, axis=axis))


POOLS: list[dict[str, Any]] = [
    {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    {"pool_size": (2, 3), "strides": (2, 3), "padding": (0, 1, 1, 0), "ceil_mode": True},
    {"pool_size": (2, 2), "strides": (1, 2), "dilation": (2, 1)},
    {"pool_size": (3, 3), "strides": (2, 2), "ceil_mode": True},
]


def onnx_pool(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "kernel_shape": attributes["pool_size"],
        "strides": attributes["strides"],
        "pads": attributes.get("padding", (0, 0, 0, 0)),
        "dilations": attributes.get("dilation", (1, 1)),
        "ceil_mode": int(attributes.get("ceil_mode", False)),
    }


@pytest.mark.parametrize("attributes", POOLS)
def test_pools(attributes: dict[str, Any]) -> None:
    x = random(2, 8, 9, 12) - 3
    reference = ort("MaxPool", x, **onnx_pool(attributes))
    close(run(nn.MaxPool2DOp, x, **attributes)[0], reference)
    layout = blocked(x, "NCHW", "NCHW4c")
    close(run(nn.MaxPool2DOp, layout, layout="NCHW4c", **attributes)[0], blocked(reference, "NCHW", "NCHW4c"))
    for include in (False, True):
        reference = ort("AveragePool", x, count_include_pad=int(include), **onnx_pool(attributes))
        close(run(nn.AvgPool2DOp, x, count_include_pad=include, **attributes)[0], reference)


def test_integer_max_pool() -> None:
    x = rng.integers(-100, -1, (1, 1, 4, 4)).astype(np.int8)
    (result,) = run(nn.MaxPool2DOp, x, pool_size=(3, 3), padding=(1, 1))
    assert result[0, 0, 0, 0] == x[0, 0, :2, :2].max()


def test_global_pools() -> None:
    x = random(2, 3, 4, 5)
    close(run(nn.GlobalAvgPool2DOp, x)[0], ort("GlobalAveragePool", x))
    assert (run(nn.GlobalMaxPool2DOp, x)[0] == ort("GlobalMaxPool", x)).all()
    assert (run(nn.GlobalMaxPool2DOp, x, layout="NHWC")[0] == x.max(axis=(1, 2), keepdims=True)).all()
