"""Tails of uneven splits: each kind computes what numpy does, has the loops that it says, and is replayed."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import whence
from whence import te
from whence.dialects.tir import ForOp, IfOp
from whence.kernels import lower
from whence.support.errors import ScheduleError
from whence.te.schedule.itervar import Tail
from whence.te.schedule.schedule import Schedule

ROWS, DEPTH, COLUMNS = 5, 6, 21


def product(tail: Tail | None) -> Schedule:
    """A product whose columns are split by 8, its sums computed inside."""
    a, b = te.placeholder((ROWS, DEPTH), name="a"), te.placeholder((DEPTH, COLUMNS), name="b")
    k = te.reduce_axis((0, DEPTH), name="k")
    c = te.compute((ROWS, COLUMNS), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    schedule = te.create_schedule(c.op)
    local = schedule.cache_write(c, "local")
    outer, _ = schedule[c].split(schedule[c].axes[1], 8, tail=tail)
    schedule[local].compute_at(schedule[c], outer)
    return schedule


@pytest.mark.parametrize("tail", [None, "guard", "cut", "round_up"])
def test_agrees_with_numpy(tail: Tail | None):
    schedule = product(tail)
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(shape).astype(np.float32) for shape in ((ROWS, DEPTH), (DEPTH, COLUMNS)))
    for one in (schedule, schedule.copy()):
        run: Any = whence.build_schedule(one)
        np.testing.assert_allclose(cast(Any, np.asarray(run(a, b))), a @ b, rtol=1e-5, atol=1e-5)


def guards(schedule: Schedule) -> list[IfOp]:
    return [op for op in lower(schedule).walk() if isinstance(op, IfOp)]


def test_a_guard_stays_where_it_is_asked_for():
    assert guards(product("guard"))
    assert not guards(product("cut"))


def test_rounded_up_sums_have_no_guard():
    """What is computed inside covers whole tiles; only the store of the result is guarded."""
    func = lower(product("round_up"), simple_mode=True)
    sums = [op for op in func.walk() if isinstance(op, ForOp) and op.var.name_hint == "k"]
    assert sums
    assert not any(isinstance(op, IfOp) for loop in sums for op in loop.walk())
    guarded = lower(product(None), simple_mode=True)
    sums = [op for op in guarded.walk() if isinstance(op, ForOp) and op.var.name_hint == "k"]
    assert any(isinstance(op, IfOp) for loop in sums for op in loop.walk())


def test_the_text_and_the_replay_know_it():
    text = str(product("round_up").sequence)
    assert 'factor 8 {tail = "round_up"}' in text
    assert str(product("round_up").copy().sequence) == text
    assert "tail" not in str(product(None).sequence)


def test_bad_tails():
    schedule = product(None)
    (stage,) = [stage for stage in schedule.stages if stage.label == "c.local"]
    with pytest.raises(ScheduleError, match="expected a tail of guard or cut for the reduction k, got round_up"):
        stage.split(stage.reduce_axes[0], 4, tail="round_up")
    with pytest.raises(ScheduleError, match="expected the tail guard, cut, round_up, got sideways"):
        stage.split(stage.axes[0], 4, tail=cast(Tail, "sideways"))
