"""Reductions: the known ones with conditions, custom ones, and tuples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import te
from whence.dialects.te import ComputeOp
from whence.dialects.tir import ForOp
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(1)

_argmax = te.comm_reducer(
    lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
    lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
    name="argmax",
)


def _random(dtype: str, *shape: int) -> Array:
    if dtype.startswith("float"):
        return _RANDOM.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return _RANDOM.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "uint8", "uint64"])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_known_reducers_where_a_condition_holds(kind: str, dtype: str) -> None:
    """Where it fails, the neutral element is taken: also when nothing is left."""
    x = _random(dtype, 5, 7)
    a = te.placeholder((5, 7), dtype, name="a")
    k = te.reduce_axis((0, 7), "k")
    reduce = getattr(te, kind)
    t = te.compute((5,), lambda i: reduce(a[i, k], k, where=te.all(k > 1, i != 3)), name="t")
    found = build_schedule(te.create_schedule(t), threads=1)(x)
    low, high = (-np.inf, np.inf) if dtype.startswith("float") else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    neutral = {"sum": 0, "prod": 1, "max": low, "min": high}[kind]
    numpy_kind = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    expected = numpy_kind.reduce(x[:, 2:], axis=1, dtype=dtype)
    expected[3] = neutral
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_condition_keeps_reads_inside() -> None:
    x = _random("float32", 6)
    a = te.placeholder((6,), name="a")
    k = te.reduce_axis((0, 3), "k")
    t = te.compute((6,), lambda i: te.sum(a[i + k - 1], k, where=te.all(i + k >= 1, i + k < 7)), name="t")
    found = build_schedule(te.create_schedule(t), threads=1)(x)
    np.testing.assert_allclose(found, np.convolve(x, np.ones(3, "float32"), "same"), rtol=1e-5)


def test_a_range_that_does_not_start_at_zero() -> None:
    x = _random("float32", 4, 9)
    a = te.placeholder((4, 9), name="a")
    k = te.reduce_axis((2, 8), "k")
    t = te.compute((4,), lambda i: te.max(a[i, k] * te.cast("float32", k), k), name="t")
    schedule = te.create_schedule(t)
    schedule[t].split(t.op.reduce_axis[0], 4)
    found = build_schedule(schedule, threads=1)(x)
    np.testing.assert_allclose(found, (x[:, 2:8] * np.arange(2, 8, dtype="float32")).max(1), rtol=1e-6)


def test_a_custom_reducer_of_one_value() -> None:
    """Any commutative and associative function: here xor, and the product in a ring."""
    x = _random("int32", 4, 9)
    a = te.placeholder((4, 9), "int32", name="a")
    k = te.reduce_axis((0, 9), "k")
    xor = te.comm_reducer(lambda p, q: p ^ q, lambda t: te.const(0, t), name="xor")
    t = te.compute((4,), lambda i: xor(a[i, k], k), name="t")
    schedule = te.create_schedule(t)
    schedule[t].vectorize(t.op.axis[0])
    np.testing.assert_array_equal(build_schedule(schedule, threads=1)(x), np.bitwise_xor.reduce(x, axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_argmax(dtype: str) -> None:
    x = _random(dtype, 6, 8)
    a = te.placeholder((6, 8), dtype, name="a")
    k = te.reduce_axis((0, 8), "k")
    where, best = te.compute((6,), lambda i: _argmax((k, a[i, k]), k), name="best")
    assert (where.dtype, best.dtype) == ("int32", dtype)
    schedule = te.create_schedule([where, best])
    assert [stage.label for stage in schedule.stages] == ["best"]
    found = build_schedule(schedule, threads=1)(x)
    np.testing.assert_array_equal(found[0], x.argmax(1))
    np.testing.assert_array_equal(found[1], x.max(1))


def test_schedules_of_a_tuple_reduction() -> None:
    """Split, reordered, vectorized and computed inside a consumer's loop: one stage, one loop nest."""
    x = _random("float32", 12, 10)
    a = te.placeholder((12, 10), name="a")
    k = te.reduce_axis((0, 10), "k")
    where, best = te.compute((12,), lambda i: _argmax((k, a[i, k]), k, where=k != 4), name="best")
    t = te.compute((12,), lambda i: best[i] * te.cast("float32", where[i]), name="t")
    masked = x.copy()
    masked[:, 4] = -np.inf
    expected = masked.max(1) * masked.argmax(1)
    schedule = te.create_schedule(t)
    stage = schedule[best]
    outer, inner = stage.split(best.op.axis[0], 4)
    ko, ki = stage.split(best.op.reduce_axis[0], 3)
    stage.reorder(outer, ko, ki, inner)
    stage.vectorize(inner)
    func = lower(schedule, simple_mode=True)
    assert sum(isinstance(op, ForOp) for op in func.walk()) == 6
    np.testing.assert_allclose(build_schedule(schedule, threads=1)(x), expected, rtol=1e-6)
    inside = te.create_schedule(t)
    outer, _ = inside[t].split(t.op.axis[0], 3)
    inside[best].compute_at(inside[t], outer)
    np.testing.assert_allclose(build_schedule(inside, threads=1)(x), expected, rtol=1e-6)


def test_only_one_of_the_values_is_wanted() -> None:
    x = _random("float32", 6, 8)
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    where, _ = te.compute((6,), lambda i: _argmax((k, a[i, k]), k), name="best")
    np.testing.assert_array_equal(build_schedule(te.create_schedule(where), threads=1)(x), x.argmax(1))


