"""Knobs of schedules: recorded, decided otherwise, legal together, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whence import te
from whence.dialects.schedule import KnobOp
from whence.lowering.relay_to_te.cost import Cost, Rates, moved
from whence.lowering.relay_to_te.knobs import Space, decisions_of
from whence.lowering.relay_to_te.schedules.common import Scheduling
from whence.lowering.relay_to_te.strategies import strategy, unregister_schedule
from whence.lowering.relay_to_te.strategy import schedule_function, space_of
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.support.machine import WIDEST
from whence.te.language.emit import build_function
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage import Stage


def product(rows: int = 64, columns: int = 64, terms: int = 32):
    a = te.placeholder((rows, terms), "float32", name="a")
    b = te.placeholder((terms, columns), "float32", name="b")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c", tag="dense")
    return build_function([c], [a, b], "product")[0]


def knobs(schedule: Schedule) -> dict[str, tuple[tuple[int, ...], int]]:
    ops = [op for op in schedule.sequence.block.ops if isinstance(op, KnobOp)]
    return {op.knob.data: (op.values, op.decision.value.data) for op in ops}


def test_a_schedule_records_its_choices_at_the_layer():
    schedule = schedule_function(product(), WIDEST)
    recorded = knobs(schedule)
    assert recorded["vectors"] == ((1, 2, 4), 4)
    assert recorded["rows"][1] in recorded["rows"][0]
    op = next(op for op in schedule.sequence.block.ops if isinstance(op, KnobOp))
    assert op.location == schedule["c"].location


def test_other_decisions_make_another_schedule():
    default = schedule_function(product(), WIDEST)
    other = schedule_function(product(), WIDEST, decisions={"rows": 2, "vectors": 1})
    assert knobs(other)["rows"][1] == 2
    assert "factor %rows" in str(other.sequence)
    assert str(lower_schedule(other)) != str(lower_schedule(default))


def test_a_replayed_schedule_keeps_them():
    schedule = schedule_function(product(), WIDEST, decisions={"rows": 2})
    assert knobs(schedule.copy()) == knobs(schedule)


def test_a_decision_that_the_primitives_were_chosen_by_stays():
    schedule = schedule_function(product(), WIDEST)
    rows = knobs(schedule)["rows"][1]
    with pytest.raises(ScheduleError, match=f"knob 'rows': expected the decision {rows}, by which the primitives"):
        schedule.with_decisions({"rows": rows - 1})


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ({"rows": 1000}, "knob 'rows': expected one of"),
        ({"rows": 24, "vectors": 4}, "knob 'rows': expected numbers that go together, got vectors = 4, rows = 24"),
        ({"columns": 2}, "decisions: expected knobs of the schedule .*, got columns"),
    ],
)
def test_decisions_that_do_not_fit_are_refused(decisions: dict[str, int], text: str):
    with pytest.raises(ScheduleError, match=text):
        schedule_function(product(), WIDEST, decisions=decisions)


def test_points_of_a_space_are_legal_and_begin_with_the_default():
    points = space_of(product(), WIDEST).points()
    rows, vectors = points.columns["rows"], points.columns["vectors"]
    assert points.decisions(0) == {}
    assert len(points) > 100
    assert ((rows * vectors <= WIDEST.accumulators) & ((rows + 1) * vectors < WIDEST.vector_registers)).all()
    for point in range(1, len(points), 97):
        schedule_function(product(), WIDEST, decisions=points.decisions(point))


def test_a_large_space_is_sampled_alike_for_a_seed():
    base = space_of(product(), WIDEST)
    wide = tuple(replace(base.knobs[0], name=f"k{n}", candidates=tuple(range(40)), default=0) for n in range(4))
    large = Space(wide)
    first, again, other = large.points(3), large.points(3), large.points(4)
    assert all((first.columns[name] == again.columns[name]).all() for name in first.columns)
    assert any(
        len(a) != len(b) or (a != b).any() for a, b in zip(first.columns.values(), other.columns.values(), strict=True)
    )
    # One knob at a time is always there.
    assert {point["k2"] for point in map(first.decisions, range(len(first))) if set(point) == {"k2"}} == {*range(1, 40)}


def test_costs_are_those_of_each_point():
    points = space_of(product(), WIDEST).points()
    costs = points.costs(Rates())
    assert costs.shape == (len(points),)
    assert (costs > 0).all()
    one = [n for n in range(len(points)) if points.columns["rows"][n] == 1 and points.columns["vectors"][n] == 1]
    # A single sum waits for itself.
    assert min(costs[n] for n in one) > 2 * costs.min()


def test_threads_that_wait_cost_time():
    even, odd = (Cost(products=1e9, passes=passes).seconds(Rates(threads=2, fork=0)) for passes in (2, 3))
    assert odd == pytest.approx(even * 4 / 3)


def test_bytes_come_from_the_nearest_cache_that_holds_them():
    near = moved(100.0, 3.0, np.array([WIDEST.l1, WIDEST.l2, WIDEST.l3, WIDEST.l3 + 1]), WIDEST)
    assert [list(level) for level in near] == [[0, 300, 0, 0], [0, 0, 300, 0], [0, 0, 0, 300]]


def test_decisions_of_text():
    assert decisions_of("rows=4, vectors = 2") == {"rows": 4, "vectors": 2}
    with pytest.raises(ScheduleError, match="decisions: expected knobs and numbers, such as rows=4,vectors=2, got 'x'"):
        decisions_of("x")


def test_a_strategy_from_outside_has_knobs():
    @strategy(tag="dense", plevel=20, name="two_knobs")
    def schedule(work: Scheduling, stage: Stage) -> None:
        block = work.knob("block", (2, 4, 8), 4)
        outer, _ = stage.split(stage.axes[0], block)
        stage.parallel(outer)

    try:
        assert [knob.name for knob in space_of(product(), WIDEST).knobs] == ["block"]
        other = schedule_function(product(), WIDEST, decisions={"block": 8})
        assert "factor %block" in str(other.sequence)
        assert "for i.inner in 8" in str(other)
        assert str(schedule_function(product(), WIDEST).with_decisions({"block": 8})) == str(other)
    finally:
        unregister_schedule("two_knobs")
