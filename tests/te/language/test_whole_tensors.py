"""Whole tensors: operators and functions that make computes, with broadcasting, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(11)


def _run(output: Any, *pairs: tuple[Any, Array]) -> Any:
    schedule = te.create_schedule(output, inputs=[tensor for tensor, _ in pairs])
    return build_schedule(schedule, threads=1)(*(array for _, array in pairs))


def _pair(shape: tuple[int, ...], dtype: str = "float32", name: str = "A") -> tuple[Any, Array]:
    values = _RANDOM.standard_normal(shape) * 4 + (9 if dtype.startswith("u") else 0)
    return te.placeholder(shape, dtype, name), values.astype(dtype)


FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "T_add": lambda a, b: a + b,
    "T_subtract": lambda a, b: a - b,
    "T_multiply": lambda a, b: a * b,
    "T_divide": lambda a, b: a / b,
    "T_less": lambda a, b: a < b,
    "T_less_equal": lambda a, b: a <= b,
    "T_greater": lambda a, b: a > b,
    "T_greater_equal": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 4), (3, 1)), ((4,), ())]
)
def test_operators_broadcast_as_numpy(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    (a, x), (b, y) = _pair(shapes[0], name="A"), _pair(shapes[1], name="B")
    result = FLOATS[name](a, b)
    assert (result.op.name, result.op.tag) == (name, "broadcast")
    np.testing.assert_allclose(_run(result, (a, x), (b, y)), FLOATS[name](x, y), rtol=1e-6)


INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "T_floor_divide": lambda a, b: a // b,
    "T_floor_mod": lambda a, b: a % b,
    "T_bitwise_and": lambda a, b: a & b,
    "T_bitwise_or": lambda a, b: a | b,
    "T_bitwise_xor": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_operators(name: str) -> None:
    (a, x), (b, y) = _pair((5, 6), "int32"), _pair((6,), "int32", "B")
    y = np.where(y == 0, 3, y).astype("int32")
    result = INTEGERS[name](a, b)
    assert result.op.name == name
    np.testing.assert_array_equal(_run(result, (a, x), (b, y)), INTEGERS[name](x, y))


def test_numbers_and_expressions_on_either_side() -> None:
    a, x = _pair((3, 4))
    for result, wanted in (
        (2.0 * a, 2 * x),
        (1 - a, 1 - x),
        (np.float32(3) / a, 3 / x),
        (np.int64(2) + a, 2 + x),
        (a * te.const(0.5), x * 0.5),
        (te.const(0.5) - a, 0.5 - x),
        (-a, -x),
    ):
        assert result.op.tag == "elemwise"
        np.testing.assert_allclose(_run(result, (a, x)), wanted, rtol=1e-6)
    i, y = _pair((3,), "int32")
    np.testing.assert_array_equal(_run(~i, (i, y)), ~y)
    np.testing.assert_array_equal(_run(i << 2, (i, y)), y << 2)
    np.testing.assert_array_equal(_run(a.astype("int32"), (a, x)), x.astype("int32"))
    np.testing.assert_array_equal(_run(te.cast("float64", i), (i, y)), y.astype("float64"))


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "abs": np.abs,
    "floor": np.floor,
    "isnan": np.isnan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_whole_tensors(name: str) -> None:
    a, x = _pair((3, 5))
    result = getattr(te, name)(a)
    assert (result.op.name, result.op.tag) == (f"T_{name}", "elemwise")
    np.testing.assert_allclose(_run(result, (a, x)), UNARY[name](x), rtol=2e-6, atol=1e-6)


def test_functions_of_two_whole_tensors() -> None:
    (a, x), (b, y) = _pair((3, 5)), _pair((5,), name="B")
    pairs = [(te.maximum, np.maximum), (te.minimum, np.minimum), (te.fmod, np.fmod), (te.add, np.add)]
    pairs += [(te.subtract, np.subtract), (te.multiply, np.multiply), (te.divide, np.divide), (te.hypot, np.hypot)]
    for function, reference in pairs:
        np.testing.assert_allclose(_run(function(a, b), (a, x), (b, y)), reference(x, y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(_run(te.maximum(0.5, a), (a, x)), np.maximum(0.5, x))
    less, other = a < b, a > 0.0
    for function, reference in (
        (te.logical_and, np.logical_and),
        (te.logical_or, np.logical_or),
        (te.logical_xor, np.logical_xor),
    ):
        np.testing.assert_array_equal(_run(function(less, other), (a, x), (b, y)), reference(x < y, x > 0))
    np.testing.assert_array_equal(_run(te.logical_not(other), (a, x)), ~(x > 0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ldexp_and_nextafter(dtype: str) -> None:
    (a, x), (e, y), (b, z) = _pair((40,), dtype), _pair((40,), "int32", "E"), _pair((40,), dtype, "B")
    np.testing.assert_array_equal(_run(te.ldexp(a, e), (a, x), (e, y)), np.ldexp(x, y))
    np.testing.assert_array_equal(_run(te.nextafter(a, b), (a, x), (b, z)), np.nextafter(x, z))
    with pytest.raises(ScheduleError, match=r"te.ldexp: expected an integer as exponent, got float"):
        te.ldexp(a, b)


def test_equality_is_identity_and_wrong_shapes_say_so() -> None:
    a, b = te.placeholder((3, 4), name="A"), te.placeholder((3,), name="B")
    assert a == a
    assert a != b
    with pytest.raises(ScheduleError, match=r"Incompatible broadcast dims: 4 and 3 in \[3, 4\] and \[3\] \(T_add\)"):
        _ = a + b
    with pytest.raises(ScheduleError, match=r"expected floats beside '/', got int32"):
        _ = te.placeholder((3,), "int32") / 2


def test_a_whole_tensor_is_located_where_it_is_written() -> None:
    a = te.placeholder((3,), name="A")
    result = a + 1.0
    assert layer_names(result.op.location) == ("T_add",)
    assert "test_whole_tensors.py" in str(result.op.location)


def test_open_sizes_that_must_agree() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n, 4), name="A"), te.placeholder((m, 1), name="B")
    f = build_schedule(te.create_schedule(a * b, inputs=[a, b]), threads=1)
    x, y = np.ones((3, 4), "float32"), np.full((3, 1), 2, "float32")
    np.testing.assert_array_equal(f(x, y), x * y)
    with pytest.raises(ScheduleError, match=r"Incompatible broadcast dims: n = 3 and m = 2 \(stage 'T_multiply'\)"):
        f(x, y[:2])
