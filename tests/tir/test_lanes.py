# pyright: reportUnknownLambdaType=false
"""Vectors as expressions: dtypes of lanes, ramps, broadcasts, shuffles, and names of values in expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, script, te, tir
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
X, Y, F = te.var("x"), te.var("y"), te.var("f", "float32")


@pytest.mark.parametrize(
    ("expr", "dtype", "text"),
    [
        (tir.Ramp(X, 1, 4), "int32x4", "T.Ramp(x, 1, 4)"),
        (tir.Broadcast(0.5, 8), "float32x8", "T.Broadcast(T.float32(0.5), 8)"),
        (tir.Shuffle([X, Y], [1, 0]), "int32x2", "T.Shuffle([x, y], [1, 0])"),
        (tir.Let(X, 1, X + Y), "int32", "T.Let(x + y, where={x: 1})"),
        (tir.Ramp(X, 1, 4) + Y, "int32x4", "T.Ramp(x, 1, 4) + T.Broadcast(y, 4)"),
        (2 * tir.Ramp(X, 1, 4), "int32x4", "T.Broadcast(2, 4) * T.Ramp(x, 1, 4)"),
        (tir.Ramp(X, 1, 4) < Y, "boolx4", "T.Ramp(x, 1, 4) < T.Broadcast(y, 4)"),
        (X.astype("float32x2"), "float32x2", 'T.Broadcast(T.Cast("float32", x), 2)'),
        (tir.Ramp(X, 1, 2).astype("float32x2"), "float32x2", 'T.Cast("float32x2", T.Ramp(x, 1, 2))'),
        (te.var("v", "int32x4"), "int32x4", "v"),
        (te.var("v", "uint1x2"), "boolx2", "v"),
    ],
)
def test_vectors_have_dtypes_and_texts(expr: te.Expr, dtype: str, text: str):
    assert (expr.dtype, str(expr)) == (dtype, text)


def test_vectors_are_of_their_class_and_have_its_attributes():
    ramp, broadcast = tir.Ramp(X, 2, 4), tir.Broadcast(Y, 4)
    assert isinstance(ramp, tir.Ramp)
    assert not isinstance(ramp, tir.Broadcast | tir.Call)
    assert (ramp.base, ramp.stride.value, ramp.lanes) == (X, 2, 4)
    assert (broadcast.value, broadcast.lanes) == (Y, 4)
    shuffle = tir.Shuffle([ramp, X], [4, 0])
    assert (shuffle.vectors, [index.value for index in shuffle.indices]) == ((ramp, X), [4, 0])
    assert X.same_as(tir.Let(X, 1, Y).var)
    assert not (X + 1).same_as(X + 1)


def test_vectors_are_equal_by_structure():
    assert ir.structural_equal(tir.Ramp(X, 1, 4) + Y, tir.Ramp(X, 1, 4) + tir.Broadcast(Y, 4))
    assert not ir.structural_equal(tir.Ramp(X, 1, 4), tir.Ramp(X, 2, 4))
    assert not ir.structural_equal(tir.Ramp(X, 1, 4), tir.Ramp(X, 1, 8))
    assert ir.structural_hash(tir.Broadcast(X, 4)) == ir.structural_hash(tir.Broadcast(X, 4))
    assert ir.structural_equal(tir.Let(X, 1, X + Y), tir.Let(te.var("z"), 1, X + Y)) is False
    z = te.var("z")
    assert ir.structural_equal(tir.Let(X, 1, X + Y), tir.Let(z, 1, z + Y))


def test_a_named_value_is_computed():
    A = te.placeholder((5,), name="A")
    B = te.compute((5,), lambda i: tir.Let(F, A[i] * 2.0, F * F + F), name="B")
    data = np.random.default_rng(0).standard_normal(5).astype("float32")
    result = np.empty(5, "float32")
    whence.build(te.create_schedule(B), [A, B])(data, result)
    np.testing.assert_allclose(result, (data * 2) ** 2 + data * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tir.Ramp(F, 1, 4), "tir.Ramp: expected scalar integers as base and stride, got float32"),
        (lambda: tir.Ramp(X, 1, 1), "tir.Ramp: expected at least 2 lanes, got 1"),
        (lambda: tir.Ramp(X, 1, 4) + tir.Ramp(X, 1, 8), "te.add: expected operands of one number of lanes"),
        (lambda: tir.Ramp(X, 1, 4).astype("int32"), "te.cast: expected a dtype of 4 lanes as int32x4 has, got int32"),
        (lambda: tir.Shuffle([X, F], [0]), "tir.Shuffle: expected vectors of one dtype"),
        (lambda: tir.Shuffle([X], [1]), "tir.Shuffle: expected indices from 0 to 0, got 1"),
        (lambda: tir.Let(F, X, X), "tir.Let: expected a value of float32 for 'f', got int32"),
        (lambda: te.var("v", "int32x"), "te.var: expected a dtype among"),
    ],
)
def test_vectors_that_cannot_be_are_refused(make: object, message: str):
    with pytest.raises(ScheduleError, match=message):
        make()  # type: ignore[operator]


def test_a_compute_of_vectors_is_refused():
    with pytest.raises(ScheduleError, match=r"te\.compute 'B': expected scalars, got int32x4; vectorize a loop"):
        whence.build(te.create_schedule(B := te.compute((4,), lambda i: tir.Ramp(i, 1, 4), name="B")), [B])


A, B = tir.decl_buffer((4, 16), name="A"), tir.decl_buffer((4, 16), name="B")
C = tir.decl_buffer((16,), "int32", name="C")
FIRST = tir.Ramp(0, 1, 8)
HALF = A[X, FIRST]
BACK = tir.Shuffle([A[X, FIRST + 8]], list(range(7, -1, -1)))
LANES = np.arange(8)


def halves(a: Array, x: int) -> tuple[Array, Array]:
    return a[x, :8], a[x, 8:][::-1]


def on_rows(value: te.Expr) -> tir.PrimFunc:
    """A function that writes a vector into each row of B."""
    return tir.PrimFunc([A, B], tir.For(X, 0, 4, 0, tir.BufferStore(B, value, [X, tir.Ramp(1, 2, 8)])))


ROWS: dict[str, tuple[te.Expr, Callable[[Array, int], Array]]] = {
    "arithmetic": (te.exp(HALF) * 2.0 - BACK / 3.0, lambda a, x: np.exp(a[x, :8]) * 2 - halves(a, x)[1] / 3),
    "a number": (HALF + A[X, 3], lambda a, x: a[x, :8] + a[x, 3]),
    "negative": (-HALF, lambda a, x: -a[x, :8]),
    "mask": (tir.Select(tir.Ramp(X, 1, 8) < 7, HALF, BACK), lambda a, x: np.where(LANES + x < 7, *halves(a, x))),
    "masks": (
        te.select(tir.Or(HALF < 0.0, tir.Not(BACK >= HALF)), HALF, 1.5),
        lambda a, x: np.where((a[x, :8] < 0) | ~(halves(a, x)[1] >= a[x, :8]), a[x, :8], np.float32(1.5)),
    ),
    "choice": (te.if_then_else(X > 1, HALF, 2.5), lambda a, x: a[x, :8] if x > 1 else a[x, :8] * 0 + 2.5),
    "conversion": (te.floor(HALF * 9.0).astype("int32x8").astype("float32x8"), lambda a, x: np.floor(a[x, :8] * 9)),
    "bits": (te.reinterpret("float32x8", te.reinterpret("int32x8", HALF) ^ (-(2**31))), lambda a, x: -a[x, :8]),
    "joined": (tir.Shuffle([A[X, tir.Ramp(0, 1, 4)], A[X, 9], 2.0], [4, 0, 5, 3, 3, 1, 4, 2]),
               lambda a, x: np.array([a[x, 9], a[x, 0], 2, a[x, 3], a[x, 3], a[x, 1], a[x, 9], a[x, 2]], 'float32')),
    "a lane": (HALF * tir.Shuffle([BACK], [2]), lambda a, x: a[x, :8] * a[x, 13]),
    "numbers": (HALF + tir.Shuffle([float(n) for n in range(8)], list(range(8))), lambda a, x: a[x, :8] + LANES),
    "a let": (tir.Let(te.var("v", "float32x8"), HALF, HALF), lambda a, x: a[x, :8]),
    "backwards": (A[X, 15 - 2 * FIRST], lambda a, x: a[x, ::-2]),
    "one place": (A[X, tir.Broadcast(5, 8)] + HALF, lambda a, x: a[x, 5] + a[x, :8]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_functions_of_vectors_compute_print_and_are_read(name: str):
    value, expected = ROWS[name]
    func = on_rows(value)
    data = np.random.default_rng(3).standard_normal((4, 16)).astype("float32")
    wanted = np.full((4, 16), 7, "float32")
    for x in range(4):
        wanted[x, 1::2] = expected(data, x)
    for made in (func, script.from_source(func.script()), script.from_source(script.text(func.op))):
        result = np.full((4, 16), 7, "float32")
        whence.build(made)(data, result)
        np.testing.assert_allclose(result, wanted, rtol=2e-6)


INTEGERS: dict[str, tuple[te.Expr, Callable[[Array], Array]]] = {
    "divisions": (
        C[FIRST] // 3 * 5 + C[FIRST] % 4 - te.truncdiv(C[FIRST], tir.Broadcast(3, 8)),
        lambda c: c // 3 * 5 + c % 4 - np.trunc(c / 3).astype("int32"),
    ),
    "bits": (((C[FIRST] & 12) | 1) ^ (~C[FIRST] << 2) >> 1, lambda c: ((c & 12) | 1) ^ (~c << 2) >> 1),
    "a ramp": (tir.Ramp(C[0], C[1], 8) + tir.Ramp(3, -2, 8) * 4, lambda c: c[0] + c[1] * LANES + 12 - 8 * LANES),
    "larger": (te.max(C[FIRST], tir.Ramp(0, 1, 8)), lambda c: np.maximum(c, LANES)),
    "bools": ((C[FIRST] > 0).astype("int32x8"), lambda c: (c > 0).astype("int32")),
    "is there": (C[FIRST].astype("boolx8").astype("int32x8"), lambda c: (c != 0).astype("int32")),
    "unlike": (((C[FIRST] > 0) != (C[FIRST] < 3)).astype("int32x8"), lambda c: ((c > 0) != (c < 3)).astype("int32")),
    "bytes": (C[FIRST].astype("uint8x8").astype("int32x8"), lambda c: c.astype("uint8").astype("int32")),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_vectors_of_integers_compute_print_and_are_read(name: str):
    value, expected = INTEGERS[name]
    D = tir.decl_buffer((8,), "int32", name="D")
    func = tir.PrimFunc([C, D], tir.BufferStore(D, value, [FIRST]))
    data = np.random.default_rng(5).integers(-9, 9, 16).astype("int32")
    for made in (func, script.from_source(func.script())):
        result = np.zeros(8, "int32")
        whence.build(made)(data, result)
        np.testing.assert_array_equal(result, expected(data[:8]))


def test_neighbours_are_loaded_and_stored_from_a_point_on():
    store = B.vstore([X, 8], A.vload([X, 0], "float32x8") + 1.0)
    assert str(store.indices[-1]) == "T.Ramp(8, 1, 8)"
    data, result = np.random.default_rng(1).standard_normal((4, 16)).astype("float32"), np.zeros((4, 16), "float32")
    whence.build(tir.PrimFunc([A, B], tir.For(X, 0, 4, 0, store)))(data, result)
    np.testing.assert_array_equal(result[:, 8:], data[:, :8] + 1)
    assert not result[:, :8].any()


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (
            tir.BufferStore(C, tir.Ramp(X, 1, 4), [0]),
            r"te\.cast: expected a dtype of 4 lanes as int32x4 has, got int32",
        ),
        (tir.BufferStore(C, 1, [tir.Ramp(0, 1, 4) // 2]), "expected a T.Ramp or T.Broadcast as index of C"),
        (tir.BufferStore(B, 1.0, [tir.Ramp(0, 1, 4), 0]), "expected lanes in the last index of B alone"),
        (tir.BufferStore(B, A[0, C[FIRST]], [0, FIRST]), "expected a T.Ramp or T.Broadcast as index of A"),
        (tir.BufferStore(C, tir.Shuffle([1, 2], [X, 0]), [tir.Ramp(0, 1, 2)]), "expected numbers as lanes"),
    ],
)
def test_accesses_and_shuffles_that_are_none_here_are_refused(store: tir.BufferStore, message: str):
    args = [buffer for buffer in (A, B, C) if buffer is not store.buffer]
    with pytest.raises(ScheduleError, match=message):
        whence.build(tir.PrimFunc([*args, store.buffer], tir.For(X, 0, 4, 0, store)))


def test_names_of_te_are_no_names_of_tir():
    assert tir.exp is te.exp
    for name in ("compute", "create_schedule"):
        with pytest.raises(AttributeError, match=f"module 'whence.tir' has no attribute '{name}'"):
            getattr(tir, name)
    with pytest.raises(AttributeError, match="did you mean Ramp"):
        _ = tir.Rampe
