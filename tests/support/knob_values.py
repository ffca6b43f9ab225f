"""Knobs whose numbers primitives are given: another decision in the text is another schedule of the strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from whence.dialects.schedule import KnobOp
from whence.dialects.te import FuncOp
from whence.lowering.relay_to_te.strategy import schedule_function, space_of
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.machine import Machine


def check_free_knobs(make: Callable[[], FuncOp], machine: Machine, most: int = 4) -> tuple[int, int]:
    """Compare schedules of other decisions with those of strategies; returns how many knobs are free, and fixed.

    make: a new copy of the function at each call. most: the points that are compared.
    """
    schedule = schedule_function(make(), machine)
    knobs = [op for op in schedule.sequence.block.ops if isinstance(op, KnobOp)]
    free = {op.knob.data for op in knobs if not op.is_fixed}
    points = space_of(make(), machine).points()
    decided = [points.decisions(point) for point in range(1, len(points))]
    some = [decisions for decisions in decided if decisions.keys() <= free]
    draw = np.random.default_rng(len(decided))
    order = cast("list[int]", draw.permutation(len(some)).tolist())
    for decisions in (some[number] for number in order[:most]):
        expected = lower_schedule(schedule_function(make(), machine, decisions=decisions))
        got = lower_schedule(schedule.with_decisions(decisions))
        assert str(got) == str(expected), f"{decisions}\n{got}\n{expected}"
    return len(free), len(knobs) - len(free)
