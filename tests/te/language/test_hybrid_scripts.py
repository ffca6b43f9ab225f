"""Hybrid scripts: attributes, allocations, `const_range`, bounds that move, scripts in scripts, lists of tensors."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule
from whence.kernels.open_functions import OpenFunction
from whence.support.errors import ScheduleError, WhenceError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(8)


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


def _run(output: Any, *pairs: tuple[Any, Array]) -> Any:
    schedule = te.create_schedule(output, inputs=[tensor for tensor, _ in pairs])
    return build_schedule(schedule, threads=1)(*(array for _, array in pairs))


@te.hybrid.script
def _squares(x: Any) -> Any:
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y


@te.hybrid.script
def _sum_and_difference(x: Any, y: Any) -> Any:
    s = output_tensor(x.shape, x.dtype)
    d = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        s[i] = x[i] + y[i]
        d[i] = x[i] - y[i]
    return s, d


@te.hybrid.script
def _of_scripts(x: Any, y: Any) -> Any:
    z = output_tensor(x.shape, x.dtype)
    q = _squares(x)
    s, d = _sum_and_difference(q, y)
    for i in range(x.shape[0]):
        z[i] = s[i] * d[i] + x.ndim
    return z


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scripts_call_scripts(dtype: str) -> None:
    x, y = te.placeholder((6,), dtype, "x"), te.placeholder((6,), dtype, "y")
    a, b = (_floats(6) * 9).astype(dtype), (_floats(6) * 9).astype(dtype)
    found = _run(_of_scripts(x, y), (x, a), (y, b))
    np.testing.assert_allclose(found, (a * a + b) * (a * a - b) + 1, rtol=1e-4)


@te.hybrid.script
def _in_a_loop(x: Any) -> Any:
    z = output_tensor((3, 6), x.dtype)
    for i in parallel(3):
        q = _squares(x)
        for j in range(6):
            z[i, j] = q[j] + i
    return z


def test_a_script_called_in_a_parallel_loop() -> None:
    x = te.placeholder((6,), name="x")
    a = _floats(6)
    np.testing.assert_allclose(_run(_in_a_loop(x), (x, a)), a * a + np.arange(3)[:, None], rtol=1e-6)


@te.hybrid.script
def _triangles(x: Any) -> Any:
    z = output_tensor((5, 5), "float32")
    for i in range(5):
        for j in range(i):
            z[i, j] = x[i] - x[j]
        for j in range(i, 5):
            z[i, j] = x[i] + x[j]
            for k in range(i + 1, j):
                z[i, j] += x[k]
    return z


def test_loops_bounded_by_loops() -> None:
    x = te.placeholder((5,), name="x")
    a = _floats(5)
    wanted = np.array(
        [[a[i] - a[j] if j < i else a[i] + a[j] + a[i + 1 : j].sum() for j in range(5)] for i in range(5)]
    )
    np.testing.assert_allclose(_run(_triangles(x), (x, a)), wanted, rtol=1e-5, atol=1e-6)


@te.hybrid.script
def _running(x: Any, n: Any) -> Any:
    y = output_tensor((n,), "float32")
    for i in range(n):
        y[i] = 0.0
        for j in range(i + 1):
            y[i] += x[j]
    return y


def test_loops_bounded_by_size_variables() -> None:
    n = te.size_var("n")
    x = te.placeholder((n,), name="x")
    f = build_schedule(te.create_schedule(_running(x, n)), threads=1)
    assert isinstance(f, OpenFunction)
    for size in (3, 8):
        a = _floats(size)
        np.testing.assert_allclose(f(a), np.cumsum(a), rtol=1e-4, atol=1e-6)
    assert f.specializations == []


@te.hybrid.script
def _weights(inputs: Any, scales: Any) -> Any:
    z = output_tensor((4,), "float32")
    t = allocate((4,), "float32", "global")
    u = allocate((1,), dtype="float32", scope="local")
    for i in range(4):
        t[i] = 0.0
        for c in const_range(len(inputs)):
            t[i] += inputs[c][i] * scales[c]
    for i in range(4):
        u[0] = t[3 - i]
        z[i] = u[0]
    return z


def test_lists_of_tensors_by_const_range_and_allocations_with_scopes() -> None:
    inputs = [te.placeholder((4,), name=f"x{i}") for i in range(3)]
    arrays = [_floats(4) for _ in inputs]
    found = _run(_weights(inputs, (1.0, 2.0, -3.0)), *zip(inputs, arrays, strict=True))
    np.testing.assert_allclose(found, (arrays[0] + 2 * arrays[1] - 3 * arrays[2])[::-1], rtol=1e-5, atol=1e-6)


@te.hybrid.script
def _steps_to_one(x: Any, combine: Any) -> Any:
    last = output_tensor(x.shape, x.dtype)
    steps = output_tensor((2, 3), "int32")
    rows = view(x, (2, 3))
    place = view(last, (2, 3))
    for i in parallel(2):
        for j in range(3):
            n = rows[i, j]
            steps[i, j] = 0
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    triple = n * 3
                    n = triple + 1
                steps[i, j] += 1
            place[i, j] = combine(n, rows[i, j])
    return last, steps


def test_loops_while_a_condition_holds_views_and_functions_given() -> None:
    x = te.placeholder((6,), "int32", "x")
    a = np.array([1, 2, 3, 6, 7, 27], np.int32)

    def combine(n: te.Expr, first: te.Expr) -> te.Expr:
        return n * 100 + first

    last, steps = _run(_steps_to_one(x, combine), (x, a))
    np.testing.assert_array_equal(last, 100 + a)
    np.testing.assert_array_equal(steps, [[0, 1, 7], [8, 16, 111]])


@te.hybrid.script
def _other_size(x: Any) -> Any:
    y = output_tensor((4,), "float32")
    v = view(x, (5,))
    for i in range(4):
        y[i] = v[i]
    return y


@te.hybrid.script
def _while_vectorized(x: Any) -> Any:
    y = output_tensor((4,), "float32")
    for i in vectorize(4):
        y[i] = x[i]
        while y[i] < 1.0:
            y[i] += 1.0
    return y


@te.hybrid.script
def _odd_scope(x: Any) -> Any:
    y = output_tensor((4,), "float32")
    t = allocate((4,), "float32", "warp")
    for i in range(4):
        t[i] = x[i]
        y[i] = t[i]
    return y


@te.hybrid.script
def _shared_in_parallel(x: Any) -> Any:
    y = output_tensor((4,), "float32")
    for i in parallel(4):
        t = allocate((4,), "float32", "global")
        t[i] = x[i]
        y[i] = t[i]
    return y


@te.hybrid.script
def _writes_its_input(x: Any) -> Any:
    y = output_tensor((4,), "float32")
    for i in range(4):
        x[i] = 0.0
        y[i] = x[i]
    return y


@te.hybrid.script
def _bounded_by_values(x: Any, at: Any) -> Any:
    y = output_tensor((4,), "float32")
    for i in range(4):
        y[i] = 0.0
        for j in range(at[i]):
            y[i] += x[j]
    return y


def test_what_scripts_may_not_do() -> None:
    x, at = te.placeholder((4,), name="x"), te.placeholder((4,), "int32", "at")
    for make, text in (
        (lambda: _odd_scope(x), "expected a scope among global, shared and local, got 'warp'"),
        (lambda: _shared_in_parallel(x), "expected a local tensor in a parallel loop, got one in scope global"),
        (lambda: _writes_its_input(x), r"expected an element of an output or allocated tensor, got 'x\[i\]'"),
        (lambda: _other_size(x), r"expected a shape of 4 elements, got \[5\]"),
        (lambda: _while_vectorized(x), "expected a while outside of vectorized loops"),
        (lambda: _bounded_by_values(x, at), r"te.hybrid '_bounded_by_values': expected .*test_hybrid_scripts.py:\d+"),
    ):
        with pytest.raises(ScheduleError, match=text):
            te.create_schedule(make())


@te.hybrid.script
def _weighted(x: Any, weights: Any) -> Any:
    y = output_tensor((6,), "float32")
    kept = allocate((6,), "float32", "shared")
    rows = len(weights)
    for i in bind("threadIdx.x", 6):
        assert i < 6, "past the end"
        kept[i] = 0.0
        for j in const_range(rows * 2):
            if j < rows:
                kept[i] += x[i] * weights[j, 1]
            else:
                kept[i] += weights[j - rows, 0]
    for i in bind("blockIdx.x", 6):
        y[i] = kept[i]
    return y


def test_lists_of_lists_and_names_of_numbers() -> None:
    x = te.placeholder((6,), name="x")
    values = _floats(6)
    y = _weighted(x, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(_run(y, (x, values)), values * 6 + 4, rtol=1e-5)
    assert "tir.assert" in str(te.create_schedule(y).func)
    assert y.op.axis == []


@te.hybrid.script
def _stops(x: Any) -> Any:
    y = output_tensor((6,), "float32")
    for i in range(6):
        assert x[i] > 0.0
        y[i] = x[i]
    return y


def test_an_assert_stops_the_call() -> None:
    x = te.placeholder((6,), name="x")
    _run(_stops(x), (x, np.ones(6, np.float32)))
    with pytest.raises(WhenceError, match=r"x\[i\] > 0.0"):
        _run(_stops(x), (x, np.zeros(6, np.float32)))


def test_the_axes_of_a_script_are_its_loops() -> None:
    x = te.placeholder((12,), name="x")
    y = _squares(x)
    s = te.create_schedule(y)
    (i,) = y.op.axis
    assert i.dom.extent == 12
    outer, _ = s[y].split(i, 5)
    assert s[y].leaf_iter_vars[0] is outer
    values = _floats(12)
    np.testing.assert_allclose(build_schedule(s)(values), values**2)
