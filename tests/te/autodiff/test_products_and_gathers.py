"""Gradients of products, also where factors are 0, and of reads at computed indices, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(7)


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


def _run(outputs: Any, inputs: list[Any], *arrays: Array) -> Any:
    return build_schedule(te.create_schedule(outputs, inputs=inputs), threads=1)(*arrays)


@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("where", [False, True])
@pytest.mark.parametrize("start", [False, True])
def test_product(begin: int, where: bool, start: bool) -> None:
    a, init, head = (te.placeholder(s, name=n) for s, n in (((3, 4), "a"), ((3,), "init"), ((3,), "head")))
    k = te.reduce_axis((begin, 4), "k")

    def element(i: te.Expr) -> te.Expr:
        return te.prod(te.sin(a[i, k]), axis=k, where=k != 2 if where else None, init=init[i] if start else None)

    gradients = te.gradient(te.compute((3,), element, name="p"), [a, init], head)
    x, s, h = _floats(3, 4), _floats(3), _floats(3)
    x[1, 3] = x[2, 1] = x[2, 3] = 0
    terms = [q for q in range(begin, 4) if not (where and q == 2)]
    factor = s if start else np.ones(3)
    wanted = np.zeros((3, 4))
    for q in terms:
        wanted[:, q] = h * factor * np.cos(x[:, q]) * np.prod(np.sin(x[:, [p for p in terms if p != q]]), axis=1)
    found, slope = _run(gradients, [a, init, head], x, s, h)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slope, h * np.prod(np.sin(x[:, terms]), axis=1) * start, rtol=1e-4, atol=1e-6)


def test_take_beside_a_plain_read() -> None:
    x, at = te.placeholder((6, 4), name="x"), te.placeholder((5,), "int32", "at")
    taken = te.compute((5, 4), lambda i, j: te.exp(x[at[i], j]) * x[i, j], name="taken")
    head = te.placeholder((5, 4), name="head")
    (gradient,) = te.gradient(taken, [x], head)
    value, places, h = _floats(6, 4), np.array([1, 1, 5, 0, 1], "int32"), _floats(5, 4)
    wanted = np.zeros((6, 4))
    np.add.at(wanted, places, h * np.exp(value[places]) * value[:5])
    wanted[:5] += h * np.exp(value[places])
    np.testing.assert_allclose(_run(gradient, [x, at, head], value, places, h), wanted, rtol=1e-5, atol=1e-6)


def test_sum_of_what_is_taken_under_a_condition() -> None:
    x, at, head = te.placeholder((6, 4), name="x"), te.placeholder((5,), "int32", "at"), te.placeholder((4,), name="h")
    k = te.reduce_axis((0, 5), "k")
    total = te.compute((4,), lambda j: te.sum(x[at[k], j] * 2.0, axis=k, where=k != 3), name="total")
    (gradient,) = te.gradient(total, [x], head)
    value, places, h = _floats(6, 4), np.array([1, 1, 5, 0, 1], "int32"), _floats(4)
    wanted = np.zeros((6, 4))
    np.add.at(wanted, places[[0, 1, 2, 4]], 2 * h)
    np.testing.assert_allclose(_run(gradient, [x, at, head], value, places, h), wanted, rtol=1e-5)


def test_computed_indices_in_two_dimensions() -> None:
    x = te.placeholder((3, 4), name="x")
    rows, columns = (te.placeholder((6,), "int32", name) for name in ("rows", "columns"))
    head = te.placeholder((6,), name="head")
    (gradient,) = te.gradient(te.compute((6,), lambda i: x[rows[i], columns[i]], name="nd"), [x], head)
    value, r, c, h = _floats(3, 4), _RANDOM.integers(0, 3, 6), _RANDOM.integers(0, 4, 6), _floats(6)
    wanted = np.zeros((3, 4))
    np.add.at(wanted, (r, c), h)
    found = _run(gradient, [x, rows, columns, head], value, r.astype("int32"), c.astype("int32"), h)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
