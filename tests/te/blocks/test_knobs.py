"""Knobs of block schedules: the text with another decision is another schedule."""

from __future__ import annotations

import pytest
from block_kernels import check_values, scheduled

from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule


def rows(decision: int = 4, least: int = 2) -> BlockSchedule:
    s = scheduled("MM")
    height = s.knob("rows", (2, 4, 8), decision)
    i, j, k = s.get_loops("C")
    outer, inner = s.split(i, [None, height])
    s.split(k, [None, height // least])
    s.reorder(outer, j, inner)
    s.annotate(outer, "step", height * 16)
    return s


@pytest.mark.parametrize("decision", [2, 4, 8])
def test_another_decision_gives_the_nests_of_another_schedule(decision: int):
    given = rows().with_decisions({"rows": decision})
    assert str(given.module) == str(rows(decision).module)
    assert str(given.sequence) == str(rows(decision).sequence)
    assert f"step = {decision * 16} " in str(given.module)
    check_values("MM", given)


def test_snapshots_have_the_knobs():
    s = rows().with_decisions({"rows": 8})
    assert "split(%i, none, %rows)" in str(s.snapshot(1).sequence)
    assert "in 8 {" in str(s.snapshot(1).module)
    assert str(s.snapshot().module) == str(s.module)


def test_decisions_that_do_not_fit_are_refused():
    with pytest.raises(ScheduleError, match="expected one of \\[2, 4, 8\\], got 3"):
        rows().with_decisions({"rows": 3})
    with pytest.raises(ScheduleError, match="split: expected positive factors, got 0 at position 1"):
        rows(least=3).with_decisions({"rows": 2})
    s = rows()
    with pytest.raises(ScheduleError, match="knob 'rows': expected a knob of another name"):
        s.knob("rows", (2, 4), 2)
