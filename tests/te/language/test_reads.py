"""Reads of the te language: padded ones, numbers everywhere, computed indices; and expressions that nest deeply."""

from __future__ import annotations

import math
from collections.abc import Callable
from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.arith import ConstantOp, IndexCastOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from whence import te
from whence.dialects.te import FuncOp, ReadOp
from whence.kernels import build_schedule
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import ScheduleError
from whence.te.language.emit import build_function

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(0)


def run(result: te.Tensor, inputs: dict[te.Tensor, Array]) -> Array:
    found = build_schedule(te.create_schedule(result, inputs=list(inputs)), threads=1)(*inputs.values())
    assert isinstance(found, np.ndarray)
    return found


def function(*results: te.Tensor) -> FuncOp:
    func, _ = build_function(results)
    func.verify()
    return func


def text(func: FuncOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(func)
    return stream.getvalue()


CLAMPS: list[tuple[Callable[[te.Expr], te.Expr], str]] = [
    (lambda i: te.minimum(i, 7), "%A[%i]"),
    (lambda i: te.maximum(te.minimum(7 - i, 9), 0), "%A[%i * -1 + 7]"),
    (lambda i: te.minimum(i * 2, i + 7) - i, "%A[%i * 2 + %i * -1]"),
    (lambda i: te.maximum(i - 1, 0), "arith.maxsi"),
    (lambda i: te.minimum(i + 1, 7), "arith.minsi"),
]


@pytest.mark.parametrize(("index", "spelled"), CLAMPS)
def test_a_clamp_that_does_nothing_is_no_part_of_the_index(index: Callable[[te.Expr], te.Expr], spelled: str):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[index(i)], name="B")
    printed = text(function(b))
    assert spelled in printed
    assert ("arith" in printed) == ("arith" in spelled)


@pytest.mark.parametrize(("dtype", "outside"), [("float32", -1.5), ("float64", -math.inf), ("int8", 7), ("bool", True)])
def test_a_padded_read(dtype: str, outside: float):
    x = (_RANDOM.random((5, 7)) * 9 - 4).astype(dtype)
    a = te.placeholder(x.shape, dtype, name="a")
    b = te.compute((9, 10), lambda i, j: a(i - 1, j - 3, otherwise=outside), name="b")
    assert "te.read %a[%i - 1, %j - 3] else" in text(function(b))
    np.testing.assert_array_equal(run(b, {a: x}), np.pad(x, ((1, 3), (3, 0)), constant_values=outside))


def test_what_a_padded_read_refuses():
    a = te.placeholder((4,), "uint8", name="a")
    with pytest.raises(ScheduleError, match="the literal value -1 is out of range"):
        te.compute((6,), lambda i: a(i - 1, otherwise=-1))


def test_full_is_spelled_where_it_is_read():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    a = te.placeholder(x.shape, name="a")
    half, two = te.full((1, 3), 0.5), te.full((), 2, "float32")
    b = te.compute(x.shape, lambda i, j: (a[i, j] + half[0, j]) * two(), name="b")
    assert [op.label.data for op in function(b).computes] == ["b"]
    np.testing.assert_array_equal(run(b, {a: x}), (x + 0.5) * 2)
    # As an output it is a stage.
    np.testing.assert_array_equal(run(te.full((2, 2), 7, "int16", name="sevens"), {}), np.full((2, 2), 7, np.int16))
    with pytest.raises(ScheduleError, match="Need to provide 2 index in tensor but 1 was provided"):
        half(0)
    with pytest.raises(ScheduleError, match="literal value 300 is out of range"):
        te.full((2,), 300, "uint8")


def test_a_number_of_full_keeps_its_location():
    """Also beside another: they do not fold, for the result would be at neither."""
    with te.located(layer_location("bias", "model.onnx", 1)):
        bias, gain = te.full((4,), 3.0), te.full((4,), 2.0)
    with te.located(layer_location("add", "model.onnx", 2)):
        a = te.placeholder((4,), name="a")
        b = te.compute((4,), lambda i: (a[i] + bias[i] * gain[i]) + 1.0, name="b")
    (compute,) = function(b).computes
    constants = [op for op in compute.block.ops if isinstance(op, ConstantOp)]
    assert [layer_names(op.location) for op in constants] == [("bias",), ("bias",), ("add",)]
    assert {name for op in compute.block.ops for name in layer_names(op.location)} == {"bias", "add"}


def test_a_tensor_is_a_function():
    x = _RANDOM.random((3, 4)).astype(np.float32)
    a = te.placeholder(x.shape, name="a")
    np.testing.assert_array_equal(run(te.compute((2, 3), a, name="b"), {a: x}), x[:2, :3])


