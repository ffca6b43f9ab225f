"""topi: the compiler's own operators on te tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import whence
from whence import te, topi
from whence.kernels import build_schedule
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import FrontendError, ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(0)


def _random(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _normalised(x: Array) -> Array:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def _convolved(x: Array, w: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwij,ocij->nohw", sliding_window_view(padded, (3, 3), (2, 3)), w)


def test_operators_of_one_schedule():
    """As many as share their inputs are built at once."""
    a, b, x, w = _random(4, 8), _random(8), _random(1, 3, 8, 8), _random(4, 3, 3, 3)
    tensors = [te.placeholder(one.shape, name=name) for one, name in zip((a, b, x, w), "ABXW", strict=True)]
    A, B, X, W = tensors
    pairs: list[tuple[te.Tensor, Array]] = [
        (topi.matmul(A, topi.transpose(A)), a @ a.T),
        (topi.nn.relu(topi.add(A, B) * 2.0), np.maximum((a + b) * 2, 0)),
        (topi.cast(A, "float64"), a.astype(np.float64)),
        (topi.sum(A, 1, True), a.sum(1, keepdims=True)),
        (topi.argmax(A, axis=1), a.argmax(1)),
        (topi.nn.layer_norm(A, B, B), _normalised(a) * b + b),
        (topi.nn.batch_norm(A, B, B, B, topi.exp(B))[0], (a - b) / np.sqrt(np.exp(b) + 1e-5) * b + b),
        *zip(topi.split(topi.flip(A, 1), 2, axis=1), np.split(a[:, ::-1], 2, axis=1), strict=True),
        (topi.concatenate((A, topi.expand_dims(B, 0)), axis=0), np.concatenate([a, b[None]])),
        (topi.strided_slice(A, [0, 1], [4, 7], [2, 3]), a[0:4:2, 1:7:3]),
        (topi.nn.conv2d(X, W, 1, 1, 1), _convolved(x, w)),
        (topi.nn.max_pool2d(X, (2, 2), (2, 2)), x.reshape(1, 3, 4, 2, 4, 2).max((3, 5))),
    ]
    schedule = te.create_schedule([tensor for tensor, _ in pairs], inputs=tensors)
    for got, (tensor, want) in zip(build_schedule(schedule, threads=1)(a, b, x, w), pairs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=tensor.name)


def test_they_are_located_where_they_are_called():
    A = te.placeholder((4, 8), name="A")
    assert "test_topi.py" in str(topi.nn.softmax(A).op.location)
    with te.located(layer_location("attention", "net.onnx", 3)):
        assert layer_names(topi.nn.softmax(A).op.location) == ("attention",)


def test_they_can_be_scheduled():
    A = te.placeholder((64, 64), name="A")
    C = topi.nn.dense(A, A)
    s = te.create_schedule(C)
    i, j = C.op.axis
    s[C].parallel(s[C].tile(i, j, 8, 16)[0])
    a = _random(64, 64)
    np.testing.assert_allclose(build_schedule(s, threads=1)(a), a @ a.T, rtol=1e-4, atol=1e-5)


OPEN: dict[str, tuple[Callable[[Any, Any, Any], Any], Callable[[Array, Array], Array]]] = {
    "relu of a sum": (lambda n, a, b: topi.nn.relu(topi.add(a, b)), lambda a, b: np.maximum(a + b, 0)),
    "softmax": (lambda n, a, b: topi.nn.softmax(a), lambda a, b: np.exp(a) / np.exp(a).sum(-1, keepdims=True)),
    "sum": (lambda n, a, b: topi.sum(b, axis=0), lambda a, b: b.sum(0)),
    "products": (lambda n, a, b: topi.matmul(a, topi.transpose(b)), lambda a, b: a @ b.T),
    "one behind the other": (lambda n, a, b: topi.concatenate([a, b], axis=0), lambda a, b: np.concatenate([a, b])),
    "another axis": (lambda n, a, b: topi.expand_dims(a, 1), lambda a, b: a[:, None]),
    "all in one axis": (lambda n, a, b: topi.reshape(a, (n * 8,)), lambda a, b: a.reshape(-1)),
    "at most two rows": (lambda n, a, b: topi.strided_slice(a, [0, 2], [2, 8]), lambda a, b: a[:2, 2:8]),
}


@pytest.mark.parametrize("name", OPEN)
def test_tensors_of_open_sizes(name: str):
    make, meaning = OPEN[name]
    n = te.size_var("n")
    A, B = te.placeholder((n, 8), name="A"), te.placeholder((n, 8), name="B")
    C = make(n, A, B)
    assert A.shape == (n, 8)
    function = whence.build(te.create_schedule(C.op), [A, B, C], threads=1)
    for size in (1, 3, 16):
        a, b = _random(size, 8), _random(size, 8)
        found = np.zeros(meaning(a, b).shape, np.float32)
        function(a, b, found)
        np.testing.assert_allclose(found, meaning(a, b), rtol=1e-4, atol=1e-5)


def test_what_is_wrong_is_said():
    A = te.placeholder((4, 8), name="A")
    with pytest.raises(FrontendError, match="expected a weight of 8 columns"):
        topi.nn.dense(A, te.placeholder((8, 4), name="B"))
    with pytest.raises(ScheduleError, match="expected another name of a size than s1, which sizes of kernels have"):
        topi.nn.relu(te.placeholder((te.size_var("s1"),), name="N"))
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = topi.nonsense
    assert {"add", "nn", "matmul"} <= set(dir(topi))
    assert {"conv2d", "relu"} <= set(dir(topi.nn))


def _pooled(x: Array, reduced: Any) -> Array:
    return reduced(sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2], axis=(4, 5))


def _same(x: Array, w: Array) -> Array:
    """A convolution of 2 x 2 with every second element, of an image padded by one on each side."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwij,ocij->nohw", sliding_window_view(padded, (3, 3), (2, 3))[..., ::2, ::2], w)