def test_reducers_that_have_a_name_are_those() -> None:
    a = te.placeholder((4, 6), name="a")
    k = te.reduce_axis((0, 6), name="k")

    def reducer(combine: Callable[[Any, Any], Any], start: int) -> str:
        mine = te.comm_reducer(combine, lambda dtype: te.const(start, dtype), name="mine")
        return te.compute((4,), lambda i: mine(a[i, k], axis=k), name="b").op.body[0].reducer

    assert reducer(lambda x, y: x + y, 0) == "sum"
    assert reducer(lambda x, y: y * x, 1) == "prod"
    assert reducer(lambda x, y: x + y, 1) == "mine"
    assert reducer(lambda x, _: x + x, 0) == "mine"


def test_the_mean_and_the_variance_in_one_pass() -> None:
    """Three values per operand: Welford's combination of counts, means and squares."""

    def combine(x: list[te.Expr], y: list[te.Expr]) -> tuple[te.Expr, ...]:
        count = x[0] + y[0]
        delta = y[1] - x[1]
        share = y[0] / te.maximum(count, 1.0)
        return count, x[1] + delta * share, x[2] + y[2] + delta * delta * x[0] * share

    welford = te.comm_reducer(
        combine, lambda a, b, c: (te.const(0.0, a), te.const(0.0, b), te.const(0.0, c)), "welford"
    )
    x = _random("float32", 5, 33)
    a = te.placeholder((5, 33), name="a")
    k = te.reduce_axis((0, 33), "k")
    outputs = te.compute((5,), lambda i: welford((te.const(1.0), a[i, k], te.const(0.0)), k), name="w")
    count, mean, square = build_schedule(te.create_schedule(outputs), threads=1)(x)
    np.testing.assert_array_equal(count, np.full(5, 33))
    np.testing.assert_allclose(mean, x.mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(square / 33, x.var(1), rtol=1e-4)


def test_ops_of_a_combiner_are_located() -> None:
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    outputs = te.compute((6,), lambda i: _argmax((k, a[i, k]), k), name="best")
    schedule = te.create_schedule(outputs)
    (compute,) = [op for op in schedule.func.block.ops if isinstance(op, ComputeOp)]
    compute.verify()
    assert compute.combiner is not None
    for op in compute.combiner.block.ops:
        assert layer_names(op.location) == ("best",)
    for op in lower(schedule).walk():
        assert layer_names(op.location) == ("best",) if op.name != "tir.prim_func" else layer_names(op.location)


def test_what_is_refused() -> None:
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 8), "k")

    def compute(*values: object) -> None:
        te.compute((6,), lambda i: values, name="t")

    pair = _argmax((k, a[0, k]), k)
    with pytest.raises(ScheduleError, match="the values of one reduction, all 2 of them in order, got 1 expressions"):
        compute(pair[0])
    with pytest.raises(ScheduleError, match="the values of one reduction, all 2 of them in order, got 2 expressions"):
        compute(pair[1], pair[0])
    with pytest.raises(ScheduleError, match="the values of one reduction, all 1 of them in order, got 2 expressions"):
        compute(te.sum(a[0, k], k), te.max(a[0, k], k))
    with pytest.raises(ScheduleError, match=r"Reductions are only allowed at the top level of compute \(stage 't'\)"):
        compute(te.sum(a[0, k], k) + 1.0)
    with pytest.raises(ScheduleError, match=r"te.sum: expected reduce axes, got \[\]"):
        te.sum(a[0, k], [])
    with pytest.raises(ScheduleError, match=r"te.sum: expected each reduce axis once"):
        te.sum(a[0, k], [k, k])
    with pytest.raises(ScheduleError, match=r"te.max: expected numbers, got bool; use astype"):
        te.max(a[0, k] > 0, k)
    with pytest.raises(ScheduleError, match=r"te.max: expected bool as condition, got int32"):
        te.max(a[0, k], k, where=k)
    with pytest.raises(ScheduleError, match="expected an end of at least the begin, got"):
        te.reduce_axis((4, 2))


def test_reducers_whose_parts_do_not_fit() -> None:
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    wrong = te.comm_reducer(lambda x, y: (x[0], y[0]), lambda s, t: (te.const(0, s), te.const(0.0, t)), name="wrong")
    with pytest.raises(
        ScheduleError, match=r"'wrong': expected fcombine to give \(int32, float32\), got \(int32, int32\)"
    ):
        wrong((k, a[0, k]), k)
    short = te.comm_reducer(lambda x, y: (x[0], y[1]), lambda s, t: te.const(0, s), name="short")
    with pytest.raises(ScheduleError, match=r"'short': expected fidentity to give \(int32, float32\), got \(int32\)"):
        short((k, a[0, k]), k)
    term = te.comm_reducer(lambda x, y: x + y, lambda t: k.astype(t), name="term")
    with pytest.raises(ScheduleError, match="'term': expected fidentity to depend on data axes only, got"):
        term(a[0, k], k)
    most = te.comm_reducer(te.max, lambda t: te.var("v", t), name="most")
    with pytest.raises(ScheduleError, match="'most': expected init or an identity of expressions, got both"):
        most(a[0, k], k, init=1.0)
    outside = te.comm_reducer(lambda x, y: x + a[0, 0], lambda t: te.const(0.0, t), name="outside")
    with pytest.raises(ScheduleError, match=r"'outside': expected fcombine to use its operands and var.* got Read"):
        outside(a[0, k], k)


def test_what_schedules_refuse() -> None:
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    where, best = te.compute((6,), lambda i: _argmax((k, a[i, k]), k), name="best")
    t = te.compute((6,), lambda i: best[i], name="t")
    schedule = te.create_schedule([t, where])
    with pytest.raises(ScheduleError, match="compute_inline: a reduction cannot be inlined"):
        schedule[best].compute_inline()
    with pytest.raises(ScheduleError, match="compute_at: an output of the function stays at the root"):
        schedule[best].compute_at(schedule[t], t.op.axis[0])
