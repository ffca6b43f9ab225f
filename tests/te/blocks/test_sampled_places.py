"""Places of blocks that are drawn: loops of readers, where a block is, or inlined."""

from __future__ import annotations

import pytest
from block_kernels import check_values, outline, scheduled

from whence.support.errors import ScheduleError
from whence.te.blocks.state import LoopRV


def drawn(decision: int) -> LoopRV:
    """The place of Y of elementwise kernels for a decision."""
    return scheduled("EW").sample_compute_location("Y", decision)


def test_a_decision_that_is_not_possible_becomes_the_nearest_smaller():
    s = scheduled("EW")
    loop = s.sample_compute_location("Y", decision=7)
    assert s.state.loop("test", loop).var.name_hint == "j"
    assert "decision = 1" in str(s.sequence)
    assert [drawn(number).place for number in (-1, -2, 0)] == ["root", "inline", ""]
    assert drawn(-9).place == "root"


@pytest.mark.parametrize(("decision", "blocks"), [(-2, 1), (-1, 2), (0, 2), (1, 2)])
def test_compute_at_such_a_place(decision: int, blocks: int):
    s = scheduled("EW")
    place = s.sample_compute_location("Y", decision)
    s.compute_at("Y", place)
    assert outline(s).count("tir.block") == blocks
    check_values("EW", s)
    assert str(s.snapshot().module) == str(s.module)
    assert str(s.snapshot().sequence) == str(s.sequence)


def test_draws_are_those_of_the_seed_and_possible():
    seen = list[str]()
    for seed in (1, 1, 2, 3, 4, 5, 6, 7, 8, 9):
        s = scheduled("STENCIL")
        s.seed(seed)
        place = s.sample_compute_location("Y")
        s.compute_at("Y", place)
        check_values("STENCIL", s)
        seen.append(str(s.sequence))
    assert seen[0] == seen[1]
    assert len(set(seen)) > 1


def test_what_is_no_producer_stays_where_it_is():
    s = scheduled("MM")
    assert s.sample_compute_location("E").place == "root"
    place = s.sample_compute_location("E", 3)
    s.compute_at("E", place)
    with pytest.raises(ScheduleError, match="expected a loop of the schedule, got the place 'root'"):
        s.unroll(place)
