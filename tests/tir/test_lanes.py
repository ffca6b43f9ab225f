"""Vectors as expressions: dtypes of lanes, ramps, broadcasts, shuffles, and names of values in expressions."""

from __future__ import annotations

import numpy as np
import pytest

import whence
from whence import ir, te, tir
from whence.support.errors import ScheduleError

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


def test_a_store_of_vectors_is_refused():
    A = tir.decl_buffer((4,), "int32", name="A")
    store = tir.BufferStore(A, tir.Ramp(X, 1, 4), [0])
    with pytest.raises(ScheduleError, match=r"te\.cast: expected a dtype of 4 lanes as int32x4 has, got int32"):
        whence.build(tir.PrimFunc([A], tir.For(X, 0, 4, 0, store)))


def test_names_of_te_are_no_names_of_tir():
    assert tir.exp is te.exp
    for name in ("compute", "create_schedule"):
        with pytest.raises(AttributeError, match=f"module 'whence.tir' has no attribute '{name}'"):
            getattr(tir, name)
    with pytest.raises(AttributeError, match="did you mean Ramp"):
        _ = tir.Rampe
