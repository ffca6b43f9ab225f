"""Operators of Relax that several operators of relay make up, against numpy: values, shapes and dtypes."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.support.errors import TextError
from whence.syntax.relay.equal import structural_equal

RNG = np.random.default_rng(3)
X: Any = RNG.uniform(-1, 1, (2, 6, 3)).astype(np.float32)
AT, J = np.array([0, -1, 1]), np.array([2, 0, 5])
K = RNG.integers(0, 4, (2, 6, 3))


def rows_of(x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def put(x: Any, places: Any, values: Any) -> Any:
    result = x.copy()
    result[places] = values
    return result


def added(x: Any, places: Any, values: Any) -> Any:
    result = x.copy()
    np.add.at(result, places, values)
    return result


CASES: dict[str, tuple[str, list[Any], Callable[..., Any]]] = {
    "layout with padding": (
        "R.layout_transform(a, index_map=lambda n, c, w: (n, c // 4, w, c % 4), pad_value=2.0)",
        [X],
        lambda x: np.pad(x, ((0, 0), (0, 2), (0, 0)), constant_values=2).reshape(2, 2, 4, 3).transpose(0, 1, 3, 2),
    ),
    "layout joined": (
        "R.layout_transform(a, index_map=T.index_map(lambda n, c, w: (w, n * 6 + c)))",
        [X],
        lambda x: x.reshape(12, 3).T,
    ),
    "layout split twice": (
        "R.layout_transform(a, index_map=lambda n, c, w: (n, w, c // 6, c % 6 // 2, c % 2))",
        [X],
        lambda x: x.transpose(0, 2, 1).reshape(2, 3, 1, 3, 2),
    ),
    "layer_norm over axes": (
        "R.nn.layer_norm(a, b, b, axes=[-2, -1])",
        [X, X[0].copy()],
        lambda x, g: rows_of(x, (1, 2)) * g + g,
    ),
    "layer_norm over axes apart": (
        "R.nn.layer_norm(a, b, b, axes=[0, 2])",
        [X, X[:, 0].copy()],
        lambda x, g: rows_of(x, (0, 2)) * g[:, None] + g[:, None],
    ),
    "rms_norm over axes": (
        "R.nn.rms_norm(a, b, axes=[1, 2], epsilon=0.5)",
        [X, X[0].copy()],
        lambda x, w: x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 0.5) * w,
    ),
    "index_put": ("R.index_put(a, (b, c), d)", [X, AT, J, X[0, :3].copy()], lambda x, i, j, v: put(x, (i, j), v)),
    "index_put adds": (
        "R.index_put(a, (b,), c, accumulate=True)",
        [X, AT, X[0, 0].copy()],
        lambda x, i, v: added(x, (i,), v),
    ),
    "index_tensor": ("R.index_tensor(a, (b, c))", [X, np.abs(AT), J], lambda x, i, j: x[i, j]),
    "slice_scatter": (
        "R.slice_scatter(a, b, R.prim_value(1), R.prim_value(5), R.prim_value(2), axis=-2)",
        [X, X[:, :2].copy()],
        lambda x, v: put(x, (slice(None), slice(1, 5, 2)), v),
    ),
    "dynamic_strided_slice": (
        "R.dynamic_strided_slice(a, b, c, d)",
        [X, np.array([0, 1, 0]), np.array([2, 6, 2]), np.array([1, 2, 1])],
        lambda x, *_: x[:, 1:6:2, :2],
    ),
    "nonzero": ("R.nonzero(a)", [(X > 0).astype(np.float32)], lambda x: np.stack(np.nonzero(x))),
    "median": ("R.median(a, axis=[1])[0]", [X], lambda x: np.sort(x, 1)[:, 2]),
    "its place": ("R.median(a, axis=-1, keepdims=True)[1]", [X], lambda x: np.argsort(x, 2)[:, :, 1:2]),
    "median of all": ("R.median(a)", [X], lambda x: np.sort(x.reshape(-1))[17]),
    "unique": ("R.unique(a, return_counts=True)[1]", [K], lambda x: np.unique(x, return_counts=True)[1]),
    "inverse": ("R.unique(a, return_inverse=True)[1]", [K], lambda x: np.unique(x, return_inverse=True)[1].reshape(-1)),
    "shape": ("R.shape([2, 7])", [], lambda: np.array([2, 7])),
    "shape_to_tensor": ("R.shape_to_tensor(R.shape_of(a))", [X], lambda x: np.array(x.shape)),
    "tensor_to_shape": ("R.reshape(a, R.tensor_to_shape(b))", [X, np.array([4, 9])], lambda x, s: x.reshape(s)),
    "zeros": ('R.zeros(R.tensor_to_shape(a), "float32")', [np.array([2, 3])], lambda s: np.zeros(s, np.float32)),
    "view": ("R.memory.view(a, R.shape([9, 4]))", [X], lambda x: x.reshape(9, 4)),
    "relax.op": ("relax.op.nn.relu(a)", [X], lambda x: np.maximum(x, 0)),
    "one stride for all": (
        "R.nn.max_pool3d(a, pool_size=[2], strides=[2], padding=[0], dilation=[1])",
        [X.reshape(1, 1, 2, 6, 3)],
        lambda x: x[:, :, :, :, :2].reshape(1, 1, 1, 2, 3, 2, 1, 2).max((3, 5, 7)),
    ),
    "no window behind the data": (
        "R.nn.max_pool2d(a, pool_size=[2, 2], strides=[2, 2], padding=[1, 1, 1, 1], ceil_mode=True)",
        [X[:, :, None]],
        lambda x: np.stack([x[..., 0], x[..., 1:3].max(-1)], -1),
    ),
    "prelu of one": (
        'R.nn.prelu(a, R.const([0.25], "float32"), axis=1)',
        [X],
        lambda x: np.where(x > 0, x, x * np.float32(0.25)),
    ),
    "clip without an end": ('R.clip(a, T.float32(0.5), T.float32("inf"))', [X], lambda x: np.maximum(x, 0.5)),
    "multinomial": (
        "R.multinomial_from_uniform(a, b, c)",
        [
            np.array([[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]], np.float32),
            np.array([[0.1], [0.4], [0.7], [0.2]], np.float32),
            np.array([[0], [0], [1], [1]]),
        ],
        lambda *_: np.array([[0], [1], [2], [0]]),
    ),
    "hamming_window": (
        'R.hamming_window(R.prim_value(7), R.prim_value(1), R.prim_value(0.54), R.prim_value(0.46), "float32")',
        [],
        lambda: np.hamming(8)[:7].astype(np.float32),
    ),
}


WITHOUT_TEXT = {"unique", "inverse", "tensor_to_shape", "zeros"}
"""Operators whose kernels have no text."""


@pytest.mark.parametrize("name", CASES)
def test_operators_are_what_numpy_says(name: str):
    text, arrays, reference = CASES[name]
    params = [f'{letter}: R.Tensor({a.shape}, "{a.dtype}")' for letter, a in zip("abcd", arrays, strict=False)]
    source = f"@R.function\ndef main({', '.join(params)}):\n    return {text}\n"
    module = relay.IRModule({"main": whence.script.from_source(source)})
    if name not in WITHOUT_TEXT:
        again = whence.script.from_source(module.script(show_meta=True))
        assert structural_equal(again.typed(), module.typed())
    expected = np.asarray(reference(*arrays))
    result = np.asarray(whence.compile(module, threads=1)(*arrays))
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


REFUSED = {
    "layout by an index": (
        "R.layout_transform(a, index_map=lambda n, c, w: (n, c // w, w))",
        "expected divisions by numbers, got one by an index",
    ),
    "layout that turns": (
        "R.layout_transform(a, index_map=lambda n, c, w: (n, 5 - c, w))",
        "expected an index map that splits, moves and joins axes",
    ),
    "layout of other rank": (
        "R.layout_transform(a, index_map=lambda n, c: (n, c))",
        "expected a lambda of 3 indices as index_map, got 2 indices",
    ),
    "medians": ("R.median(a, axis=[0, 1])", r"expected one axis or none, got \[0, 1\]"),
    "backwards": ("R.slice_scatter(a, a, 5, 0, -1, axis=1)", "expected a step of at least 1, got -1"),
    "allocation": ('R.builtin.alloc_tensor(R.shape([2]), "float32", 0)', "there are no tensors that a text allocates"),
    "devices": ("R.ccl.allreduce(a)", "there are no several devices"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_operators_do_not_take_is_told_at_its_place(name: str):
    text, expected = REFUSED[name]
    source = f'@R.function\ndef main(a: R.Tensor((2, 6, 3), "float32")):\n    return {text}\n'
    with pytest.raises(TextError, match=f"<text>:3:12: .*{expected}"):
        whence.script.from_source(source)


def test_a_kernel_is_an_operator_as_long_as_it_is_that_of_the_operator():
    x = relay.var("x", shape=(3, 4))
    module = relay.IRModule.from_expr(relay.Function([x], relay.log1p(x)))
    text = module.script()
    back = whence.script.from_source(text)
    assert structural_equal(back.typed(), module.typed())
    assert not back.kernels
    edited = whence.script.from_source(text.replace("T.log1p(", "T.exp("))
    assert list(edited.kernels) == ["log1p"]
    ones = np.ones((3, 4), np.float32)
    np.testing.assert_allclose(whence.compile(edited)(ones), np.exp(ones), rtol=1e-5)
