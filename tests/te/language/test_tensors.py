"""Tensors and operations as TVM's te has them: what they know of themselves, slices, scalars, reducers, tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(5)


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


def _run(output: Any, *pairs: tuple[Any, Array]) -> Any:
    schedule = te.create_schedule(output, inputs=[tensor for tensor, _ in pairs])
    return build_schedule(schedule, threads=1)(*(array for _, array in pairs))


def test_what_a_tensor_knows() -> None:
    m, n, depth = te.size_var("m"), te.size_var("n"), te.size_var("depth")
    a, b = te.placeholder((m, depth), name="A"), te.placeholder((n, depth), name="B")
    t = te.compute((m, n, depth), lambda i, j, k: a[i, k] * b[j, k], name="T")
    assert tuple(t.shape) == (m, n, depth)
    assert (t.ndim, t.dtype, t.name, t.value_index) == (3, "float32", "T", 0)
    assert isinstance(a.op, te.PlaceholderOp)
    assert isinstance(t.op, te.ComputeOp)
    assert t.op.output(0) is t
    assert t.op.num_outputs == 1
    assert t.op.input_tensors == [a, b]
    assert [axis.var.name for axis in t.op.axis] == ["i", "j", "k"]
    assert [axis.dom.extent for axis in t.op.axis] == [m, n, depth]
    assert all(axis.dom.min == 0 and axis.iter_type == 0 and axis.thread_tag == "" for axis in t.op.axis)
    assert a != b
    assert {a: 1}[a.op.output(0)] == 1
    with pytest.raises(ScheduleError, match="Need to provide 2 index in tensor but 1 was provided"):
        a(0)


def test_reduce_axes_and_roots() -> None:
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((1, 6), name="k")
    t = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="T")
    assert t.op.reduce_axis == [k]
    assert (k.dom.min, k.dom.extent, k.iter_type, k.var.name) == (1, 5, 2, "k")
    assert t.op.root_iter_vars == [*t.op.axis, k]
    x = _floats(4, 6)
    np.testing.assert_allclose(_run(t, (a, x)), x[:, 1:].sum(1), rtol=1e-5)


def test_tensors_of_no_dimension() -> None:
    a, scale = te.placeholder((7,), name="a"), te.placeholder((), name="scale")
    k = te.reduce_axis((0, 7), name="k")
    t = te.compute((), lambda: te.sum(a[k] * scale(), axis=k), name="t")
    assert (t.shape, t.ndim) == ((), 0)
    x, s = _floats(7), np.array(2.5, "float32")
    np.testing.assert_allclose(_run(t, (a, x), (scale, s)), (x * s).sum(), rtol=1e-5)


def test_convolution_with_neighbours() -> None:
    n = te.size_var("n")
    a = te.placeholder((n + 2,), name="A")
    t = te.compute((n,), lambda i: a(i) + a(i + 1) + a(i + 2), name="T")
    x = _floats(9)
    found = build_schedule(te.create_schedule(t, sizes={"n": 7}), threads=1)(x)
    np.testing.assert_allclose(found, x[:-2] + x[1:-1] + x[2:], rtol=1e-6)


def test_slices_of_slices() -> None:
    a = te.placeholder((3, 4, 5), name="A")
    assert isinstance(a[1], te.TensorSlice)
    t = te.compute((5,), lambda i: a[2][1][i] + a[0, 3][i], name="T")
    x = _floats(3, 4, 5)
    np.testing.assert_allclose(_run(t, (a, x)), x[2, 1] + x[0, 3], rtol=1e-6)


def test_a_reducer_of_ones_own() -> None:
    a = te.placeholder((3, 4, 5), name="A")
    first, second = te.reduce_axis((0, 4), "first"), te.reduce_axis((0, 5), "second")
    total = te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(0, dtype), name="total")
    t = te.compute((3,), lambda i: total(a[i, first, second], axis=[first, second]), name="T")
    x = _floats(3, 4, 5)
    np.testing.assert_allclose(_run(t, (a, x)), x.sum((1, 2)), rtol=1e-4, atol=1e-5)


def test_a_reducer_combines_expressions_at_once() -> None:
    a = te.placeholder((5,), name="A")
    product = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), name="product")
    t = te.compute((5,), lambda i: product(a[i], a[4 - i], 3.0) + te.max(a[i], 0.0), name="T")
    x = _floats(5)
    np.testing.assert_allclose(_run(t, (a, x)), x * x[::-1] * 3 + np.maximum(x, 0), rtol=1e-5)


def test_several_results_of_several_dtypes() -> None:
    a, b = te.placeholder((4, 5), name="A"), te.placeholder((4, 5), "int32", "B")
    s, t = te.compute((4, 5), lambda i, j: (a[i, j] * 2.0, b[i, j] + 1), name="T")
    assert (s.dtype, t.dtype, s.op, t.value_index) == ("float32", "int32", t.op, 1)
    assert s.op.num_outputs == 2
    # Each is read on its own, and by others.
    only = te.compute((4, 5), lambda i, j: t[i, j] * 3, name="only")
    assert only.op.input_tensors == [t]
    x, y = _floats(4, 5), _RANDOM.integers(-9, 9, (4, 5)).astype("int32")
    first, second, third = _run([s.op, only], (a, x), (b, y))
    np.testing.assert_array_equal(first, x * 2)
    np.testing.assert_array_equal(second, y + 1)
    np.testing.assert_array_equal(third, (y + 1) * 3)


def test_a_tuple_reduced_at_once() -> None:
    a = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.maximum(x[1], y[1])),
        lambda s, t: (te.const(0, s), te.min_value(t)),
        name="both",
    )
    s, t = te.compute((4,), lambda i: both((a[i, k], a[i, k]), axis=k), name="T")
    x = _floats(4, 9)
    total, most = _run([s.op], (a, x))
    assert t.op is s.op
    np.testing.assert_allclose(total, x.sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(most, x.max(1))


def test_max_pool() -> None:
    a = te.placeholder((8, 8), name="A")
    i, j = te.reduce_axis((0, 3), "di"), te.reduce_axis((0, 3), "dj")
    t = te.compute((3, 3), lambda y, x: te.max(a[y * 2 + i, x * 2 + j], axis=[i, j]), name="pool")
    value = _floats(8, 8)
    windows = np.lib.stride_tricks.sliding_window_view(value, (3, 3))[::2, ::2]
    np.testing.assert_array_equal(_run(t, (a, value)), windows.max((2, 3)))


def test_numbers_of_numpy_are_ints() -> None:
    numbers: Any = np
    a = te.placeholder((numbers.int64(4), numbers.int32(6)), name="A")
    assert all(type(extent) is int for extent in a.shape)
    k = te.reduce_axis((numbers.int64(0), numbers.int16(6)), "k")
    t = te.compute((numbers.uint8(4),), lambda i: te.sum(a[i, k] * np.float64(2), axis=k), name="T")
    assert t.dtype == "float32"
    assert te.const(numbers.int64(3)).dtype == "int64"
    s = te.create_schedule(t)
    _, inner = s[t].split(k, factor=numbers.int64(2))
    s.rfactor(t, inner, numbers.int32(0))
    x = _floats(4, 6)
    np.testing.assert_allclose(build_schedule(s, threads=1)(x), x.sum(1) * 2, rtol=1e-5, atol=1e-6)


def test_a_lambda_of_the_wrong_number_of_arguments() -> None:
    with pytest.raises(ScheduleError, match="Number of args to fcompute does not match dimension, args=2, dimension=1"):
        te.compute((4,), lambda i, j: i + j)
    a = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 4), "k")
    with pytest.raises(ScheduleError, match="Reductions are only allowed at the top level of compute"):
        te.compute((4,), lambda i: te.sum(a[k], axis=k) + a[i])
