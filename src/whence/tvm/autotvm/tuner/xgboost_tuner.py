"""The compiler's own search by AutoTVM's name for one that learns: a model of the knobs proposes what is next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.autotvm.measure.measure import MeasureInput, MeasureResult
from whence.autotvm.task.space import ConfigEntity
from whence.autotvm.task.task import Task
from whence.autotvm.tuner.tuner import Tuner
from whence.lowering.relay_to_te.cost import Rates
from whence.support.errors import PipelineError, expectation
from whence.tuning.search import Proposals


class XGBTuner(Tuner):
    """A tuner that fits what each value of each knob brings, as `whence tune` does; it grows no trees.

    plan_size: the most configurations that are proposed from one fit. Options of TVM's model have their defaults here:
    raises PipelineError for others.
    """

    def __init__(
        self,
        task: Task,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        optimizer: str = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ):
        if feature_type not in ("itervar", "knob", "curve") or optimizer != "sa" or diversity_filter_ratio is not None:
            expected = "TVM's defaults, as the model is that of whence tune"
            got = f"feature_type {feature_type}, optimizer {optimizer}, diversity_filter_ratio {diversity_filter_ratio}"
            raise PipelineError(expectation("XGBTuner", expected, got))
        super().__init__(task)
        self.plan_size = plan_size
        points = self.space.space.points()
        self._points = [self.space.index_of(points.decisions(point)) for point in range(len(points))]
        self._numbers = {index: point for point, index in enumerate(self._points)}
        costs = points.costs(Rates.of(task.target.hardware, 1)) if task.target is not None else np.zeros(len(points))
        self._proposals = Proposals(points, costs, np.random.default_rng(0))
        self._plan = [0]
        self._first: float | None = None
        """Seconds of the first configuration that ran, beside which others are."""

    def has_next(self) -> bool:
        return len(self.visited) < len(self._points)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        chosen: list[ConfigEntity] = []
        while len(chosen) < batch_size:
            if not self._plan:
                if chosen:
                    break
                self._plan = self._proposals.next_round(self.plan_size) or self._left()
            if not self._plan:
                break
            index = self._points[self._plan.pop(0)]
            if index not in self.visited:
                self.visited.add(index)
                chosen.append(self.space.get(index))
        return chosen

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            point = self._numbers.get(inp.config.index)
            if point is None:
                continue
            seconds = 0.0 if result.error_no else sum(result.costs) / len(result.costs)
            if seconds and self._first is None:
                self._first = seconds
            self._proposals.ratios[point] = (self._first or 0.0) / seconds if seconds else 0.0

    def _left(self) -> list[int]:
        """Points that no round proposed."""
        return [point for point, index in enumerate(self._points) if index not in self.visited]
