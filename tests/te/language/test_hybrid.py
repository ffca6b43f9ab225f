"""te.hybrid.script: loops written in Python as an operation. The functions are read, never run."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.dialects.tir import ForOp, IfOp
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(4)
_SCALE = 3


def _random(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


@te.hybrid.script
def _outer(a: Any, b: Any) -> Any:
    c = output_tensor((a.shape[0], len(b)), "float32")
    for i in range(a.shape[0]):
        for j in parallel(len(b)):
            c[i, j] = a[i] * b[j] * _SCALE
    return c


@te.hybrid.script
def _branches(a: Any, low: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        if a[i] > 0.5 and i != 3:
            b[i] = te.exp(-a[i])
        elif a[i] < low:
            b[i] = max(a[i], -2.0) if i > 2 else 0.0
        else:
            b[i] = 1.0
            b[i] += a[i] ** 2.0
    return b


@te.hybrid.script
def _stencil(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        total = 0.0
        for d in range(-1 + 1, 3):
            if 0 <= i + d - 1 and i + d - 1 < a.shape[0]:
                total += a[i + d - 1]
        b[i] = total
    return b


@te.hybrid.script
def _histogram(a: Any) -> Any:
    counts = output_tensor((4,), "int32")
    places = output_tensor(a.shape, "int32")
    seen = allocate((4,), "int32")
    for i in unroll(4):
        seen[i] = 0
        counts[i] = 0
    for i in serial(a.shape[0]):
        if a[i] >= 0:
            places[i] = seen[a[i]]
            seen[a[i]] += 1
        else:
            places[i] = -1
    for i in vectorize(4):
        counts[i] = seen[i]
    return counts, places


def test_loops() -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((8,), name="b")
    a1 = te.compute((4,), lambda i: a[i] + 1.0, name="a1")
    c = _outer(a1, b)
    d = te.compute((4, 8), lambda i, j: c[i, j] - 1.0, name="d")
    schedule = te.create_schedule(d, inputs=[a, b])
    x, y = _random(4), _random(8)
    found = build_schedule(schedule, threads=2)(x, y)
    np.testing.assert_allclose(found, np.outer(x + 1, y) * 3 - 1, rtol=1e-5, atol=1e-6)
    kinds = [op.kind.data for op in lower(schedule, simple_mode=True).walk() if isinstance(op, ForOp)]
    assert kinds.count("parallel") == 1


def test_branches_on_values() -> None:
    a = te.placeholder((40,), name="a")
    x = _random(40)
    expected = np.where(x < -0.5, np.where(np.arange(40) > 2, np.maximum(x, -2), 0), 1 + x**2)
    expected = np.where((x > 0.5) & (np.arange(40) != 3), np.exp(-x), expected)
    found = build_schedule(te.create_schedule(_branches(a, -0.5)), threads=1)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_scalars_and_branches_on_loop_variables() -> None:
    a = te.placeholder((9,), name="a")
    x = _random(9)
    schedule = te.create_schedule(_stencil(a))
    found = build_schedule(schedule, threads=1)(x)
    np.testing.assert_allclose(found, np.convolve(x, np.ones(3, "float32"), "same"), rtol=1e-5, atol=1e-6)
    assert any(isinstance(op, IfOp) for op in lower(schedule, simple_mode=True).walk())


def test_several_outputs_a_buffer_and_computed_indices() -> None:
    """An index of -1 in the branch that is not taken touches nothing."""
    a = te.placeholder((30,), "int32", name="a")
    x = _RANDOM.integers(-1, 4, 30, dtype="int32")
    counts, places = build_schedule(te.create_schedule(_histogram(a)), threads=1)(x)
    np.testing.assert_array_equal(counts, [np.sum(x == value) for value in range(4)])
    np.testing.assert_array_equal(places, [np.sum(x[:i] == v) if v >= 0 else -1 for i, v in enumerate(x)])


def test_sizes_may_be_variables() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    x = _random(9)
    found = build_schedule(te.create_schedule(_branches(a, te.var("low", "float32")), sizes={"n": 9, "low": -9.0}))(x)
    np.testing.assert_allclose(found, np.where((x > 0.5) & (np.arange(9) != 3), np.exp(-x), 1 + x**2), rtol=1e-5)


def test_lines_of_the_script_are_the_locations() -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((8,), name="b")
    schedule = te.create_schedule(_outer(a, b))
    schedule.func.verify()
    for op in (*schedule.func.walk(), *lower(schedule).walk()):
        assert layer_names(op.location), op
    (loop, *_) = [op for op in schedule.func.walk() if isinstance(op, ForOp)]
    assert "test_hybrid.py" in str(loop.location)


@te.hybrid.script
def _with(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    with a:
        b[0] = 1.0
    return b


@te.hybrid.script
def _writes_its_input(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(3):
        a[i] = b[i]
    return b


@te.hybrid.script
def _data_dependent_loop(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(a[0]):
        b[i] = 1.0
    return b


@te.hybrid.script
def _shared_scalar(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    total = 0.0
    for i in parallel(3):
        total += a[i]
        b[i] = total
    return b


@te.hybrid.script
def _no_output(a: Any) -> Any:
    return a


@te.hybrid.script
def _index_count(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(3):
        b[i] = a[i, i]
    return b


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            _with,
            r"'_with': expected a statement of loops and elements, got 'with a:' \(.*test_hybrid.py:\d+\)",
        ),
        (_writes_its_input, r"expected an element of an output or allocated tensor, got 'a\[i\]'"),
        (_data_dependent_loop, r"expected a loop over constants|expected sizes"),
        (_shared_scalar, "expected 'total' set in the loops where it was made, got it in a parallel loop inside"),
        (_no_output, r"expected a return of output tensors \(there are none\)"),
        (_index_count, "Need to provide 1 index in tensor but 2 was provided"),
        (_outer, "expected 2 arguments, got 1"),
    ],
)
def test_what_is_refused(function: Any, text: str) -> None:
    a = te.placeholder((3,), name="a")
    with pytest.raises(ScheduleError, match=text):
        te.create_schedule(function(a))
