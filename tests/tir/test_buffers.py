"""Buffers as they are declared, and statements on them in externs and intrinsics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import whence
from whence import te, tir
from whence.support.errors import FrontendError, ScheduleError

_RANDOM = np.random.default_rng(5)


def _random(*shape: int) -> Any:
    return _RANDOM.standard_normal(shape).astype("float32")


def _value(expr: Any) -> int:
    (value,) = [expr.value]
    return value


def test_offsets_of_elements() -> None:
    array = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    buffer = tir.decl_buffer((4, 5, 6), elem_offset=7)
    apart = tir.decl_buffer((4, 5), strides=[11, 2])
    for point in ((0, 0, 0), (3, 4, 5), (1, 2, 3)):
        assert [_value(offset) for offset in buffer.offset_of(point)] == [array[point] + 7]
        assert [_value(offset) for offset in apart.offset_of(point[:2])] == [point[0] * 11 + point[1] * 2]
    parts = tir.decl_buffer((4, 5, 6), axis_separators=[1])
    assert [_value(offset) for offset in parts.offset_of((3, 4, 5))] == [3, 29]
    with pytest.raises(ScheduleError, match="expected 3 indices of 'buffer', got 1"):
        buffer.offset_of([1])


def test_flat_buffers() -> None:
    flat = tir.decl_buffer((4, 5, 6), axis_separators=[2]).get_flattened_buffer()
    assert (list(flat.shape), flat.axis_separators) == ([20, 6], [1])
    buffer = tir.decl_buffer((4, 5))
    assert list(buffer.get_flattened_buffer().shape) == [20]
    assert buffer.get_flattened_buffer().data is buffer.data
    line = tir.decl_buffer(4)
    assert line.get_flattened_buffer().same_as(line)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"strides": [9, 1]}, "expected elements of 'B' close together, got strides"),
        ({"strides": [te.var("s"), 2]}, "expected elements of 'B' close together"),
        ({"elem_offset": 3}, "expected the elements of 'B' from the start on, got elem_offset 3"),
        (
            {"buffer_type": "auto_broadcast"},
            "an element of 'B' for each index, got buffer_type auto_b",
        ),
    ],
)
def test_what_no_array_can_be_is_refused_where_a_function_is_made(words: dict[str, Any], text: str) -> None:
    A, B = tir.decl_buffer((4, 8), name="A"), tir.decl_buffer((4, 8), name="B", **words)
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4) as i, ib.for_range(0, 8) as j:
        B_elements = ib.buffer_ptr(B)
        B_elements[i, j] = A[i, j]
    with pytest.raises(ScheduleError, match=text):
        whence.build(tir.PrimFunc([A, B], ib.get()))


def test_declarations_that_mean_nothing_are_refused_at_once() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"strides": [1]}, "expected 2 strides, got 1"),
        ({"buffer_type": "round"}, "expected the buffer_type '' or auto_broadcast, got 'round'"),
        ({"axis_separators": [3]}, "expected increasing axis_separators"),
    )
    for words, text in cases:
        with pytest.raises(ScheduleError, match=text):
            tir.decl_buffer((4, 8), **words)


def _reversed_sums(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
    """Statements: rows of `ins[0]` in the other order, plus those of `ins[1]`."""
    ib = tir.ir_builder.create()
    x, y, z = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
    rows, columns = ins[0].shape
    kept = ib.allocate("float32", (1,), name="kept", scope="local")
    with ib.for_range(0, rows, "i") as i:
        with ib.for_range(0, columns, "j", kind="vectorize" if isinstance(columns, int) else "serial") as j:
            z[i, j] = x[rows - 1 - i, j] + y[i, j]
        kept[0] = z[i, 0]
        z[i, 0] = kept[0] * 2.0
    return ib.get()


@pytest.mark.parametrize("columns", [8, te.size_var("columns")])
def test_statements_as_an_operation(columns: Any) -> None:
    a, b = te.placeholder((5, columns), name="a"), te.placeholder((5, columns), name="b")
    before = te.compute((5, columns), lambda i, j: a[i, j] * 3.0, name="before")
    c = te.extern((5, columns), [before, b], _reversed_sums, name="c")
    d = te.compute((5, columns), lambda i, j: c[i, j] - 1.0, name="d")
    x, y = _random(5, 8), _random(5, 8)
    wanted = (x * 3)[::-1] + y
    wanted[:, 0] *= 2
    found = np.zeros((5, 8), "float32")
    whence.build(te.create_schedule(d), [a, b, d])(x, y, found)
    np.testing.assert_allclose(found, wanted - 1, rtol=1e-6, atol=1e-6)


def test_one_tensor_for_several_inputs() -> None:
    a = te.placeholder((5, 8), name="a")
    x = _random(5, 8)
    wanted = x[::-1] + x
    wanted[:, 0] *= 2
    c = te.extern((5, 8), [a, a], _reversed_sums, name="c")
    np.testing.assert_allclose(whence.build(te.create_schedule(c))(x), wanted, rtol=1e-6)


def test_statements_that_write_an_input() -> None:
    a = te.placeholder((4,), name="a")
    c = te.extern((4,), [a], lambda ins, outs: ins[0].vstore([0], outs[0].vload([1])), name="c")
    with pytest.raises(ScheduleError, match="expected statements that read their inputs, got stores to a"):
        te.create_schedule(c)
    with pytest.raises(ScheduleError, match="expected the buffers of inputs and outputs as arguments, got others"):
        te.extern((4,), [a], lambda ins, _: te.call_extern("int32", "f", ins[0], tir.decl_buffer((4,))))


def test_statements_as_an_intrinsic() -> None:
    x, y = te.placeholder((8,), name="x"), te.placeholder((8,), name="y")
    pattern = te.compute((8,), lambda i: x[i] * y[i] + x[i], name="z")

    def fcompute(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        ib = tir.ir_builder.create()
        with ib.for_range(0, 8, kind="unroll") as i:
            ib.emit(outs[0].vstore([i], ins[0].vload([i]) * (ins[1].vload([i]) + 1.0)))
        return ib.get()

    intrin = te.decl_tensor_intrin(pattern, fcompute, "both")
    a, b = te.placeholder((6, 16), name="a"), te.placeholder((6, 16), name="b")
    c = te.compute((6, 16), lambda i, j: a[i, j] * b[i, j] + a[i, j], name="c")
    s = te.create_schedule(c)
    _, inner = s[c].split(c.op.axis[1], 8)
    s[c].tensorize(inner, intrin)
    left, right = _random(6, 16), _random(6, 16)
    np.testing.assert_allclose(whence.build(s)(left, right), left * right + left, rtol=1e-5, atol=1e-6)


def test_arrays_are_converted_by_copyfrom() -> None:
    target = whence.nd.empty((3,), "int8")
    for source in (np.array([1.7, -2.2, 3.0]), np.array([1, -2, 3]), [1, -2, 3], np.array([1, -2, 3], "float32")):
        target[:] = 0
        np.testing.assert_array_equal(target.copyfrom(source), [1, -2, 3])
    with pytest.raises(FrontendError, match=r"copyfrom: expected int8\[3\], got float64\[4\]"):
        target.copyfrom(np.zeros(4))
    with pytest.raises(FrontendError, match="copyfrom: expected an array of numbers"):
        target.copyfrom(np.array(["a", "b", "c"]))


def test_leading_zeros_are_counted_in_int32() -> None:
    a = te.placeholder((6,), "int64", name="a")
    b = te.compute((6,), lambda i: te.clz(a[i]), name="b")
    assert b.dtype == "int32"
    x = np.array([1, 2, 255, 256, 2**40, 2**62], "int64")
    found = whence.build(te.create_schedule(b))(x)
    np.testing.assert_array_equal(found, [64 - int(value).bit_length() for value in x])
