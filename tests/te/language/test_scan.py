"""te.scan: states over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(2)
STEPS, WIDTH = 9, 8


def _random(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


def _cumulative_sum() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x = te.placeholder((STEPS, WIDTH), name="x")
    state = te.placeholder((STEPS, WIDTH), name="state")
    init = te.compute((1, WIDTH), lambda _, i: x[0, i], name="init")
    update = te.compute((STEPS, WIDTH), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return x, update, te.scan(init, update, state, inputs=[x], name="total")


def test_a_cumulative_sum() -> None:
    _, _, total = _cumulative_sum()
    x = _random(STEPS, WIDTH)
    found = build_schedule(te.create_schedule(total), threads=1)(x)
    np.testing.assert_allclose(found, np.cumsum(x, axis=0), rtol=1e-5, atol=1e-6)


def test_stages_of_a_scan_are_scheduled_and_read_afterwards() -> None:
    _, update, total = _cumulative_sum()
    after = te.compute((STEPS, WIDTH), lambda i, j: total[i, j] * 2.0, name="after")
    schedule = te.create_schedule(after)
    _, inner = schedule[update].split(update.op.axis[1], 4)
    schedule[update].vectorize(inner)
    x = _random(STEPS, WIDTH)
    found = build_schedule(schedule, threads=1)(x)
    np.testing.assert_allclose(found, 2 * np.cumsum(x, axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("placed", ["root", "inline", "inside", "factored", "steps"])
def test_a_recurrent_network(placed: str) -> None:
    """h[t] = tanh(x[t] W + h[t - 1] U): a reduction over the state, in an intermediate stage."""
    x, w = te.placeholder((STEPS, 3, 4), name="x"), te.placeholder((4, WIDTH), name="w")
    u = te.placeholder((WIDTH, WIDTH), name="u")
    h = te.placeholder((STEPS, 3, WIDTH), name="h")
    k, r = te.reduce_axis((0, 4), "k"), te.reduce_axis((0, WIDTH), "r")
    first = te.compute((1, 3, WIDTH), lambda t, b, i: te.const(0.0), name="first")
    xw = te.compute((STEPS, 3, WIDTH), lambda t, b, i: te.sum(x[t, b, k] * w[k, i], k), name="xw")
    hu = te.compute((STEPS, 3, WIDTH), lambda t, b, i: te.sum(h[t - 1, b, r] * u[r, i], r), name="hu")
    both = te.compute((STEPS, 3, WIDTH), lambda t, b, i: hu[t, b, i] + xw[t, b, i], name="both")
    following = te.compute((STEPS, 3, WIDTH), lambda t, b, i: te.tanh(both[t, b, i]), name="next")
    out = te.scan(first, following, h, inputs=[x, w, u], name="rnn")
    schedule = te.create_schedule(out, inputs=[x, w, u])
    if placed == "inline":
        schedule[both].compute_inline()
    if placed == "inside":
        schedule[both].compute_at(schedule[following], following.op.axis[1])
        schedule[xw].compute_at(schedule[following], following.op.axis[1])
    if placed == "factored":
        made = schedule.rfactor(hu, schedule[hu].split(r, 4)[0], 1)
        made.compute_at(schedule[hu], schedule[hu].axes[1])
    if placed == "steps":
        _, inner = schedule[out].split(out.op.axis[0], 3)
        schedule[out].unroll(inner)
        schedule[following].parallel(following.op.axis[1])
    arrays = _random(STEPS, 3, 4), _random(4, WIDTH), _random(WIDTH, WIDTH)
    expected = np.zeros((STEPS, 3, WIDTH), "float32")
    for t in range(1, STEPS):
        expected[t] = np.tanh(arrays[0][t] @ arrays[1] + expected[t - 1] @ arrays[2])
    found = build_schedule(schedule, threads=1)(*arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_two_states_with_a_window_of_two_steps() -> None:
    """Fibonacci-like a, and b that sums it: the states have different widths."""
    a, b = te.placeholder((STEPS, 3), name="a"), te.placeholder((STEPS,), name="b")
    x, y = te.placeholder((2, 3), name="x"), te.placeholder((2,), name="y")
    k = te.reduce_axis((0, 3), "k")
    next_a = te.compute((STEPS, 3), lambda t, i: a[t - 1, i] + a[t - 2, i] * 0.5, name="next_a")
    gained = te.compute((STEPS,), lambda t: te.sum(a[t - 1, k], k), name="gained")
    next_b = te.compute((STEPS,), lambda t: b[t - 1] + gained[t], name="next_b")
    outputs = te.scan([x, y], [next_a, next_b], [a, b], name="pair")
    assert [output.name for output in outputs] == ["pair.v0", "pair.v1"]
    given_a, given_b = _random(2, 3), _random(2)
    expected_a, expected_b = np.zeros((STEPS, 3), "float32"), np.zeros(STEPS, "float32")
    expected_a[:2], expected_b[:2] = given_a, given_b
    for t in range(2, STEPS):
        expected_a[t] = expected_a[t - 1] + expected_a[t - 2] * 0.5
        expected_b[t] = expected_b[t - 1] + expected_a[t - 1].sum()
    found = build_schedule(te.create_schedule(outputs, inputs=[x, y]), threads=1)(given_a, given_b)
    np.testing.assert_allclose(found[0], expected_a, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], expected_b, rtol=1e-4, atol=1e-5)


def test_a_scan_of_one_step_and_one_after_another() -> None:
    x = te.placeholder((4,), name="x")
    s1, s2 = te.placeholder((4,), name="s1"), te.placeholder((4,), name="s2")
    init = te.compute((1,), lambda t: x[t], name="init")
    one = te.scan(init, te.compute((4,), lambda t: s1[t - 1] + x[t], name="u1"), s1, name="one")
    begin = te.compute((4,), lambda t: one[t], name="begin")
    two = te.scan(begin, te.compute((4,), lambda t: s2[t - 4], name="u2"), s2, name="two")
    array = _random(4)
    found = build_schedule(te.create_schedule(two), threads=1)(array)
    np.testing.assert_allclose(found, np.cumsum(array), rtol=1e-5, atol=1e-6)


def test_sizes_of_a_scan_may_be_variables() -> None:
    m = te.size_var("m")
    x, s = te.placeholder((m, 2), name="x"), te.placeholder((m, 2), name="s")
    init = te.compute((1, 2), lambda _, i: x[0, i], name="init")
    out = te.scan(init, te.compute((m, 2), lambda t, i: te.maximum(s[t - 1, i], x[t, i]), name="u"), s)
    array = _random(6, 2)
    found = build_schedule(te.create_schedule(out, sizes={"m": 6}), threads=1)(array)
    np.testing.assert_array_equal(found, np.maximum.accumulate(array))


def test_everything_is_located() -> None:
    _, _, total = _cumulative_sum()
    schedule = te.create_schedule(total)
    schedule.func.verify()
    for op in schedule.func.walk():
        assert layer_names(op.location), op
    func = lower(schedule, simple_mode=True)
    for op in func.walk():
        assert layer_names(op.location), op
    loop = list(func.block.ops)[-1]
    assert layer_names(loop.location) == ("total", "update")


def test_lengths_and_shapes_that_do_not_match() -> None:
    x, s = te.placeholder((4, 3), name="x"), te.placeholder((4, 3), name="s")
    u = te.compute((4, 3), lambda t, i: s[t - 1, i] + x[t, i], name="u")
    init = te.compute((1, 3), lambda t, i: x[0, i], name="init")
    with pytest.raises(ScheduleError, match="init, update, state_placeholder must have same length, got 1, 2 and 1"):
        te.scan([init], [u, u], [s])
    narrow = te.compute((1, 2), lambda t, i: x[0, i], name="narrow")
    with pytest.raises(ScheduleError, match=r"expected the init of float32\[4, 3\], fewer rows, as state 's' has, got"):
        te.scan(narrow, u, s, name="bad")
    short = te.compute((3, 3), lambda t, i: s[t - 1, i], name="short")
    with pytest.raises(
        ScheduleError, match=r"expected the update of float32\[4, 3\] as state 's' has, got float32\[3, 3\]"
    ):
        te.scan(init, short, s)
    whole = te.compute((4, 3), lambda t, i: s[t - 1, i].astype("float64"), name="whole")
    with pytest.raises(ScheduleError, match=r"as state 's' has, got float64\[4, 3\]"):
        te.scan(init, whole, s)
    with pytest.raises(ScheduleError, match=r"expected placeholders as states, got 'u'"):
        te.scan(init, u, u)
    with pytest.raises(ScheduleError, match=r"expected computes as updates, got 'x'"):
        te.scan(init, x, s)
    with pytest.raises(ScheduleError, match=r"expected each state once"):
        te.scan([init, init], [u, u], [s, s])


def test_times_that_are_not_there_yet() -> None:
    x, s = te.placeholder((4,), name="x"), te.placeholder((4,), name="s")
    init = te.compute((1,), lambda t: x[t], name="init")
    indices: list[Callable[[te.Expr], Any]] = [lambda t: t, lambda t: t - 2, lambda t: 0, lambda t: 3 - t]
    for index in indices:
        with pytest.raises(ScheduleError, match=r"te.scan 'scan': stage 'u' must read it 1 to 1 steps back, got index"):
            lower(te.create_schedule(te.scan(init, _update(s, index), s)))


def _update(state: te.Tensor, index: Callable[[te.Expr], Any]) -> te.Tensor:
    return te.compute((4,), lambda t: state[index(t)], name="u")


def test_stages_that_are_read_at_another_step_or_outside() -> None:
    x, s = te.placeholder((4,), name="x"), te.placeholder((4,), name="s")
    init = te.compute((1,), lambda t: x[t], name="init")
    part = te.compute((4,), lambda t: s[t - 1] * 2.0, name="part")
    late = te.compute((4,), lambda t: part[t - 1], name="late")
    with pytest.raises(ScheduleError, match="stage 'late' must read it at the same step, got index"):
        lower(te.create_schedule(te.scan(init, late, s)))
    good = te.compute((4,), lambda t: part[t] + x[t], name="good")
    total = te.scan(init, good, s)
    outside = te.compute((4,), lambda i: part[i] + total[i], name="outside")
    with pytest.raises(ScheduleError, match="stage 'outside' reads it step by step but is no part of the update"):
        lower(te.create_schedule(outside))
    with pytest.raises(ScheduleError, match=r"is used as a whole by te.return; use the scan's result"):
        lower(te.create_schedule([total, good]))
    schedule = te.create_schedule(total)
    with pytest.raises(ScheduleError, match="Cannot specify compute_at for scan updates"):
        schedule[good].compute_inline()
