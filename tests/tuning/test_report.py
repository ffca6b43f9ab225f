"""The numbers of a report of tuning."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from whence.tuning.report import Report
from whence.tuning.search import Found, Score
from whence.tuning.tasks import Task
from whence.tuning.tuner import Result


def _result(calls: int, seconds: float, bound: float, ratio: float = 1.0) -> Result:
    won = Found({"rows": 4}, Score(ratio, ratio, ratio, 1.0, ratio), measured=5) if ratio > 1 else None
    return Result(cast(Task, SimpleNamespace(calls=calls)), seconds, bound, 0.5, won)


def test_the_part_below_the_roof_is_of_the_time_of_all_calls():
    # The second is faster than the roof of a machine says, which counts as all of its time.
    results = (_result(3, 2.0, 1.0, 2.0), _result(1, 0.5, 1.0), _result(2, 4.0, 1.0))
    report = Report("m", "here", results, 1.0, Path("r.jsonl"))
    assert report.near_roof_before == pytest.approx((3 * 1.0 + 0.5 + 2 * 1.0) / (3 * 2.0 + 0.5 + 2 * 4.0))
    assert report.near_roof == pytest.approx((3 * 1.0 + 0.5 + 2 * 1.0) / (3 * 1.0 + 0.5 + 2 * 4.0))
    assert (report.measured, report.won) == (5, [results[0]])
    assert Report("m", "here", (), 1.0, Path("r.jsonl")).near_roof == 0.0
