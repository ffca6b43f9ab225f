"""Sizes that stay open: one code serves every size, compiled once."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.kernels import functions, lower
from whence.kernels.open_functions import OpenFunction

SIZES = (0, 1, 7, 8, 15, 16, 33, 257)
"""Nothing, one, beside and at the lanes of a vector, odd, large."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled since the test began."""
    found: list[str] = []
    compile_text = functions.compile_text

    def counted(text: str, *more: Any) -> Any:
        found.append(text)
        return compile_text(text, *more)

    monkeypatch.setattr(functions, "compile_text", counted)
    return found


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape, "float32")


def _check(schedule: Any, args: Sequence[Any], expected: Callable[..., Any], inputs: Sequence[Sequence[Any]]) -> Any:
    f = whence.build(schedule, args, threads=2)
    assert isinstance(f, OpenFunction)
    assert f.symbolic is not None
    for arrays in inputs:
        np.testing.assert_allclose(f(*arrays), expected(*arrays), rtol=1e-4, atol=1e-4)
    assert f.specializations == []
    return f


def _split(s: Any, x: Any) -> None:
    _, inner = s[x].split(x.op.axis[0], 16)
    s[x].vectorize(inner)


def _unrolled(s: Any, x: Any) -> None:
    outer, inner = s[x].split(x.op.axis[0], 4)
    s[x].unroll(inner)
    s[x].parallel(outer)


VECTORS: dict[str, Callable[[Any, Any], None]] = {
    "plain": lambda s, x: None,
    "split": _split,
    "whole": lambda s, x: s[x].vectorize(x.op.axis[0]),
    "unrolled": _unrolled,
    "parts": lambda s, x: s[x].split(x.op.axis[0], nparts=3),
}


@pytest.mark.parametrize("primitives", VECTORS)
def test_element_by_element(primitives: str, compiled: list[str]) -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] * 2.0 + a[n - 1 - i] + n, name="b")
    s = te.create_schedule(b.op)
    VECTORS[primitives](s, b)
    _check(s, [a, b], lambda x: x * 2 + x[::-1] + len(x), [[_floats(size)] for size in SIZES])
    assert len(compiled) == 1


def test_rows_columns_and_padding(compiled: list[str]) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, bias = te.placeholder((n, m), name="a"), te.placeholder((m,), name="bias")
    b = te.compute((m, n), lambda i, j: a[j, i] + bias[i], name="b")
    c = te.compute(
        (m + 2, n + 1),
        lambda i, j: te.if_then_else(te.all(i >= 1, i < m + 1, j < n), b[i - 1, j], 0.0),
        name="c",
    )
    s = te.create_schedule(c.op)
    s[c].vectorize(s[c].fuse(*c.op.axis))
    grid = [(p, q) for p in (0, 1, 5, 16) for q in (1, 9, 33)]
    _check(
        s,
        [a, bias, c],
        lambda x, y: np.pad((x + y).T, ((1, 1), (0, 1))),
        [[_floats(p, q), _floats(q)] for p, q in grid],
    )
    assert len(compiled) == 1


def _product(n: Any, m: Any, k: Any) -> tuple[Any, Any, Any]:
    a, b = te.placeholder((n, k), name="a"), te.placeholder((k, m), name="b")
    r = te.reduce_axis((0, k), "r")
    return a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="c")


def _tiled(s: Any, c: Any) -> None:
    x, y, xi, yi = s[c].tile(*c.op.axis, 4, 8)
    r, ri = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(x, y, r, xi, ri, yi)
    s[c].vectorize(yi)
    s[c].unroll(xi)
    s[c].parallel(x)


def _cached(s: Any, c: Any) -> None:
    cache = s.cache_write(c, "local")
    x, y, _, yi = s[c].tile(*c.op.axis, 4, 16)
    s[c].vectorize(yi)
    s[cache].compute_at(s[c], y)
    s[cache].reorder(cache.op.reduce_axis[0], *cache.op.axis)
    s[cache].vectorize(cache.op.axis[1])
    s[c].parallel(x)


def _factored(s: Any, c: Any) -> None:
    _, inner = s[c].split(c.op.reduce_axis[0], 4)
    s.rfactor(c, inner)


PRODUCTS: dict[str, Callable[[Any, Any], None]] = {"tiled": _tiled, "cached": _cached, "factored": _factored}


@pytest.mark.parametrize("primitives", PRODUCTS)
def test_products(primitives: str, compiled: list[str]) -> None:
    a, b, c = _product(te.size_var("n"), te.size_var("m"), te.size_var("k"))
    s = te.create_schedule(c.op)
    PRODUCTS[primitives](s, c)
    grid = [(0, 3, 4), (3, 4, 0), (1, 1, 1), (4, 16, 4), (7, 17, 5), (33, 40, 19)]
    _check(s, [a, b, c], lambda x, y: x @ y, [[_floats(p, k), _floats(k, q)] for p, q, k in grid])
    assert len(compiled) == 1


