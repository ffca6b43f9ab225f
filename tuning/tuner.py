"""The tuning of a model: its kernels in the order of what there is to gain, each for its part of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol as Interface

from ..explorer.report import count
from ..lowering.relay_to_te.cost import Rates
from .builder import build, default_code
from .jobs import Code, Failed, Job, Measured, Protocol
from .machines import Facts
from .pool import Pool
from .search import DUEL_PAIRS, Found, Score, search
from .tasks import Task

_LEAST = 0.002
"""The part of a run's time that has to be there to gain for a kernel to be looked at."""
_NEAR_ROOF = 1.1
"""A kernel that takes no longer than this times its bound is as fast as it gets."""
_DEFAULT_PAIRS = 3
_AT_ONCE = 4
"""Defaults between two looks at the clock."""
_LATE = "no time was left"
_LEAST_SECONDS = 1.0
"""Less time is not worth beginning a kernel."""
_DEFAULTS = 0.4
"""The part of all time after which no further default is measured."""


class Log(Interface):
    """The memory of what was measured."""

    def known(self, task: Task, decisions: Mapping[str, int], protocol: Mapping[str, object]) -> Score | None:
        """Return what was measured before of a candidate in the same way, on such a machine."""
        ...

    def measured(self, task: Task, decisions: Mapping[str, int], protocol: Mapping[str, object], score: Score) -> None:
        """Keep a right candidate's times."""
        ...

    def default(self, task: Task, protocol: Mapping[str, object], score: Score, rates: Rates) -> None:
        """Keep the times of a default, and what was known of the machine as they were taken."""
        ...

    def decided(self, result: Result, protocol: Mapping[str, object]) -> None:
        """Keep the winner of a search, which may be the default."""
        ...


@dataclass(frozen=True)
class Settings:
    """The way to tune."""

    seconds: float | None = None
    """For all kernels together; None: as long as it takes."""
    trials: int = 96
    """Candidates of a kernel that are measured at most."""
    seed: int = 0
    threads: int = 1
    """The threads of a kernel, as in its model."""
    timeout: float = 10.0
    """The most seconds that measuring one candidate may take; then it hangs."""


@dataclass(frozen=True)
class Result:
    """The outcome for a kernel."""

    task: Task
    default_seconds: float
    """Seconds of a call, with weights as cold as in the model."""
    bound: float
    """The seconds that no schedule can do without."""
    share: float
    """The part of the run's time that the calls of the kernel take."""
    outcome: Found | None = None
    """None if it was not searched."""
    reason: str = ""
    """The reason why not."""

    @property
    def seconds(self) -> float:
        """Seconds of a call with the decisions."""
        if self.outcome is None or not self.outcome.won or self.outcome.duel is None:
            return self.default_seconds
        return self.default_seconds / self.outcome.duel.ratio


@dataclass(frozen=True)
class State:
    """The progress of a tuning."""

    kernel: str
    number: int
    """The number of the kernel, from 1."""
    kernels: int
    measured: int
    """Candidates of all kernels so far."""
    best: float
    """The best ratio of this kernel so far."""
    gained: float
    """The speed of the run relative to the default, by the decisions so far and the times of kernels."""
    elapsed: float
    stage: str = ""
    """The work before the first kernel is searched, "compiling"; the other fields say nothing then."""

    @staticmethod
    def before(stage: str) -> State:
        """The progress before the first kernel is searched."""
        return State("", 0, 0, 0, 1.0, 1.0, 0.0, stage)


