"""te.extern: C functions and Python functions as operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_names
from whence.support.errors import FrontendError, PipelineError, ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(3)


def _random(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


def _matmul(a: Array, b: Array, out: Array, scale: float, shift: int) -> None:
    assert not a.flags.writeable
    np.matmul(a, b, out=out)
    out *= scale
    out += shift


te.register_func("test_extern.matmul", _matmul)


def test_a_python_function_between_stages() -> None:
    """It gets arrays of the tensors that were computed before it, and what it writes is read after it."""
    a, b = te.placeholder((4, 8), name="a"), te.placeholder((8, 5), name="b")
    a1 = te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="a1")
    c = te.extern(
        (4, 5),
        [a1, b],
        lambda ins, outs: te.call_packed("test_extern.matmul", ins[0], ins[1], outs[0], 2.0, 3),
        name="c",
    )
    d = te.compute((4, 5), lambda i, j: c[i, j] * 0.5, name="d")
    function = build_schedule(te.create_schedule(d, inputs=[a, b]), threads=1)
    for _ in range(3):
        x, y = _random(4, 8), _random(8, 5)
        np.testing.assert_allclose(function(x, y), ((x + 1) @ y * 2 + 3) / 2, rtol=1e-5, atol=1e-5)


def test_several_outputs_of_several_shapes_and_dtypes() -> None:
    a = te.placeholder((6, 4), name="a")

    @te.register_func("test_extern.sort")
    def sort(given: Array, values: Array, places: Array) -> None:  # pyright: ignore[reportUnusedFunction]
        values[...] = np.sort(given, axis=1)
        places[...] = np.argsort(given, axis=1)[:, 0]

    values, first = te.extern(
        [(6, 4), (6,)],
        [a],
        lambda ins, outs: te.call_packed("test_extern.sort", ins[0], outs[0], outs[1]),
        name="sorted",
        dtype=["float32", "int64"],
    )
    x = _random(6, 4)
    found = build_schedule(te.create_schedule([values, first]), threads=1)(x)
    np.testing.assert_array_equal(found[0], np.sort(x, axis=1))
    np.testing.assert_array_equal(found[1], x.argmin(1))


def test_a_c_function_gets_pointers() -> None:
    """memcpy of the C library: buffers in any order, a number of a given dtype."""
    a = te.placeholder((4, 8), name="a")
    c = te.extern(
        (8, 4),
        [a],
        lambda ins, outs: te.call_extern("handle", "memcpy", outs[0], ins[0], te.const(4 * 8 * 4, "int64")),
        name="c",
    )
    d = te.compute((8, 4), lambda i, j: c[i, j] * 2.0, name="d")
    schedule = te.create_schedule(d)
    assert 'tir.call_extern "memcpy"(' in str(lower(schedule, simple_mode=True))
    x = _random(4, 8)
    np.testing.assert_array_equal(build_schedule(schedule, threads=1)(x), x.reshape(8, 4) * 2)


def test_the_result_of_a_function_is_the_result_of_the_kernel() -> None:
    a = te.placeholder((16,), "uint8", name="a")
    c = te.extern(
        (16,), [a], lambda ins, outs: te.call_extern("handle", "memcpy", outs[0], ins[0], te.const(16, "int64"))
    )
    x = np.arange(16, dtype="uint8")
    np.testing.assert_array_equal(build_schedule(te.create_schedule(c), threads=1)(x), x)


def test_sizes_are_arguments_too() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")

    @te.register_func("test_extern.fill")
    def fill(out: Array, given: Array, count: int) -> None:  # pyright: ignore[reportUnusedFunction]
        out[...] = given + count

    c = te.extern((n,), [a], lambda ins, outs: te.call_packed("test_extern.fill", outs[0], ins[0], n))
    x = _random(7)
    np.testing.assert_allclose(build_schedule(te.create_schedule(c, sizes={"n": 7}), threads=1)(x), x + 7, rtol=1e-6)


def test_an_exception_comes_back() -> None:
    calls: list[int] = []

    @te.register_func("test_extern.fails")
    def fails(out: Array, given: Array) -> None:  # pyright: ignore[reportUnusedFunction]
        calls.append(1)
        if given[0] < 0:
            raise ValueError("negative")
        out[...] = given

    a = te.placeholder((3,), name="a")
    c = te.extern((3,), [a], lambda ins, outs: te.call_packed("test_extern.fails", outs[0], ins[0]), name="c")
    function = build_schedule(te.create_schedule(c), threads=1)
    text = r"te.extern: expected packed function 'test_extern.fails' to succeed, got ValueError: negative \(layer 'c'"
    with pytest.raises(FrontendError, match=text):
        function(np.full(3, -1, "float32"))
    np.testing.assert_array_equal(function(np.ones(3, "float32")), np.ones(3))
    assert len(calls) == 2


def test_everything_is_located() -> None:
    a = te.placeholder((4,), name="a")
    c = te.extern((4,), [a], lambda ins, outs: te.call_packed("test_extern.matmul", ins[0], outs[0]), name="c")
    d = te.compute((4,), lambda i: c[i], name="d")
    schedule = te.create_schedule(d)
    schedule.func.verify()
    for op in (*schedule.func.walk(), *lower(schedule).walk()):
        assert layer_names(op.location), op


def test_what_is_refused() -> None:
    a, n = te.placeholder((3,), name="a"), te.placeholder((3,), "int32", name="n")
    with pytest.raises(
        ScheduleError, match=r"Cannot infer output type, please provide dtype argument \(stage 'extern'\)"
    ):
        te.extern((3,), [a, n], lambda ins, outs: te.call_packed("f", ins[0]))
    with pytest.raises(ScheduleError, match="expected a dtype per shape, got 1 and 2"):
        te.extern([(3,), (3,)], [a], lambda ins, outs: te.call_packed("f", ins[0]), dtype="int32")
    with pytest.raises(ScheduleError, match="expected buffers and numbers as arguments, got Read"):
        te.extern((3,), [a], lambda ins, outs: te.call_packed("f", a[0]))
    with pytest.raises(ScheduleError, match=r"Global PackedFunc test_extern.matmul is already registered"):
        te.register_func("test_extern.matmul", _matmul)
    missing = te.extern((3,), [a], lambda ins, outs: te.call_packed("test_extern.none", ins[0]))
    with pytest.raises(ScheduleError, match=r"Cannot find function test_extern.none in the registered ones"):
        build_schedule(te.create_schedule(missing), threads=1)


@pytest.mark.parametrize("whole", [False, True])
def test_a_c_function_that_there_is_not_is_named_with_its_stage(whole: bool, capfd: pytest.CaptureFixture[str]) -> None:
    a = te.placeholder((8,), name="A")
    if whole:
        made = te.extern(
            (8,), [a], lambda ins, outs: te.call_extern("int32", "no_such_call", ins[0], outs[0]), name="C"
        )
    else:
        made = te.compute((8,), lambda i: te.call_pure_extern("float32", "no_such_call", a[i]), name="C")
    with pytest.raises(PipelineError, match=r"got 'no_such_call', which this process does not have \(layer 'C', "):
        build_schedule(te.create_schedule(made))
    assert capfd.readouterr().err == ""
