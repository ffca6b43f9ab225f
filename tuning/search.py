"""The search of a kernel's space: a formula ranks its points, few are measured, and the best one meets the default.

Everything follows from the seed and from what was measured: who measures, how many, and in which order answers come,
changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Interface

import numpy as np
import numpy.typing as npt

from ..lowering.relay_to_te.cost import Rates
from ..lowering.relay_to_te.knobs import Points
from .jobs import Failed
from .tasks import Task

_FIRST = 12
"""Points that the formula likes best, in the first round."""
_RANDOM = 4
"""The number of random points in a round, as a formula may be wrong."""
_NEXT = 8
"""The number of points in a later round that earlier measurements suggest."""
_NEAR = 4
"""The number of points in a later round that differ from the best point in one knob."""
_PAIRS = 3
_FINALISTS, _FINAL_PAIRS = 4, 9
DUEL_PAIRS = 21
_ABLATION_PAIRS = 9
_IDLE = 2
"""The number of rounds without a gain after which a search ends."""
_PIECE = 8
"""Candidates between two looks at the clock."""
_ROUNDS = 0.75
"""The part of a kernel's time that is for rounds; the rest is for finals."""
_GAIN = 1.005
"""The least ratio that counts as a gain."""
WIDEST = 1.2
"""The largest ratio of the ends of a duel's interval; beyond it, the machine is too busy to decide."""
_RIDGE = 1.0


@dataclass(frozen=True)
class Score:
    """A candidate beside the default, in alternation."""

    ratio: float
    """Median of the default's seconds over its own."""
    low: float
    high: float
    """The interval of 95 % around that; of few alternations the least and the largest."""
    seconds: float
    """Seconds of a call."""
    default_seconds: float


class Measure(Interface):
    """Measures candidates of a task, each with so many alternations; a score, or why there is none, for each."""

    def __call__(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]: ...


