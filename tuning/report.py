"""The report of a tuning: what every layer took and takes, what was decided, and which decision mattered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..explorer.report import count, percent, seconds, some, table
from .search import WIDEST, Found, Score
from .tuner import Result

_MATTERS = 1.005


@dataclass(frozen=True)
class Report:
    """The outcome of tuning a model on the machines of one kind."""

    model: str
    machine: str
    results: tuple[Result, ...]
    """A result for each kernel that has a choice; those first by which a run could gain most."""
    elapsed: float
    """Seconds."""
    records: Path
    """The file with what was found."""
    run: Score | None = None
    """The whole model with what was decided beside the default; None where it was not run, or nothing was decided."""
    skipped: int = 0
    """Lines of the file that were no records, or of another machine or space."""
    call: str = "whence.compile(.."
    """The begin of a call that takes the records."""

    @property
    def measured(self) -> int:
        """The number of candidates that were measured."""
        return sum(outcome.measured for _, outcome in self._searched())

    @property
    def won(self) -> list[Result]:
        """The kernels for which something is faster than the default."""
        return [result for result, outcome in self._searched() if outcome.won]

    @property
    def near_roof(self) -> float:
        """The part of the kernels' time, as they are now, that is below the machine's roof: 1 is as fast as it gets."""
        return self._part(lambda result: result.seconds)

    @property
    def near_roof_before(self) -> float:
        """Return the result of `near_roof` for the kernels by rule."""
        return self._part(lambda result: result.default_seconds)

    def _part(self, seconds: Callable[[Result], float]) -> float:
        took = sum(seconds(result) * result.task.calls for result in self.results)
        least = sum(min(result.bound, seconds(result)) * result.task.calls for result in self.results)
        return least / took if took else 0.0

    def _searched(self) -> Iterator[tuple[Result, Found]]:
        for result in self.results:
            if result.outcome is not None:
                yield result, result.outcome

    def data(self) -> dict[str, object]:
        """The report as JSON has it; times are seconds of a call."""
        return {
            "model": self.model,
            "machine": self.machine,
            "seconds": self.elapsed,
            "records": str(self.records),
            "skipped_lines": self.skipped,
            "measured": self.measured,
            "run": _score(self.run),
            "near_roof": self.near_roof,
            "kernels": [_row(result) for result in self.results],
        }

    def text(self) -> str:
        """The report for people: a row for each layer that is faster now, and why others are as they were."""
        searched, won = sum(1 for _ in self._searched()), self.won
        lines = [
            f"{self.model}: {count(len(self.results), 'kernel')} with a choice, {searched} searched, {len(won)} faster;"
            f" {count(self.measured, 'candidate')} measured in {seconds(self.elapsed)}"
        ]
        if self.run is not None:
            before, after = seconds(self.run.default_seconds), seconds(self.run.seconds)
            lines.append(f"a run: {before} -> {after}, {_times(self.run)}")
        elif not won:
            lines.append("a run: as before, as no candidate was faster than the default")
        else:
            lines.append("a run: not compared with one before")
        if any(result.bound for result in self.results):
            before = percent(self.near_roof_before)
            roof = f"{before} of the time of these kernels was what the machine cannot do without"
            lines.append(roof + (f", and {percent(self.near_roof)} is now" if won else ""))
        if won:
            header = ("layers", "kernel", "us before", "us now", "times", "95 %", "decisions", "without it")
            lines += ["", table([_shown(result) for result in won], header, indent="")]
        if failed := [failure for _, outcome in self._searched() for _, failure in outcome.failed]:
            kinds = Counter(failure.kind for failure in failed)
            listed = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
            lines.append(f"\ncandidates that failed, and are not kept: {listed}")
            lines += [f"  {kind}: {next(one.why for one in failed if one.kind == kind)}" for kind in sorted(kinds)]
        if left := Counter(_reason(result) for result in self.results if result not in won):
            listed = "; ".join(f"{count(number, 'kernel')}, {why}" for why, number in left.items())
            lines.append(f"\nas before: {listed}")
        if self.skipped:
            lines.append(f"{count(self.skipped, 'line')} of {self.records} left aside")
        lines.append(f'records: {self.records}; {self.call}, tuned="{self.records}") uses them')
        return "\n".join(lines)


def _reason(result: Result) -> str:
    duel = result.outcome.duel if result.outcome is not None else None
    if duel is not None and duel.low > 1 and duel.high > duel.low * WIDEST:
        return "times were too uneven to decide"
    return result.reason or "nothing was faster"


def _times(score: Score) -> str:
    return f"{score.ratio:.3f} times as fast [{score.low:.3f}, {score.high:.3f}]"


def _score(score: Score | None) -> dict[str, object] | None:
    return None if score is None else {**vars(score), "interval": [score.low, score.high]}


def _layers(result: Result) -> list[str]:
    return list(dict.fromkeys(name for layers in result.task.layers for name in layers))


def _shown(result: Result) -> Sequence[object]:
    outcome = result.outcome
    assert outcome is not None
    assert outcome.duel is not None
    decided = ", ".join(f"{name} = {number}" for name, number in outcome.decisions.items())
    mattered = sorted(outcome.ablation.items(), key=lambda pair: -pair[1])
    without = ", ".join(f"{name} {ratio:.2f}" for name, ratio in mattered if ratio > _MATTERS)
    times = (f"{1e6 * result.default_seconds:.1f}", f"{1e6 * result.seconds:.1f}", f"{outcome.duel.ratio:.2f}")
    interval = f"{outcome.duel.low:.2f} to {outcome.duel.high:.2f}"
    return (some(_layers(result), 3), result.task.name, *times, interval, decided, without)


def _row(result: Result) -> dict[str, object]:
    outcome = result.outcome
    row: dict[str, object] = {
        "kernel": result.task.name,
        "symbol": result.task.kernel.symbol,
        "layers": _layers(result),
        "calls": result.task.calls,
        "share": result.share,
        "default_seconds": result.default_seconds,
        "seconds": result.seconds,
        "bound_seconds": result.bound,
        "reason": result.reason,
    }
    if outcome is not None:
        row |= {
            "points": outcome.points,
            "measured": outcome.measured,
            "decisions": outcome.decisions,
            "duel": _score(outcome.duel),
            "ablation": outcome.ablation,
            "failed": [
                {"decisions": decisions, "kind": failure.kind, "why": failure.why}
                for decisions, failure in outcome.failed
            ],
        }
    return row
