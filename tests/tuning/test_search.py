"""The search of a space, on measurements that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from whence.lowering.relay_to_te.cost import Cost, Rates
from whence.lowering.relay_to_te.knobs import Knob, Names, Space
from whence.tuning.jobs import Failed
from whence.tuning.search import (
    _FINAL_PAIRS,  # pyright: ignore[reportPrivateUsage]
    _FINALISTS,  # pyright: ignore[reportPrivateUsage]
    DUEL_PAIRS,
    Found,
    Score,
    search,
)
from whence.tuning.tasks import Task

NAMES = Names({name: name for name in ("a", "b", "c")})


def formula(at: Mapping[str, Any]) -> Cost:
    # Wrong about c, which it does not know.
    return Cost(products=1e6 * (1 + abs(at["a"] - 12) + 0.5 * abs(at["b"] - 3)))


SPACE = Space(
    (
        Knob("a", tuple(range(16)), 4),
        Knob("b", tuple(range(8)), 0, lambda at: at["a"] + at["b"] < 18, NAMES),
        Knob("c", (0, 1, 2, 3), 0),
    ),
    ((formula, NAMES),),
)
TASK = cast(Task, SimpleNamespace(space=SPACE, workload="w"))


def speed(decisions: Mapping[str, int]) -> float:
    at = {"a": 4, "b": 0, "c": 0, **decisions}
    return 1 / (1 + abs(at["a"] - 12) + 0.5 * abs(at["b"] - 3)) * (1.0, 0.9, 1.3, 0.5)[at["c"]]


@dataclass
class Bench:
    """Measures by a formula; some candidates fail."""

    failing: frozenset[int] = frozenset()
    asked: list[tuple[dict[str, int], int]] = field(default_factory=list)

    def __call__(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]:
        self.asked += [(dict(decisions), pairs) for decisions in decided]
        return [self.one(decisions) for decisions in decided]

    def one(self, decisions: Mapping[str, int]) -> Score | Failed:
        if decisions.get("a") in self.failing:
            return Failed("wrong", "other results")
        ratio = speed(decisions) / speed({})
        return Score(ratio, ratio * 0.99, ratio * 1.01, 1 / ratio, 1.0)


def found(bench: Bench, seed: int = 0, trials: int = 60) -> Found:
    return search(TASK, Rates(), bench, seed=seed, trials=trials)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_is_found_though_the_formula_is_wrong(seed: int):
    bench = Bench()
    result = found(bench, seed)
    assert result.decisions == {"a": 12, "b": 3, "c": 2}
    assert len(SPACE.points()) > 400
    assert result.measured <= 60
    assert max(pairs for _, pairs in bench.asked) == DUEL_PAIRS


def test_each_decision_is_taken_back_once():
    result = found(Bench())
    assert result.ablation == pytest.approx(
        {name: speed(result.decisions) / speed({**result.decisions, name: default})
         for name, default in (("a", 4), ("b", 0), ("c", 0))}
    )  # fmt: skip


def test_what_fails_is_never_decided():
    result = found(Bench(frozenset({11, 12, 13})))
    assert result.decisions["a"] in {10, 14}
    assert {decisions["a"] for decisions, _ in result.failed} <= {11, 12, 13}
    assert result.failed


def test_the_same_seed_asks_the_same():
    first, again, other = Bench(), Bench(), Bench()
    assert found(first, 3) == found(again, 3)
    assert first.asked == again.asked
    found(other, 4)
    assert other.asked != first.asked


@pytest.mark.parametrize("duel", [(1.001, 0.99, 1.02), (1.02, 0.995, 1.04), (1.004, 1.002, 1.006)])
def test_a_winner_that_loses_the_duel_is_none(duel: tuple[float, float, float]):
    """It is no faster, or may be no faster, or hardly."""

    class Lucky(Bench):
        def __call__(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]:
            scores = super().__call__(task, decided, pairs)
            return [Score(*duel, 1.0, 1.0)] * len(scores) if pairs == DUEL_PAIRS else scores

    result = found(Lucky())
    assert not result.won
    assert result.duel is not None


def test_a_duel_on_a_busy_machine_decides_nothing():
    class Busy(Bench):
        def one(self, decisions: Mapping[str, int]) -> Score | Failed:
            score = super().one(decisions)
            assert isinstance(score, Score)
            return Score(score.ratio, score.ratio * 0.9, score.ratio * 1.1, score.seconds, score.default_seconds)

    result = found(Busy())
    assert result.duel is not None
    assert result.duel.low > 1
    assert not result.won


def test_no_more_than_the_trials_are_measured():
    bench = Bench()
    result = found(bench, trials=7)
    assert result.measured == 7
    assert sum(pairs == 3 for _, pairs in bench.asked) == 7


def test_time_that_is_over_ends_a_search():
    parts = iter([0.0, 0.5, 0.8, 0.8, 0.9, 0.9, 0.9])
    bench = Bench()
    result = search(TASK, Rates(), bench, seed=0, trials=1000, spent=lambda: next(parts))
    assert result.measured == 16
    assert {pairs for _, pairs in bench.asked} >= {3, 9, 21}
    hurried = Bench()
    result = search(TASK, Rates(), hurried, seed=0, trials=1000, spent=iter([0.0, *[1.5] * 9]).__next__)
    assert result.measured == 8
    assert [pairs for _, pairs in hurried.asked] == [3] * 8 + [21]
    assert result.won
    assert result.duel is not None


def test_the_second_measurement_of_the_finalists_decides():
    """Of what was lucky at first, another is the fastest when all are measured better."""
    final: list[dict[str, int]] = []

    class Noisy(Bench):
        def __call__(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]:
            scores = super().__call__(task, decided, pairs)
            if pairs != _FINAL_PAIRS or final:
                return scores
            final.extend(map(dict, decided))
            # The order of the first measurement, turned round; the last one fails.
            ratios = [1.5 + 0.1 * number for number in range(len(decided))]
            better: list[Score | Failed] = [Score(ratio, ratio, ratio, 1.0, 1.0) for ratio in ratios]
            return [*better[:-1], Failed("wrong", "other results")]

    result = found(Noisy())
    assert len(final) == _FINALISTS
    assert result.decisions == final[-2]


def test_finalists_that_all_fail_decide_nothing():
    class Failing(Bench):
        def __call__(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]:
            scores = super().__call__(task, decided, pairs)
            return [Failed("crash", "")] * len(scores) if pairs == _FINAL_PAIRS else scores

    result = found(Failing())
    assert (result.decisions, result.duel) == ({}, None)


def test_a_search_goes_on_as_long_as_it_gains_and_tells_the_best_ratio_so_far():
    told: list[float] = []
    result = search(TASK, Rates(), Bench(), seed=0, trials=1000, tell=lambda _, ratio: told.append(ratio))
    assert told == sorted(told)
    assert told[-1] == pytest.approx(speed(result.decisions) / speed({}))
    # Two rounds without a gain end it.
    gains = [after > before * 1.005 for before, after in zip([1.0, *told], told, strict=False)]
    assert gains[-3:] == [True, False, False]