@dataclass
class Found:
    """The outcome of a search."""

    decisions: dict[str, int] = field(default_factory=dict[str, int])
    """The decisions of the winner; empty if the default stays."""
    duel: Score | None = None
    """The winner, or the best that did not win, beside the default at the end."""
    ablation: dict[str, float] = field(default_factory=dict[str, float])
    """For each decision of the winner how many times as fast it is as without that one."""
    measured: int = 0
    failed: list[tuple[dict[str, int], Failed]] = field(default_factory=list[tuple[dict[str, int], Failed]])
    points: int = 0
    """The points that there were to choose from."""
    predicted: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Estimated seconds and measured ratio of what was measured."""

    @property
    def won(self) -> bool:
        """Return whether there is something faster than the default."""
        return bool(self.decisions)


def search(
    task: Task,
    rates: Rates,
    measure: Measure,
    *,
    seed: int,
    trials: int,
    spent: Callable[[], float] = lambda: 0.0,
    tell: Callable[[Found, float], None] = lambda outcome, ratio: None,
) -> Found:
    """Look for decisions about a kernel that are faster than the default.

    trials: how many candidates are measured at most, duels left out. spent: the part of the kernel's time that is over;
    rounds end with `_ROUNDS` of it, and past 1 a candidate meets the default at once. tell: hears of every round, and
    of the best ratio so far.
    """
    points = task.space.points(seed)
    run = _Search(task, points, points.costs(rates), measure, _generator(seed, task.workload))
    outcome = run.outcome
    idle, best = 0, 1.0
    while idle < _IDLE and outcome.measured < trials and spent() < _ROUNDS:
        chosen = run.proposals.next_round(trials - outcome.measured)
        if not chosen:
            break
        for first in range(0, len(chosen), _PIECE):
            if not first or spent() < _ROUNDS:
                run.try_out(chosen[first : first + _PIECE])
        gained = run.best_ratio()
        idle = 0 if gained > best * _GAIN else idle + 1
        best = max(best, gained)
        tell(outcome, best)
    run.finish(spent)
    return outcome


def _generator(seed: int, workload: str) -> np.random.Generator:
    """Random numbers that depend on the seed and the kernel only."""
    digest = hashlib.sha256(f"{seed} {workload}".encode()).digest()
    return np.random.default_rng(list(digest))


class Proposals:
    """Points of a space to measure next: by a formula first, then by what was measured.

    costs: the formula's seconds for each point; rng: for a few points at random, as both may be wrong.
    """

    def __init__(self, points: Points, costs: npt.NDArray[np.float64], rng: np.random.Generator):
        self.points, self.costs, self.rng = points, costs, rng
        self.ratios: dict[int, float] = {0: 1.0}
        """Point -> how many times as fast as the default it was; 0 where it failed."""
        # Equal costs in an order of their own, not in that of the space.
        self._order = np.lexsort((rng.random(len(points)), costs))
        self._features = _one_hot(points, costs)

    def next_round(self, most: int) -> list[int]:
        """Return the points to measure next."""
        first = len(self.ratios) == 1
        chosen: list[int] = []

        def take(points: Sequence[int] | npt.NDArray[np.int64], count: int) -> None:
            for point in map(int, points):
                if count <= 0 or len(chosen) >= most:
                    return
                if point not in self.ratios and point not in chosen:
                    chosen.append(point)
                    count -= 1

        take(self._order if first else self._by_measurements(), _FIRST if first else _NEXT)
        if not first:
            take(self._near(max(self.ratios, key=lambda point: self.ratios[point])), _NEAR)
        take(self.rng.permutation(len(self.points)), _RANDOM)
        return chosen

    def _near(self, best: int) -> npt.NDArray[np.int64]:
        """Return the points that differ from one in a single number, in the order of the formula."""
        columns = list(self.points.columns.values())
        differs = np.sum([column != column[best] for column in columns], axis=0)
        return self._order[differs[self._order] == 1]

    def _by_measurements(self) -> npt.NDArray[np.int64]:
        """Return all points, those first that are fastest by what was measured.

        The logarithm of a ratio is fitted as a sum of what each number of each knob brings, and of the formula's.
        """
        tried = [point for point, ratio in self.ratios.items() if ratio > 0]
        rows = self._features[tried]
        wanted = np.log([self.ratios[point] for point in tried])
        weights = np.linalg.solve(rows.T @ rows + _RIDGE * np.eye(rows.shape[1]), rows.T @ wanted)
        estimate = np.round(self._features @ weights, 6)
        failed = [point for point, ratio in self.ratios.items() if ratio <= 0]
        estimate[failed] = -np.inf
        return np.lexsort((self.costs, -estimate))


class _Search:
    def __init__(
        self,
        task: Task,
        points: Points,
        costs: npt.NDArray[np.float64],
        measure: Measure,
        rng: np.random.Generator,
    ):
        self.task, self.points, self.costs, self.measure = task, points, costs, measure
        self.outcome = Found(points=len(points))
        self.proposals = Proposals(points, costs, rng)
        self.ratios = self.proposals.ratios

    def best_ratio(self) -> float:
        """Return the best ratio so far."""
        return max(self.ratios.values())

    def try_out(self, chosen: Sequence[int]) -> None:
        """Measure points."""
        decided = [self.points.decisions(point) for point in chosen]
        for point, decisions, outcome in zip(chosen, decided, self.measure(self.task, decided, _PAIRS), strict=True):
            self.outcome.measured += 1
            if isinstance(outcome, Failed):
                self.outcome.failed.append((decisions, outcome))
                self.ratios[point] = 0.0
            else:
                self.ratios[point] = outcome.ratio
                self.outcome.predicted.append((float(self.costs[point]), outcome.ratio))

    def finish(self, spent: Callable[[], float]) -> None:
        """Let the best ones be measured better, the best of these meet the default, and see what its decisions do.

        Where the time is over, only the best one meets the default.
        """
        ranked = sorted((point for point in self.ratios if point), key=lambda point: (-self.ratios[point], point))
        finalists = [point for point in ranked[:_FINALISTS] if self.ratios[point] > 1]
        decided = [self.points.decisions(point) for point in finalists]
        if not decided:
            return
        best = decided[0]
        if spent() < 1:
            outcomes = zip(decided, self.measure(self.task, decided, _FINAL_PAIRS), strict=True)
            scored = [(decisions, score) for decisions, score in outcomes if isinstance(score, Score)]
            if not scored:
                return
            best = max(scored, key=lambda pair: pair[1].ratio)[0]
        (duel,) = self.measure(self.task, [best], DUEL_PAIRS)
        if isinstance(duel, Failed):
            self.outcome.failed.append((best, duel))
            return
        self.outcome.duel = duel
        if duel.low <= 1 or duel.ratio < _GAIN or duel.high > duel.low * WIDEST:
            return
        self.outcome.decisions = best
        if len(best) == 1:
            self.outcome.ablation = {name: duel.ratio for name in best}
        if len(best) == 1 or spent() >= 1:
            return
        without = [{name: number for name, number in best.items() if name != left} for left in best]
        for left, score in zip(best, self.measure(self.task, without, _ABLATION_PAIRS), strict=True):
            if isinstance(score, Score):
                self.outcome.ablation[left] = duel.ratio / score.ratio


def _one_hot(points: Points, costs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A row for each point: which number each knob has, and what the formula says, beside the default's."""
    columns = [np.ones(len(points))]
    for knob in points.space.knobs:
        column = points.columns[knob.name]
        columns += [(column == number).astype(np.float64) for number in knob.candidates if number != knob.default]
    speed = np.log(costs[0] / costs) if (costs > 0).all() else np.zeros(len(points))
    # Twice, so that it counts for more than any one knob before anything is known.
    columns.append(2 * speed)
    return np.stack(columns, axis=1)