def test_index_arithmetic_stays_index():
    """Comparisons, minima and maxima of axes need no conversion; what becomes a number is converted once."""
    x = _RANDOM.random(9).astype(np.float32)
    a = te.placeholder(x.shape, name="a")
    inside = te.compute((12,), lambda i: a[te.minimum(te.maximum(i - 2, 0), 8)], name="inside")
    (compute,) = function(inside).computes
    assert not [op for op in compute.block.ops if isinstance(op, IndexCastOp)]
    np.testing.assert_array_equal(run(inside, {a: x}), x[np.clip(np.arange(12) - 2, 0, 8)])
    less = te.compute((9,), lambda i: te.select(te.all(i >= 2, i * 3 < 20, 4 > i), a[i], 0.0), name="less")
    assert "index_cast" not in text(function(less))
    np.testing.assert_array_equal(run(less, {a: x}), np.where((np.arange(9) >= 2) & (np.arange(9) < 4), x, 0))
    count = te.compute((9,), lambda i: (te.maximum(i - 3, 1) * (i + 1)).astype("float32") + a[i], name="count")
    assert text(function(count)).count("index_cast") == 1
    axis = np.arange(9)
    np.testing.assert_array_equal(run(count, {a: x}), (np.maximum(axis - 3, 1) * (axis + 1)).astype(np.float32) + x)
    folded = te.compute((9,), lambda i: a[te.maximum(i - 3, 0) // 2 + te.minimum(i, 4) % 3], name="folded")
    assert "index_cast" not in text(function(folded))
    np.testing.assert_array_equal(run(folded, {a: x}), x[np.maximum(axis - 3, 0) // 2 + np.minimum(axis, 4) % 3])
    mixed = te.placeholder((9,), "int32", name="n")
    n = _RANDOM.integers(-9, 9, 9, dtype=np.int32)
    found = run(te.compute((9,), lambda i: te.maximum(mixed[i], i) + te.minimum(i, 4), name="m"), {mixed: n})
    np.testing.assert_array_equal(found, np.maximum(n, axis) + np.minimum(axis, 4))


def test_divisions_of_indices_that_are_not_negative_are_one():
    a = te.placeholder((64,), name="a")
    b = te.compute((10,), lambda i: a[te.truncdiv(i * 3 + 2, 3)] + a[te.truncmod(i - 5, 3) + 2], name="b")
    first, second = (op for op in te.create_schedule(b).func.walk() if isinstance(op, ReadOp))
    assert not any(isinstance(index.owner, Operation) for index in first.indices)
    assert any(isinstance(index.owner, Operation) for index in second.indices)


def test_what_leaves_an_integer_as_it_is_goes():
    a = te.placeholder((8,), name="a")
    axis = te.compute((8,), lambda i: a[(i + 0) * 1 // 1 - 0], name="b").op.body[0].indices[0]
    assert isinstance(axis, te.Axis)
    # x * 1 has the bits of x, but x + 0.0 turns -0.0 into 0.0.
    plus = te.compute((8,), lambda i: a[i] + 0.0, name="plus")
    assert not np.signbit(run(plus, {a: np.full(8, -0.0, np.float32)})).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negation_changes_the_sign_only(dtype: str):
    x = np.array([0.0, -0.0, 1.5, -math.inf, math.nan, -math.nan], dtype)
    a = te.placeholder(x.shape, dtype, name="a")
    found = run(te.compute(x.shape, lambda i: -a[i], name="b"), {a: x})
    np.testing.assert_array_equal(np.signbit(found), ~np.signbit(x))
    np.testing.assert_array_equal(found, -x)


@pytest.mark.parametrize("other", ["float16", "float64"])
def test_bfloat16_beside_other_floats(other: str):
    x = (_RANDOM.standard_normal(64) * 3).astype(ml_dtypes.bfloat16)
    a = te.placeholder(x.shape, "bfloat16", name="a")
    wide = te.compute(x.shape, lambda i: a[i].astype(other), name="wide")
    found = run(wide, {a: x})
    np.testing.assert_array_equal(found, x.astype(other))
    b = te.placeholder(x.shape, other, name="b")
    back = run(te.compute(x.shape, lambda i: b[i].astype("bfloat16"), name="back"), {b: found})
    np.testing.assert_array_equal(back.view(np.uint16), x.view(np.uint16))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_expressions_nest_deeply(dtype: str):
    """Neither making nor emitting one recurses."""
    a = te.placeholder((1100,), dtype, name="a")

    def first_above(i: te.Expr) -> te.Expr:
        value, total = a[0], a[0]
        for k in range(1, 1100):
            value = te.select(i < k, value, a[k])
            total = total + a[k]
        return value + total

    (compute,) = function(te.compute((1100,), first_above, name="b")).computes
    assert len(list(compute.block.ops)) > 4400