def test_operators_of_one_layout():
    """Each is the sum of products that its layouts say."""
    x, w = _random(2, 4, 6, 6), _random(8, 4, 3, 3)
    grouped, deep = _random(8, 2, 3, 3), _random(4, 2, 3, 3)
    windows = sliding_window_view(x, (3, 3), (2, 3))
    image = x.transpose(0, 2, 3, 1).copy()
    full = np.einsum("nchwij,ocij->nohw", windows, w)
    halves = np.einsum("ngchwij,gocij->ngohw", windows.reshape(2, 2, 2, 4, 4, 3, 3), grouped.reshape(2, 4, 2, 3, 3))
    each = np.einsum("nchwij,cmij->ncmhw", windows, deep).reshape(2, 8, 4, 4)
    line, lines = _random(2, 3, 9), _random(5, 3, 4)
    row = np.einsum("ncwi,oci->now", sliding_window_view(line, 4, 2), lines)
    cube, cubes = _random(1, 2, 5, 5, 5), _random(3, 2, 2, 2, 2)
    block = np.einsum("nczhwijk,ocijk->nozhw", sliding_window_view(cube, (2, 2, 2), (2, 3, 4)), cubes)
    up, size = _random(4, 3, 2, 2), np.zeros((2, 3, 7, 7), np.float32)
    for i, j in np.ndindex(2, 2):
        size[:, :, i : i + 6, j : j + 6] += np.einsum("nchw,co->nohw", x, up[:, :, i, j])
    checks: list[tuple[str, list[Array], list[Any], Array]] = [
        ("conv2d_nchw", [x, w], [1, 0, 1], full),
        ("conv2d_nhwc", [image, w.transpose(2, 3, 1, 0).copy()], [1, 0, 1], full.transpose(0, 2, 3, 1)),
        (
            "conv2d_hwcn",
            [x.transpose(2, 3, 1, 0).copy(), w.transpose(2, 3, 1, 0).copy()],
            [1, 0, 1],
            full.transpose(2, 3, 1, 0),
        ),
        ("conv2d_nchw", [x, w], [1, "VALID", 1], full),
        ("conv2d_nchw", [x, w[:, :, :2, :2].copy()], [1, "SAME", 2], _same(x, w[:, :, :2, :2])),
        ("group_conv2d_nchw", [x, grouped], [1, 0, 1, 2], halves.reshape(2, 8, 4, 4)),
        ("depthwise_conv2d_nchw", [x, deep], [1, 0, 1], each),
        ("depthwise_conv2d_nhwc", [image, deep.transpose(2, 3, 0, 1).copy()], [1, 0, 1], each.transpose(0, 2, 3, 1)),
        ("conv1d_ncw", [line, lines], [], row),
        ("conv1d_nwc", [line.transpose(0, 2, 1).copy(), lines.transpose(2, 1, 0).copy()], [], row.transpose(0, 2, 1)),
        ("conv3d_ncdhw", [cube, cubes], [], block),
        ("conv2d_transpose_nchw", [x, up], [1, 0, None, 0], size),
        ("pool2d", [x], [[2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max"], _pooled(x, np.max)),
        ("pool2d", [x], [[2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "avg"], _pooled(x, np.mean)),
        ("global_pool", [x], ["avg"], x.mean((2, 3), keepdims=True)),
        ("adaptive_pool", [x], [(3, 3), "max"], _pooled(x, np.max)),
        ("softplus", [x * 20], [], np.maximum(x * 20, np.log1p(np.exp(np.minimum(x * 20, 30))))),
    ]
    for name, arrays, arguments, expected in checks:
        tensors = [te.placeholder(array.shape, name=f"T{at}") for at, array in enumerate(arrays)]
        result = getattr(topi.nn, name)(*tensors, *arguments)
        got = build_schedule(te.create_schedule(result, inputs=tensors))(*arrays)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=name)
    A = te.placeholder((3, 4), name="A")
    a = _random(3, 4)
    total = topi.elemwise_sum([A, A, topi.broadcast_mul(A, A)])
    got = build_schedule(te.create_schedule(total))(a)
    np.testing.assert_allclose(got, a + a + a * a, rtol=1e-5, atol=1e-6)