class Tuner:
    """Tunes kernels on the machines of one kind that a pool has.

    model_bytes: of all parameters of the model, of which a cache holds the last ones that a run read.
    machine: that of the machines that measure.
    """

    def __init__(
        self,
        pool: Pool,
        machine: Facts,
        rates: Rates,
        settings: Settings,
        log: Log,
        model_bytes: int,
        tell: Callable[[State], None] = lambda state: None,
    ):
        self.pool, self.machine, self.rates, self.settings, self.log = pool, machine, rates, settings, log
        self.tell = tell
        self._model_bytes = model_bytes
        self._measured = 0

    def tune(self, tasks: Sequence[Task]) -> list[Result]:
        """Search kernels, those first by which a run can gain most; a result for each, in that order."""
        start = time.monotonic()
        deadline = start + self.settings.seconds if self.settings.seconds is not None else None
        results = self._defaults(tasks, start)
        results.sort(key=lambda result: (-self._potential(result), result.task.number))
        worth = [result for result in results if not result.reason]
        before = sum(result.default_seconds * result.task.calls for result in results)
        for position, result in enumerate(worth):
            at = results.index(result)
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left < _LEAST_SECONDS:
                results[at] = replace(result, reason=_LATE)
                continue
            rest = sum(map(self._potential, worth[position:]))
            part = self._potential(result) / rest if rest else 1.0
            share = None if left is None else left * part

            def heard(outcome: Found, best: float, result: Result = result, position: int = position) -> None:
                after = sum(other.seconds * other.task.calls for other in results)
                state = (result.task.name, position + 1, len(worth), self._measured, best, before / after)
                self.tell(State(*state, time.monotonic() - start))

            def spent(since: float = time.monotonic(), share: float | None = share) -> float:
                return 0.0 if share is None else (time.monotonic() - since) / share

            heard(Found(), 1.0)
            outcome = search(
                result.task,
                self.rates,
                self.measure,
                seed=self.settings.seed,
                trials=self.settings.trials,
                spent=spent,
                tell=heard,
            )
            results[at] = replace(result, outcome=outcome)
            self.log.decided(results[at], asdict(self.protocol(result.task, DUEL_PAIRS)))
        return results

    def measure(self, task: Task, decided: Sequence[Mapping[str, int]], pairs: int) -> list[Score | Failed]:
        """Measure candidates beside the default; those that were measured before are looked up."""
        protocol = self.protocol(task, pairs)
        way = asdict(protocol)
        scores: list[Score | Failed | None] = [self.log.known(task, decisions, way) for decisions in decided]
        new = [number for number, score in enumerate(scores) if score is None]
        built = build(task, [decided[number] for number in new]) if new else []
        codes = [(position, code) for position, code in enumerate(built) if isinstance(code, Code)]
        outcomes: dict[int, Measured | Failed] = {}
        for _, answers in self.pool.measure([self._job(task, [code for _, code in codes], protocol)] if codes else []):
            outcomes.update(zip((position for position, _ in codes), answers, strict=True))
        self._measured += len(codes)
        fresh: list[Score | Failed] = []
        for position, code in enumerate(built):
            match code:
                case Failed():
                    fresh.append(code)
                case int():
                    same = Score(1.0, 1.0, 1.0, 0.0, 0.0)
                    fresh.append(same if code < 0 else fresh[code])
                case _:
                    outcome = outcomes.get(position, Failed("error", "it was not measured"))
                    fresh.append(outcome if isinstance(outcome, Failed) else score_of(outcome))
        for number, score in zip(new, fresh, strict=True):
            scores[number] = score
            if isinstance(score, Score) and score.seconds:
                self.log.measured(task, decided[number], way, score)
        return [score for score in scores if score is not None]

    def measure_default(self, task: Task) -> Score | None:
        """Measure the default of a task alone; None where that fails."""
        for _, outcomes in self.pool.measure(
            [self._job(task, [default_code(task)], self.protocol(task, _DEFAULT_PAIRS))]
        ):
            if isinstance(outcome := outcomes[0], Measured):
                return _even(outcome)
        return None

    def _defaults(self, tasks: Sequence[Task], start: float) -> list[Result]:
        """Measure the defaults, the longest first; which are worth a search, and if not, why."""
        seconds: dict[int, float] = {}
        ways = [self.protocol(task, _DEFAULT_PAIRS) for task in tasks]
        bounds = [task.bound(self.rates, self._model_bytes) for task in tasks]
        new: list[int] = []
        for number, (task, way) in enumerate(zip(tasks, ways, strict=True)):
            if (score := self.log.known(task, {}, asdict(way))) is not None:
                seconds[number] = score.seconds
            else:
                new.append(number)
        new.sort(key=lambda number: -bounds[number] * tasks[number].calls)
        until = None if self.settings.seconds is None else start + self.settings.seconds * _DEFAULTS
        late = False
        for first in range(0, len(new), _AT_ONCE):
            part = new[first : first + _AT_ONCE]
            self.tell(State.before(f"measuring the defaults of {count(len(tasks), 'kernel')}"))
            jobs = [self._job(tasks[number], [default_code(tasks[number])], ways[number]) for number in part]
            for position, outcomes in self.pool.measure(jobs):
                if isinstance(outcome := outcomes[0], Measured):
                    number = part[position]
                    score = _even(outcome)
                    seconds[number] = score.seconds
                    self.log.default(tasks[number], asdict(ways[number]), score, self.rates)
            if late := until is not None and time.monotonic() > until:
                break
        total = sum(took * tasks[number].calls for number, took in seconds.items())
        results: list[Result] = []
        for number, task in enumerate(tasks):
            bound, took = bounds[number], seconds.get(number, 0.0)
            result = Result(task, took, bound, took * task.calls / total if total else 0.0)
            reason = ""
            if number not in seconds:
                reason = _LATE if late and number in new else "its default could not be measured"
            elif self._potential(result) < _LEAST:
                near = took <= bound * _NEAR_ROOF
                reason = "it is as fast as the machine" if near else f"less than {_LEAST:.1%} of the run is to gain"
            results.append(replace(result, reason=reason))
        return results

    def _potential(self, result: Result) -> float:
        """The part of a run that a kernel as fast as the machine would save."""
        if not result.default_seconds:
            return 0.0
        return result.share * max(0.0, 1 - result.bound / result.default_seconds)

    def protocol(self, task: Task, pairs: int) -> Protocol:
        """Return the way to measure a task's candidates in so many alternations."""
        # A run has read so much since the last call of this kernel: its weights are as far away as that.
        rotate = min(self._model_bytes, 2 * task.target.hardware.l3) if task.weights else 0
        threads = self.settings.threads
        return Protocol(pairs=pairs, threads=threads, rotate_bytes=rotate, seconds=self.settings.timeout)

    def _job(self, task: Task, candidates: Sequence[Code], protocol: Protocol) -> Job:
        default = default_code(task)
        return Job(
            inputs=task.inputs,
            weights=task.weights,
            outputs=task.outputs,
            default=default,
            candidates=tuple(candidates),
            protocol=protocol,
            machine=self.machine,
        )


def _even(measured: Measured) -> Score:
    """The figures of the default, measured beside itself."""
    took = min(measured.default_seconds, measured.seconds)
    return Score(1.0, 1.0, 1.0, took, took)


def score_of(measured: Measured) -> Score:
    """The figures of a candidate that a search goes by."""
    low, high = measured.interval
    if not low:
        low, high = min(measured.ratios), max(measured.ratios)
    return Score(measured.ratio, low, high, measured.seconds, measured.default_seconds)
