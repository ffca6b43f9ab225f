"""The records that a tuning writes as it measures, and goes on from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ..lowering.llvm_to_native.target import Target
from ..lowering.relay_to_te.cost import Rates
from ..support.errors import PipelineError, expectation
from .record import Kind, Point, Record, compiler_key, machine_key, point_of, target_text
from .records import SUFFIXES, Records, append
from .search import Score
from .tasks import Task
from .tuner import Result

_RATES = "rates"
FILE = "records.jsonl"
"""The file of a folder that records are written to."""


class RecordLog:
    """A file of records: what was measured before is looked up in it, what is measured goes to its end.

    target: the machine that measures. prior: other records, of which the same is looked up. Raises PipelineError where
    the file cannot be written, FrontendError where what is there cannot be read.
    """

    def __init__(
        self, output: str | PathLike[str], target: Target, seed: int, prior: str | PathLike[str] | None = None
    ):
        self.path = file_of(output)
        before = Records.load(prior, target).records if prior is not None else ()
        _make(self.path)
        self.records = Records.load(self.path, target)
        self._seed, self._target = seed, target
        self._machine, self._compiler = machine_key(target.hardware, target), compiler_key()
        self._known: dict[tuple[str, str, Point, object], Score] = {}
        self._rates: dict[object, Rates] = {}
        for record in (*before, *self.records.records):
            if record.kind == "trial" and (record.machine, record.compiler) == (self._machine, self._compiler):
                key = (record.workload, record.space, record.point, _protocol(record.protocol))
                self._known[key] = Score(record.ratio, *record.interval, record.costs[0], record.default_seconds)
                if (rates := rates_of(record.context.get(_RATES))) is not None:
                    self._rates[rates.threads] = rates

    def known(self, task: Task, decisions: Mapping[str, int], protocol: Mapping[str, object]) -> Score | None:
        """Return what was measured before of a candidate in the same way, on such a machine."""
        return self._known.get((task.workload, task.space.key, point_of(decisions), _protocol(protocol)))

    def measured(self, task: Task, decisions: Mapping[str, int], protocol: Mapping[str, object], score: Score) -> None:
        """Keep a right candidate's times."""
        self._known[task.workload, task.space.key, point_of(decisions), _protocol(protocol)] = score
        append(self.path, [self._record("trial", task, decisions, protocol, score)])

    def rates(self, threads: int) -> Rates | None:
        """Return what a probe said of such a machine before."""
        return self._rates.get(threads)

    def default(self, task: Task, protocol: Mapping[str, object], score: Score, rates: Rates) -> None:
        """Keep the times of a default, and what was known of the machine as they were taken."""
        self._known[task.workload, task.space.key, (), _protocol(protocol)] = score
        append(self.path, [self._record("trial", task, {}, protocol, score, context={_RATES: asdict(rates)})])

    def decided(self, result: Result, protocol: Mapping[str, object]) -> None:
        """Keep the winner of a search, which may be the default."""
        outcome = result.outcome
        assert outcome is not None
        even = Score(1.0, 1.0, 1.0, result.default_seconds, result.default_seconds)
        score = outcome.duel if outcome.won and outcome.duel is not None else even
        if score.seconds:
            append(
                self.path, [self._record("winner", result.task, outcome.decisions, protocol, score, outcome.ablation)]
            )

    def _record(
        self,
        kind: Kind,
        task: Task,
        decisions: Mapping[str, int],
        protocol: Mapping[str, object],
        score: Score,
        ablation: Mapping[str, float] | None = None,
        context: Mapping[str, object] | None = None,
    ) -> Record:
        return record_of_score(kind, task, decisions, protocol, score, self._target, self._seed, ablation, context)


def record_of_score(
    kind: Kind,
    task: Task,
    decisions: Mapping[str, int],
    protocol: Mapping[str, object],
    score: Score,
    target: Target,
    seed: int = 0,
    ablation: Mapping[str, float] | None = None,
    context: Mapping[str, object] | None = None,
) -> Record:
    """The record of what was measured now, with this compiler, on the machine of a target."""
    return Record(
        kind=kind,
        workload=task.workload,
        space=task.space.key,
        machine=machine_key(target.hardware, target),
        facts=target.hardware.facts,
        compiler=compiler_key(),
        decisions=dict(decisions),
        ratio=score.ratio,
        interval=(score.low, score.high),
        default_seconds=score.default_seconds,
        costs=(score.seconds,),
        protocol=dict(protocol),
        context=dict(context or {}),
        seed=seed,
        layers=tuple(dict.fromkeys(name for layers in task.layers for name in layers)),
        ablation=dict(ablation or {}),
        target=target_text(target),
        task=task.name,
        args=tuple(task.arguments),
        timestamp=time.time(),
    )


def rates_of(value: object) -> Rates | None:
    """The rates that a record tells; None where it tells none."""
    try:
        return Rates(**cast("dict[str, Any]", value))
    except TypeError:
        return None


def file_of(output: str | PathLike[str]) -> Path:
    """The file of records that an output means: itself where its name ends as such files do, else one in a folder."""
    path = Path(output)
    return path if path.suffix in SUFFIXES and not path.is_dir() else path / FILE


def _make(path: Path) -> None:
    """Make a file that is not there, and its folder. Raises PipelineError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
    except OSError as error:
        raise PipelineError(
            expectation(f"records {path}", "a file that can be written", error.strerror or "")
        ) from error


def _protocol(protocol: Mapping[str, object]) -> tuple[object, ...]:
    """Return what of a protocol decides whether times mean the same."""
    return tuple(protocol.get(name) for name in ("pairs", "threads", "rotate_bytes"))
