"""Measurement of times with TVM's options and summary."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ...support.errors import PipelineError, expectation

_COLUMNS = ("mean", "median", "max", "min", "std")


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds per run, one number per repeat."""

    results: tuple[float, ...]

    @property
    def min(self) -> float:
        return min(self.results, default=0.0)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results) if self.results else 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.results) if self.results else 0.0

    @property
    def max(self) -> float:
        return max(self.results, default=0.0)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results) if self.results else 0.0

    def __str__(self) -> str:
        head = "".join(f"{name + ' (ms)':^14}" for name in _COLUMNS)
        row = "".join(f"{getattr(self, name) * 1e3:^14.4f}" for name in _COLUMNS)
        return f"Execution time summary:\n{head.rstrip()}\n{row.rstrip()}"


class Timing(NamedTuple):
    """The numbers of repeats and runs of a measurement, with TVM's names and defaults.

    A repeat gives the mean of `number` runs, or of more if these take less than `min_repeat_ms` together.
    """

    number: int = 10
    repeat: int = 1
    min_repeat_ms: float = 0
    limit_zero_time_iterations: int = 100
    cooldown_interval_ms: float = 0
    repeats_to_cooldown: int = 1

    def measure(self, run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> BenchmarkResult:
        """Measure the seconds of a run by a clock, after a warm-up run. Raises PipelineError for counts below 1."""
        self.check()
        run()
        number, results = self.number, list[float]()
        for index in range(self.repeat):
            number, seconds = self._repeat(run, number, clock)
            results.append(seconds)
            if self.cooldown_interval_ms and (index + 1) % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
        return BenchmarkResult(tuple(results))

    def check(self) -> None:
        """Raise PipelineError for counts below 1."""
        for what in ("number", "repeat", "repeats_to_cooldown"):
            if (value := getattr(self, what)) < 1:
                raise PipelineError(expectation(what, "at least 1", str(value)))

    def _repeat(self, run: Callable[[], object], number: int, clock: Callable[[], float]) -> tuple[int, float]:
        """Return a number of runs that was enough, and the seconds of one run."""
        zeros = 0
        while True:
            start = clock()
            for _ in range(number):
                run()
            seconds = clock() - start
            zeros += seconds == 0
            if seconds * 1e3 >= self.min_repeat_ms or zeros >= self.limit_zero_time_iterations:
                return number, seconds / number
            number = grown(number, seconds, self.min_repeat_ms / 1e3)


def grown(number: int, seconds: float, least: float) -> int:
    """Return the number of runs to try next, when `number` of them took less than `least` seconds."""
    estimate = least / max(seconds, 1e-9) * number
    return min(max(number + 1, int(estimate * 1.1)), number * 100)
