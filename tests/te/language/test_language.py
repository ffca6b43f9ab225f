"""The te language: what expressions mean, by numpy, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from whence import te
from whence.dialects.te import ComputeOp
from whence.kernels import build_schedule, create_prim_func, lower
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(0)


Body = Callable[[te.Expr], object] | Callable[[te.Expr, te.Expr], object]


def run(body: Body, *arrays: Array) -> Array:
    """`body` of the elements of equal arrays of one dimension."""
    apply = cast(Callable[..., object], body)
    tensors = [te.placeholder(a.shape, a.dtype.name, f"x{i}") for i, a in enumerate(arrays)]
    result = te.compute(arrays[0].shape, lambda i: apply(*(t[i] for t in tensors)), name="y")
    found = build_schedule(te.create_schedule(result, inputs=tensors), threads=1)(*arrays)
    assert isinstance(found, np.ndarray)
    return found


def floats(low: float, high: float, dtype: str, count: int = 67) -> Array:
    return _RANDOM.uniform(low, high, count).astype(dtype)


def numbers(dtype: str, low: int | None = None, high: int | None = None) -> Array:
    limits = np.iinfo(dtype)
    least, most = limits.min if low is None else low, limits.max if high is None else high
    return _RANDOM.integers(least, most, 64, dtype=dtype, endpoint=True)


_ERF = np.vectorize(math.erf)
_UNARY: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "abs": (np.abs, -3, 3),
    "acos": (np.arccos, -1, 1),
    "acosh": (np.arccosh, 1, 9),
    "asin": (np.arcsin, -1, 1),
    "asinh": (np.arcsinh, -9, 9),
    "atan": (np.arctan, -9, 9),
    "atanh": (np.arctanh, -0.9, 0.9),
    "ceil": (np.ceil, -9, 9),
    "cos": (np.cos, -9, 9),
    "cosh": (np.cosh, -5, 5),
    "erf": (_ERF, -3, 3),
    "exp": (np.exp, -9, 9),
    "exp2": (np.exp2, -9, 9),
    "exp10": (lambda x: np.power(x.dtype.type(10), x), -5, 5),
    "floor": (np.floor, -9, 9),
    "log": (np.log, 0.1, 9),
    "log10": (np.log10, 0.1, 9),
    "log1p": (np.log1p, -0.5, 9),
    "log2": (np.log2, 0.1, 9),
    "nearbyint": (np.rint, -9, 9),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -9, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -9, 9),
    "sin": (np.sin, -9, 9),
    "sinh": (np.sinh, -5, 5),
    "sqrt": (np.sqrt, 0, 9),
    "tan": (np.tan, -1.4, 1.4),
    "tanh": (np.tanh, -5, 5),
    "trunc": (np.trunc, -9, 9),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("group", [sorted(_UNARY)[:15], sorted(_UNARY)[15:]])
def test_functions_of_one_float(dtype: str, group: list[str]) -> None:
    """All of a group in one kernel: each is an output of its own."""
    arrays = {name: floats(_UNARY[name][1], _UNARY[name][2], dtype) for name in group}
    for name in {"nearbyint", "round"} & set(group):
        arrays[name][:5] = [-2.5, -0.5, 0.5, 1.5, 2.5]
    tensors = {name: te.placeholder(array.shape, dtype, name) for name, array in arrays.items()}
    outputs = [_applied(name, x) for name, x in tensors.items()]
    found = build_schedule(te.create_schedule(outputs, inputs=list(tensors.values())), threads=1)(*arrays.values())
    for (name, array), result in zip(arrays.items(), found, strict=True):
        tolerance = 3e-6 if dtype == "float32" else 1e-13
        expected = _UNARY[name][0](array)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance, err_msg=name)
        assert result.dtype == dtype


def _applied(name: str, x: te.Tensor) -> te.Tensor:
    function = getattr(te, name)
    return te.compute(x.shape, lambda i: function(x[i]), name=f"y_{name}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_two_floats(dtype: str) -> None:
    x, y = floats(-9, 9, dtype), floats(0.3, 3, dtype) * np.where(np.arange(67) % 2, -1, 1).astype(dtype)
    x[:4] = [5.5, -5.5, 6, -6]
    y[:4] = [2, 2, -2, -2]
    cases: list[tuple[Callable[[te.Expr, te.Expr], te.Expr], Callable[[Array, Array], Array]]] = [
        (te.maximum, np.maximum),
        (te.minimum, np.minimum),
        (te.max, np.maximum),
        (te.atan2, np.arctan2),
        (te.copysign, np.copysign),
        (te.fmod, np.fmod),
        (te.hypot, np.hypot),
        (te.floordiv, lambda a, b: np.floor(a / b)),
        (te.truncdiv, lambda a, b: np.trunc(a / b)),
        (te.floormod, np.mod),
        (te.div, np.divide),
        (lambda a, b: te.power(te.abs(a), b), lambda a, b: np.power(np.abs(a), b)),
        (lambda a, b: -a / b, lambda a, b: -a / b),
    ]
    for function, expected in cases:
        np.testing.assert_allclose(run(function, x, y), expected(x, y), rtol=3e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integer_arithmetic(dtype: str) -> None:
    """Wrapping, both divisions, extremes and comparisons, signed and unsigned."""
    x, y = numbers(dtype), numbers(dtype)
    y[y == 0] = 3
    if np.iinfo(dtype).min:
        y[y == -1] = 2
    with np.errstate(over="ignore"):
        exact, divisor = x.astype(object), y.astype(object)
        quotient = (np.abs(exact) // np.abs(divisor)) * np.sign(exact) * np.sign(divisor)
        np.testing.assert_array_equal(run(lambda a, b: a + b, x, y), x + y)
        np.testing.assert_array_equal(run(lambda a, b: a * b - 1, x, y), x * y - np.array(1, dtype))
        np.testing.assert_array_equal(run(lambda a, b: a // b, x, y), x // y)
        np.testing.assert_array_equal(run(lambda a, b: a % b, x, y), x % y)
        np.testing.assert_array_equal(run(te.truncdiv, x, y), quotient.astype(dtype))
        np.testing.assert_array_equal(run(te.div, x, y), quotient.astype(dtype))
        np.testing.assert_array_equal(run(te.truncmod, x, y), np.fmod(x, y))
        np.testing.assert_array_equal(run(te.maximum, x, y), np.maximum(x, y))
        np.testing.assert_array_equal(run(te.minimum, x, y), np.minimum(x, y))
        np.testing.assert_array_equal(run(lambda a, b: a < b, x, y), x < y)
        np.testing.assert_array_equal(run(lambda a, b: a >= b, x, y), x >= y)
        np.testing.assert_array_equal(run(lambda a: -a, x), np.negative(x))
        np.testing.assert_array_equal(run(te.abs, x), np.abs(x))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint16", "uint64"])
def test_bits(dtype: str) -> None:
    x, y = numbers(dtype), numbers(dtype)
    width = np.iinfo(dtype).bits
    places = numbers(dtype, 0, width - 1)
    np.testing.assert_array_equal(run(lambda a, b: (a & b) | (~a ^ 5), x, y), (x & y) | (~x ^ np.array(5, dtype)))
    np.testing.assert_array_equal(run(lambda a, b: a << b, x, places), x << places)
    np.testing.assert_array_equal(run(lambda a, b: a >> b, x, places), x >> places)
    np.testing.assert_array_equal(run(te.popcount, x), np.bitwise_count(x.view(f"uint{width}")).astype(dtype))
    np.testing.assert_array_equal(run(lambda a: te.bitwise_not(te.shift_left(a, 1)), x), ~(x << np.array(1, dtype)))


def test_ceildiv_and_rounding_of_integers() -> None:
    x = numbers("int32", -50, 50)
    np.testing.assert_array_equal(run(lambda a: te.ceildiv(a, 7), x), -(-x // 7))
    np.testing.assert_array_equal(run(te.floor, x), x)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("int32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float16", "float32", "float32"),
        ("int8", "int64", "int64"),
        ("int32", "uint32", "int32"),
        ("uint8", "int32", "int32"),
        ("int8", "uint16", "int16"),
        ("uint8", "uint16", "uint16"),
        ("bool", "int32", "int32"),
        ("int64", "float16", "float16"),
    ],
)
def test_two_dtypes_meet(a: str, b: str, expected: str) -> None:
    x, y = np.arange(1, 9).astype(a), np.arange(2, 10).astype(b)
    for left, right in ((x, y), (y, x)):
        found = run(lambda p, q: p + q, left, right)
        assert found.dtype == expected
        np.testing.assert_array_equal(found, (left.astype(expected) + right.astype(expected)))


def test_numbers_take_the_dtype_of_the_other_side() -> None:
    x = te.placeholder((4,), "float64")
    assert (x[0] + 1).dtype == "float64"
    assert (1 - te.placeholder((4,), "int8")[0]).dtype == "int8"
    assert (te.placeholder((4,), "int8")[0] * 1.5).dtype == "float32"
    assert [te.const(number).dtype for number in (1, 1.0, True)] == ["int32", "float32", "bool"]
    assert te.const(1 << 40).dtype == "int64"


@pytest.mark.parametrize("source", ["float32", "float64", "int8", "int64", "uint8", "uint32", "bool"])
@pytest.mark.parametrize("target", ["float16", "float32", "float64", "int16", "int32", "uint8", "uint64", "bool"])
def test_casts(source: str, target: str) -> None:
    x = np.array([0, 1, 2, 3, 100, 127, 5, 0]).astype(source)
    np.testing.assert_array_equal(run(lambda a: a.astype(target), x), x.astype(target))


def test_unsigned_and_signed_casts_keep_the_value() -> None:
    np.testing.assert_array_equal(run(lambda a: te.cast("int32", a), np.array([200, 255], "uint8")), [200, 255])
    np.testing.assert_array_equal(run(lambda a: te.cast("float64", a), np.array([3 << 30], "uint32")), [3 << 30])
    np.testing.assert_array_equal(run(lambda a: te.cast("int64", a), np.array([-3], "int8")), [-3])
    np.testing.assert_array_equal(run(lambda a: te.cast("uint8", a), np.array([200.7], "float32")), [200])


def test_conditions_and_choices() -> None:
    x, y = numbers("int32", -9, 9), numbers("int32", -9, 9)
    found = run(lambda a, b: te.if_then_else(te.all(a > 0, b != 3, te.any(a == b, a < 7)), a, -b), x, y)
    np.testing.assert_array_equal(found, np.where((x > 0) & (y != 3) & ((x == y) | (x < 7)), x, -y))
    found = run(lambda a, b: te.select(te.logical_not(a.equal(b)) & (a <= 5), 1, b), x, y)
    np.testing.assert_array_equal(found, np.where((x != y) & (x <= 5), 1, y))


def test_nan_and_infinity() -> None:
    x = np.array([0, np.nan, np.inf, -np.inf, 1e38], "float32")
    np.testing.assert_array_equal(run(te.isnan, x), np.isnan(x))
    np.testing.assert_array_equal(run(te.isinf, x), np.isinf(x))
    np.testing.assert_array_equal(run(te.isfinite, x), np.isfinite(x))
    assert not run(te.isnan, np.arange(4)).any()


def test_call_of_a_c_function() -> None:
    x = floats(-9, 9, "float64")
    np.testing.assert_allclose(run(lambda a: te.call_pure_extern("float64", "cbrt", a), x), np.cbrt(x))


def test_padding_reads_nothing_outside() -> None:
    x = floats(-1, 1, "float32", 6)
    a = te.placeholder((6,), name="a")
    padded = te.compute((10,), lambda i: te.if_then_else(te.all(i >= 2, i < 8), a[i - 2], 0.0), name="padded")
    found = build_schedule(te.create_schedule(padded), threads=1)(x)
    np.testing.assert_array_equal(found, np.pad(x, 2))


def test_an_axis_is_a_number() -> None:
    t = te.compute((4, 6), lambda i, j: i * 10 + j, name="t")
    found = build_schedule(te.create_schedule(t), threads=1)()
    np.testing.assert_array_equal(found, np.arange(4)[:, None] * 10 + np.arange(6))
    u = te.compute((4,), lambda i: te.sqrt(i.astype("float32")), name="u")
    np.testing.assert_allclose(build_schedule(te.create_schedule(u), threads=1)(), np.sqrt(np.arange(4)), rtol=1e-6)


def test_computed_and_unsigned_indices() -> None:
    x, where = floats(-1, 1, "float32", 200), np.array([199, 0, 130, 7], "uint8")
    a, w = te.placeholder((200,), name="a"), te.placeholder((4,), "uint8", name="w")
    found = build_schedule(te.create_schedule(te.compute((4,), lambda i: a[w[i]]), inputs=[a, w]), threads=1)(x, where)
    np.testing.assert_array_equal(found, x[where])


def test_no_axes() -> None:
    a = te.placeholder((3,), name="a")
    total = te.compute((), lambda: a[0] + a[2], name="total")
    scaled = te.compute((3,), lambda i: a[i] * total[()], name="scaled")
    found = build_schedule(te.create_schedule(scaled), threads=1)(np.array([1, 2, 3], "float32"))
    np.testing.assert_array_equal(found, [4, 8, 12])
    assert total.shape == ()
    k = te.reduce_axis((0, 3), "k")
    everything = te.compute((), lambda: te.sum(a[k], k), name="everything")
    found = build_schedule(te.create_schedule(everything), threads=1)(np.array([1, 2, 3], "float32"))
    assert float(np.asarray(found)) == 6


def test_slices() -> None:
    a = te.placeholder((3, 4, 5), name="a")
    row = a[1]
    t = te.compute((4, 5), lambda i, j: row[i][j] + row[i, j] + a(1, i, j), name="t")
    x = floats(-1, 1, "float32", 60).reshape(3, 4, 5)
    found = build_schedule(te.create_schedule(t), threads=1)(x)
    np.testing.assert_allclose(found, 3 * x[1], rtol=1e-6)
    with pytest.raises(ScheduleError, match=r"Need to provide 3 index in tensor but 2 was provided \(tensor 'a'\)"):
        _ = a[1, 2] + 1.0


def test_equality_is_an_expression_and_identity_a_truth() -> None:
    a = te.placeholder((3,), name="a")
    x, y = a[0], a[0]
    assert [bool(x == x), bool(x != y), bool(x == y)] == [True, True, False]
    assert (x == 1.0).dtype == "bool"
    with pytest.raises(ScheduleError, match="no truth value"):
        bool(x < y)


def test_names_that_clash_get_numbers() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="b")
    d = te.compute((4,), lambda i: c[i] + 1.0, name="b_1")
    schedule = te.create_schedule(d)
    assert [stage.label for stage in schedule.stages] == ["b", "b_2", "b_1"]
    assert [schedule[t].label for t in (b, c, d)] == ["b", "b_2", "b_1"]
    found = build_schedule(schedule, threads=1)(np.zeros(4, "float32"))
    np.testing.assert_array_equal(found, np.full(4, 3.0))


def test_several_outputs_are_one_stage() -> None:
    a = te.placeholder((4, 5), name="a")
    s, d = te.compute((4, 5), lambda i, j: (a[i, j] + 1.0, te.cast("int32", a[i, j]) - 1), name="both")
    assert [s.name, d.name] == ["both.v0", "both.v1"]
    assert s.op is d.op
    t = te.compute((4, 5), lambda i, j: s[i, j] * d[i, j], name="t")
    schedule = te.create_schedule([t, d])
    assert [stage.label for stage in schedule.stages] == ["both", "t"]
    assert schedule[s] is schedule[d]
    schedule[t].vectorize(t.op.axis[1])
    x = numbers("int32", -9, 9)[:20].reshape(4, 5).astype("float32")
    product, less = build_schedule(schedule, threads=1)(x)
    np.testing.assert_array_equal(product, (x + 1) * (x - 1))
    np.testing.assert_array_equal(less, x - 1)
    inlined = te.create_schedule(t)
    inlined[s].compute_inline()
    np.testing.assert_array_equal(build_schedule(inlined, threads=1)(x), (x + 1) * (x - 1))
    attached = te.create_schedule(t)
    attached[s].compute_at(attached[t], t.op.axis[0])
    np.testing.assert_array_equal(build_schedule(attached, threads=1)(x), (x + 1) * (x - 1))


def test_sizes_are_given_with_the_schedule() -> None:
    n, scale = te.size_var("n"), te.var("scale", "float32")
    a = te.placeholder((n, n + 1), name="a")
    k = te.reduce_axis((1, n), "k")
    t = te.compute((n,), lambda i: te.sum(a[k, i + 1] * scale + n, k), name="t")
    with pytest.raises(
        ScheduleError, match=r"expected a value for the variable 'n', got none; give it: create_schedule\(.., sizes="
    ):
        lower(te.create_schedule(t))
    with pytest.raises(ScheduleError, match=r"expected an int for the variable 'n' of int32, got 1.5"):
        te.create_schedule(t, sizes={"n": 1.5, "scale": 1.0})
    x = floats(-1, 1, "float32", 20).reshape(4, 5)
    found = build_schedule(te.create_schedule(t, sizes={"n": 4, "scale": 0.5}), threads=1)(x)
    np.testing.assert_allclose(found, (x[1:, 1:] * 0.5 + 4).sum(0), rtol=1e-6)


def test_prim_func_of_a_compute_without_inputs() -> None:
    a = te.placeholder((4,), name="a")
    seven = te.compute((), lambda: te.const(7.0), name="seven")
    t = te.compute((4,), lambda i: a[i] + seven[()], name="t")
    func = create_prim_func([a, seven, t])
    assert func.outputs.value.data == 2


def test_every_op_is_located_at_its_stage() -> None:
    a = te.placeholder((4, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((4,), lambda i: te.max(te.exp(a[i, k]) + i, k, where=k > 2), name="b")
    c = te.compute((4,), lambda i: b[i] * 2.0, name="c")
    schedule = te.create_schedule(c)
    for op in schedule.func.block.ops:
        if isinstance(op, ComputeOp):
            assert all(list(layer_names(inner.location)) == [op.label.data] for inner in op.walk())
    for op in lower(schedule).walk():
        assert layer_names(op.location), op


_REFUSED: list[tuple[Callable[[te.Tensor, te.Tensor], object], str]] = [
    (lambda a, n: a[0] / n[0] + n[0] / 2, "several integer divisions"),
    (lambda a, n: a[0] & 1, "te.and: expected integers, got float32; use astype"),
    (lambda a, n: te.power(n[0], 2), "te.pow: expected floats, got int32"),
    (lambda a, n: te.exp(n[0]), "te.exp: expected a float, got int32; use astype"),
    (lambda a, n: te.popcount(a[0]), "te.popcount: expected an integer, got float32"),
    (lambda a, n: (n[0] > 0) + (n[0] > 1), "te.add: expected numbers, got bool"),
    (lambda a, n: te.all(), "Any/All must take at least 1 argument"),
    (lambda a, n: te.any(a[0]), "te.any: expected bool as condition, got float32"),
    (lambda a, n: te.if_then_else(n[0], 1, 2), "te.if_then_else: expected bool as condition, got int32"),
    (lambda a, n: te.select(n[0] > 0, a[0], n[0]), "both sides of a choice of one dtype, got float32 and int32"),
    (lambda a, n: te.const(300, "uint8"), "number of uint8, 0 to 255; the literal value 300 is out of range"),
    (lambda a, n: te.const(1.5, "int32"), "expected a whole number beside int32, got 1.5"),
    (lambda a, n: te.placeholder((3,), "int8")[0] + 200, "the literal value 200 is out of range"),
    (lambda a, n: te.const(1, "int3"), "te.const: expected a dtype among"),
    (lambda a, n: a[0].astype("f32"), "te.cast: expected a dtype among"),
    (lambda a, n: a[a[0]], "expected integers as indices of tensor 'a', got float32"),
    (lambda a, n: a[0:2] + 1.0, "ranges are not indices"),
    (lambda a, n: a[0, 1], "Need to provide 1 index in tensor but 2 was provided"),
    (lambda a, n: a[0] + "x", "expected an expression or a number, got str"),
    (lambda a, n: list(a), "cannot be iterated"),
    (lambda a, n: te.placeholder((3, -1)), "expected non-negative ints as sizes, got -1"),
    (lambda a, n: te.placeholder(cast(Any, (1.5,))), "expected non-negative ints as sizes, got 1.5"),
    (lambda a, n: te.compute((3,), lambda i, j: a[i]), "does not match dimension, args=2, dimension=1"),
    (lambda a, n: te.compute((3,), lambda i, k=2: a[i]), "keyword or default arguments"),
    (lambda a, n: te.compute((3,), lambda i: ()), "at least one value, got an empty tuple"),
    (lambda a, n: te.infinity("int8"), "expected a float dtype, got int8"),
    (lambda a, n: te.size_var("n", "float32"), "expected an integer dtype, got float32"),
    (lambda a, n: te.fmod(n[0], n[1]), "te.copysign: expected floats, got int32"),
]


@pytest.mark.parametrize(("make", "text"), _REFUSED)
def test_what_is_refused(make: Callable[[te.Tensor, te.Tensor], object], text: str) -> None:
    a, n = te.placeholder((3,), name="a"), te.placeholder((3,), "int32", name="n")
    with pytest.raises(ScheduleError, match=text):
        make(a, n)


def test_a_foreign_axis_is_refused() -> None:
    a = te.placeholder((3,), name="a")
    b = te.compute((3,), lambda i: a[i], name="b")
    stray = b.op.axis[0]
    with pytest.raises(ScheduleError, match=r"te.compute 'c': axis i belongs to no axis of this stage"):
        te.create_schedule(te.compute((3,), lambda j: a[stray], name="c"))


def test_a_missing_or_wrong_argument_is_refused() -> None:
    a, b = te.placeholder((3,), name="a"), te.placeholder((3,), name="b")
    c = te.compute((3,), lambda i: a[i] + b[i], name="c")
    with pytest.raises(ScheduleError, match="every placeholder among the arguments, missing b"):
        te.create_schedule(c, inputs=[a])
    with pytest.raises(ScheduleError, match="expected placeholders as arguments, got c"):
        te.create_schedule(c, inputs=[a, b, c])