def test_stages_inside_others(compiled: list[str]) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n, m), name="a")
    k, r = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "r")
    top = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((n, m), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((n,), lambda i: te.sum(power[i, r], axis=r), name="total")
    out = te.compute((n, m), lambda i, j: power[i, j] / total[i], name="out")
    s = te.create_schedule(out.op)
    for stage in (top, power, total):
        s[stage].compute_at(s[out], out.op.axis[0])
    s[power].vectorize(power.op.axis[1])
    s[out].vectorize(out.op.axis[1])
    s[out].parallel(out.op.axis[0])

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True, initial=-1e9))
        return e / e.sum(1, keepdims=True)

    grid = [(0, 3), (1, 1), (3, 15), (5, 16), (9, 33), (2, 300)]
    _check(s, [a, out], softmax, [[_floats(*shape)] for shape in grid])
    assert len(compiled) == 1


def test_reads_kept_beside_windows(compiled: list[str]) -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    k = te.reduce_axis((0, 3), "k")
    b = te.compute((n,), lambda i: a[i] * a[i], name="b")
    c = te.compute((n - 2,), lambda i: te.sum(b[i + k], axis=k), name="c")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], 8)
    s[b].compute_at(s[c], outer)
    near = s.cache_read(a, "local", [b])
    s[near].compute_at(s[c], outer)
    _check(s, [a, c], lambda x: np.convolve(x * x, np.ones(3), "valid"), [[_floats(n)] for n in (3, 4, 9, 10, 11, 100)])
    assert len(compiled) == 1


def test_scans_over_open_steps(compiled: list[str]) -> None:
    m, n = te.size_var("m"), te.size_var("n")
    x = te.placeholder((m, n), name="x")
    state = te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: x[0, i])
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i])
    total = te.scan(init, update, state, inputs=[x])
    s = te.create_schedule(total.op)
    grid = [(1, 1), (2, 7), (9, 16), (30, 3)]
    _check(s, [x, total], lambda a: np.cumsum(a, 0), [[_floats(*shape)] for shape in grid])
    assert len(compiled) == 1


def test_two_symbols_that_a_reshape_divides() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n * m,), name="a")
    b = te.compute((n, m), lambda i, j: a[i * m + j], name="b")
    c = te.compute((n * m,), lambda i: b[i // m, i % m] + 1.0, name="c")
    f = _check(te.create_schedule(c.op), [n, m, a, c], lambda n, m, x: x + 1, [[3, 5, _floats(15)], [1, 4, _floats(4)]])
    assert "floordiv s1" in f.tir


def test_text_of_open_sizes_is_read_back() -> None:
    *_, c = _product(te.size_var("n"), te.size_var("m"), te.size_var("k"))
    s = te.create_schedule(c.op)
    _tiled(s, c)
    func = lower(s)
    again = whence.build_prim_func(str(func), threads=1)
    assert again.sizes == ("n", "k", "m")
    x, y = _floats(5, 9), _floats(9, 17)
    np.testing.assert_allclose(again.at((5, 9, 17))(x, y), x @ y, rtol=1e-4, atol=1e-4)


def test_what_depends_on_a_size_is_specialised() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n,), name="a"), te.placeholder((m,), name="b")
    f = whence.build_schedule(te.create_schedule((a + b).op))
    assert isinstance(f, OpenFunction)
    np.testing.assert_allclose(f(_floats(4), _floats(4)), _floats(4) * 2)
    assert f.specializations == [{"n": 4, "m": 4}]


def test_sizes_that_shapes_are_linear_in() -> None:
    n = te.size_var("n")
    a = te.placeholder((n * 4 + 2,), name="a")
    f = whence.build_schedule(te.create_schedule(te.compute((n * 4 + 2,), lambda i: a[i] * 2.0)))
    np.testing.assert_allclose(f(np.ones(10, np.float32)), np.full(10, 2))
    with pytest.raises(whence.ScheduleError, match="expected a value for the variable 'n'"):
        f(np.ones(9, np.float32))


def test_locations_of_sizes() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b.op)
    _split(s, b)
    for op in lower(s).walk():
        assert "test_symbolic_sizes.py" in str(op.location), op


@pytest.mark.parametrize("height", [6, 14])
@pytest.mark.parametrize("kept", [False, True])
def test_rows_past_the_end_of_a_tile_add_nothing_twice(height: int, kept: bool, compiled: list[str]) -> None:
    n = te.size_var("n")
    a, w = te.placeholder((n, 9), name="a"), te.placeholder((9, 8), name="w")
    k = te.reduce_axis((0, 9), name="k")
    b = te.compute((n, 8), lambda i, j: te.sum(a[i, k] * w[k, j], axis=k), name="b")
    s = te.create_schedule(b.op)
    # Sums that are kept in memory of the result are there to be added to, row by row.
    local = s.cache_write(b, "local") if kept else b
    outer, inner = s[b].split(b.op.axis[0], height)
    s[b].reorder(outer, inner, b.op.axis[1])
    s[b].unroll(inner)
    s[b].vectorize(b.op.axis[1])
    if kept:
        s[local].compute_at(s[b], outer)
        s[local].reorder(local.op.reduce_axis[0], *local.op.axis)
        s[local].unroll(local.op.axis[0])
        s[local].vectorize(local.op.axis[1])
    else:
        s[b].reorder(outer, b.op.reduce_axis[0], inner, b.op.axis[1])
    sizes = (*range(2 * height + 2), 33)
    _check(s, [a, w, b], lambda x, y: x @ y, [[_floats(size, 9), _floats(9, 8)] for size in sizes])
    assert len(compiled) == 1
