"""Candidates, results, and the two sides of measuring: builders and runners."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from whence.autotvm.task.space import ConfigEntity
from whence.autotvm.task.task import Task
from whence.tuning.jobs import Code, Failed
from whence.tuning.record import Record


class MeasureErrorNo(enum.IntEnum):
    """The numbers of errors in lines of logs."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class MeasureInput(NamedTuple):
    """A candidate."""

    target: Any
    """A target, or the text of one in a log."""
    task: Task
    config: ConfigEntity
    record: Record | None = None
    """All of the line, where it is one of ours; None for one of a template."""


class MeasureResult(NamedTuple):
    """The result of measuring a candidate."""

    costs: tuple[Any, ...]
    """Seconds of a call; of a failure, the reason."""
    error_no: int
    all_cost: float
    """Seconds that building and measuring took."""
    timestamp: float


@dataclass(frozen=True)
class BuildResult:
    """The code of a candidate, or why there is none."""

    code: Code | Failed
    error_no: MeasureErrorNo
    seconds: float


class Builder:
    """Makes code of candidates. timeout: seconds for one; n_parallel: the candidates of a batch."""

    def __init__(self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: Any = None):
        self.timeout = timeout
        self.n_parallel = n_parallel or 1
        self.build_kwargs = dict(build_kwargs or {})
        self.task: Task | None = None

    def set_task(self, task: Task, build_kwargs: Any = None) -> None:
        """Prepare for the candidates of a task."""
        self.task = task
        self.build_kwargs = {**self.build_kwargs, **dict(build_kwargs or {})}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> Sequence[Any]:
        """Return a result for each candidate."""
        raise NotImplementedError


class Runner:
    """Times candidates. timeout: seconds for one; n_parallel: how many at once."""

    def __init__(self, timeout: float = 5, n_parallel: int | None = None):
        self.timeout = timeout
        self.n_parallel = n_parallel or 1
        self.task: Task | None = None

    def set_task(self, task: Task) -> None:
        """Prepare for the candidates of a task."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """Options that the builder needs for what this runs on."""
        return {}

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> Sequence[MeasureResult]:
        """Return a result for each candidate."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back what measuring holds; a later candidate takes it anew."""


def create_measure_batch(task: Task, option: dict[str, Any]) -> Callable[[Sequence[MeasureInput]], list[MeasureResult]]:
    """Return a function from candidates to results; its attribute `n_parallel` is the size of a batch."""
    builder, runner = option["builder"], option["runner"]
    runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())

    def measure_batch(measure_inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        return list(runner.run(measure_inputs, builder.build(measure_inputs)))

    vars(measure_batch)["n_parallel"] = builder.n_parallel
    return measure_batch
