"""Operators whose shapes are expressions: made by the builders, run by every dynamic executor, static where known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from whence import relay
from whence.support.errors import WhenceError

ops: Any = relay
RNG = np.random.default_rng(9)
X = RNG.standard_normal((3, 4)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 2, 3, 3)).astype(np.float32)
POINTS, VALUES = np.array([[0, 0], [2, 1]]), np.array([1, 2], np.float32)


def best(x: Any, k: int) -> tuple[Any, Any]:
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(x, order, 1), order.astype(np.int32)


def dense(points: Any, shape: Any, values: Any) -> Any:
    result = np.full(shape, 7, np.float32)
    result[tuple(points.T)] = values
    return result


ONE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], list[Any]]] = {
    "zeros": (lambda s: ops.zeros(s, "float32"), lambda s: np.zeros(s, np.float32), [np.array([2, 3])]),
    "arange": (lambda n: ops.arange(n, dtype="int64"), np.arange, [np.int64(5)]),
}
TWO: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], list[Any]]] = {
    "topk": (lambda x, k: ops.topk(x, k, axis=1).astuple(), best, [X, np.int64(2)]),
    "one_hot": (
        lambda i, d: ops.one_hot(i, ops.const(1.0), ops.const(0.0), d, -1, "float32"),
        lambda i, d: np.eye(d, dtype=np.float32)[i],
        [np.array([0, 2, 1], np.int32), np.int64(4)],
    ),
    "pad": (
        lambda x, w: ops.nn.pad(x, w, 3.0),
        lambda x, w: np.pad(x, w, constant_values=3),
        [X, np.array([[1, 0], [0, 2]])],
    ),
    "expand_dims": (lambda x, a: ops.expand_dims(x, a, 2), lambda x, a: x[:, None, None], [X, np.int64(1)]),
    "squeeze": (lambda x, a: ops.squeeze(x, a), lambda x, a: x[0], [IMAGE, np.array([0])]),
    "reshape": (lambda x, s: ops.reshape(x, s), lambda x, s: x.reshape(s), [X, np.array([2, -1])]),
    "reshape, a list": (lambda x, k: ops.reshape(x, [k, -1]), lambda x, k: x.reshape(k, -1), [X, np.int32(6)]),
    "slice": (lambda x, b: ops.strided_slice(x, b, [3, 3]), lambda x, b: x[1:3, 0:3], [X, np.array([1, 0])]),
    "upsampling": (
        lambda x, s: ops.nn.upsampling(x, s, s),
        lambda x, s: x.repeat(2, 2).repeat(2, 3),
        [IMAGE, np.float32(2)],
    ),
    "resize": (
        lambda x, s: ops.image.resize2d(x, s, None, "NCHW", "nearest_neighbor", "asymmetric"),
        lambda x, s: x.repeat(2, 2).repeat(3, 3),
        [IMAGE, np.array([6, 9])],
    ),
}
THREE: dict[str, tuple[Callable[[Any, Any, Any], Any], Callable[[Any, Any, Any], Any], list[Any]]] = {
    "sparse": (
        lambda i, s, v: ops.sparse_to_dense(i, s, v, ops.const(7.0)),
        dense,
        [POINTS, np.array([3, 3]), VALUES],
    ),
}
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Any]]] = {**ONE, **TWO, **THREE}


@pytest.mark.parametrize("name", CASES)
def test_a_shape_that_a_run_computes(name: str) -> None:
    build, wanted, values = CASES[name]
    params = [relay.var(f"p{k}", shape=np.shape(v), dtype=np.asarray(v).dtype.name) for k, v in enumerate(values)]
    func = relay.Function(params, build(*params))
    assert "dyn." in str(func)
    expected = wanted(*values)
    many: tuple[Any, ...] = cast(Any, expected if isinstance(expected, tuple) else (expected,))
    runs = [(kind, relay.IRModule.from_expr(func)) for kind in ("debug", "vm")]
    # With constants in the place of parameters nothing is left for a run to decide.
    if len(values) > 1:
        body: Any = func.body
        for param, value in zip(params[1:], values[1:], strict=True):
            body = relay.Let(param, relay.const(np.asarray(value), np.asarray(value).dtype.name), body)
        known = relay.IRModule.from_expr(relay.Function(params[:1], body))
        runs.append(("graph", ops.transform.DynamicToStatic()(ops.transform.ToGraphNormalForm()(known))))
    for kind, mod in runs:
        found = relay.create_executor(kind, mod).evaluate()(*(values if kind != "graph" else values[:1]))
        made: tuple[Any, ...] = cast(Any, found if isinstance(found, tuple) else (found,))
        for one, other in zip(made, many, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
            assert one.dtype == np.asarray(other).dtype


def test_shapes_of_what_is_known_are_known() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(6, 1))
    mod = relay.IRModule.from_expr(relay.Function([x, y], ops.reshape(x, ops.shape_of(y))))
    assert "dyn.reshape" in str(mod)
    static = ops.transform.DynamicToStatic()(mod)
    assert "reshape(%x, newshape=[6, 1])" in str(static)
    assert "shape_of" not in str(static)
    text = mod.astext()
    assert relay.analysis.structural_equal(relay.fromtext(text)["main"], mod["main"])


def test_what_decides_is_checked() -> None:
    x, axis = relay.var("x", shape=(2, 3)), relay.var("a", shape=(2,))
    with pytest.raises(WhenceError, match=r"dyn.squeeze: expected .* integer.* axis, got tensor<2xf32>"):
        relay.IRModule.from_expr(ops.squeeze(x, axis)).typed()
