"""The loop of tuning by AutoTVM's names: configurations are proposed, measured and told to callbacks."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from whence.autotvm.callback import SCALES, Callback
from whence.autotvm.measure.kernels import KernelTask
from whence.autotvm.measure.measure import MeasureInput, MeasureResult, create_measure_batch
from whence.autotvm.measure.measure_methods import LocalRunner
from whence.autotvm.task.space import ConfigEntity
from whence.autotvm.task.task import Task
from whence.support.doors import door
from whence.support.errors import PipelineError, expectation

_log = logging.getLogger("autotvm")


class Tuner:
    """A way to go through the space of a task; subclasses say which configurations come next."""

    def __init__(self, task: Task, **kwargs: Any):
        self.task = task
        self.param = kwargs
        self.space = task.config_space
        self.visited: set[int] = set()
        self.best_config: ConfigEntity | None = None
        self.best_flops: float = 0.0
        self.best_measure_pair: tuple[MeasureInput, MeasureResult] | None = None
        self.best_iter = 0
        self.error_ct_threshold = 150
        self._proposed: deque[int] = deque()
        """Configurations of logs, measured before all others."""

    def has_next(self) -> bool:
        """Return whether there is a configuration that was not measured."""
        raise NotImplementedError

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The configurations to measure next, at most so many."""
        raise NotImplementedError

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Learn from measurements."""

    @door()
    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: int | None = None,
        callbacks: Iterable[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure up to `n_trial` configurations; the best is `best_config` then.

        Of a kernel of a model, the best one meets the default at the end, and callbacks get the winner: it decides
        when logs are applied. early_stopping: ends after so many trials without a better one. callbacks: called with
        this tuner, candidates and results after each batch. si_prefix: of the speeds in the log `autotvm`. Raises
        PipelineError for an unknown prefix, and where so many candidates failed that the task or the machine is bad
        (`set_error_threshold`).
        """
        if si_prefix not in SCALES:
            raise PipelineError(expectation("tune", f"si_prefix among {', '.join(SCALES)}", repr(si_prefix)))
        scale, runner, callbacks = SCALES[si_prefix], measure_option["runner"], list(callbacks)
        kernel = self.task if isinstance(self.task, KernelTask) and isinstance(runner, LocalRunner) else None
        measure_batch, size = None, measure_option["builder"].n_parallel
        if kernel is None:
            measure_batch = create_measure_batch(self.task, measure_option)
        trials, errors, limit = 0, 0, early_stopping or n_trial
        try:
            while trials < n_trial and (self._proposed or self.has_next()):
                configs = self._batch(min(size, n_trial - trials))
                if not configs:
                    break
                inputs = [MeasureInput(self.task.target, self.task, config) for config in configs]
                if kernel is not None:
                    inputs, results = map(list, zip(*kernel.measure(runner, inputs), strict=True))
                else:
                    assert measure_batch is not None
                    results = measure_batch(inputs)
                for position, (inp, result) in enumerate(zip(inputs, results, strict=True), trials + 1):
                    flops = 0.0 if result.error_no else self.task.flop * len(result.costs) / sum(result.costs)
                    errors = errors + 1 if result.error_no else 0
                    if flops > self.best_flops:
                        self.best_flops, self.best_config = flops, inp.config
                        self.best_measure_pair, self.best_iter = (inp, result), position
                    speeds = f"{flops / scale:.2f}/{self.best_flops / scale:.2f} {si_prefix}FLOPS"
                    _log.debug("No: %d\t%s\tresult: %s\t%s", position, speeds, result, inp.config)
                trials += len(configs)
                self.visited.update(config.index for config in configs)
                self.update(inputs, results)
                for callback in callbacks:
                    callback(self, inputs, results)
                if trials - self.best_iter >= limit:
                    _log.debug("Early stopped. Best iter: %d.", self.best_iter)
                    break
                if errors > self.error_ct_threshold:
                    reason = str(results[-1].costs[0])
                    raise PipelineError(expectation("tune", "candidates that run", f"{errors} failures, {reason}"))
            if kernel is not None and trials:
                winner, result = kernel.decide(runner, self.best_config)
                for callback in callbacks:
                    callback(self, [winner], [result])
        finally:
            getattr(runner, "close", lambda: None)()

    def reset(self) -> None:
        """Forget the best configuration."""
        self.best_config, self.best_flops, self.best_measure_pair, self.best_iter = None, 0.0, None, 0

    def load_history(self, data_set: Iterable[tuple[MeasureInput, MeasureResult]], min_seed_records: int = 0) -> None:
        """Take the configurations of logs as proposals, the fastest first, measured before all others here.

        Of logs of other machines and programs, too: a configuration counts by the values of its knobs. Fewer than
        `min_seed_records` are left out.
        """
        rows = [(sum(result.costs) / len(result.costs), inp) for inp, result in data_set if not result.error_no]
        known: dict[int, None] = {}
        for _, inp in sorted(rows, key=lambda row: row[0]):
            if inp.task.name == self.task.name and (index := self.space.index_of_entity(inp.config)) is not None:
                known[index] = None
        if len(known) >= min_seed_records:
            self._proposed.extend(known)

    def set_error_threshold(self, threshold: int) -> None:
        """Set after how many failures in a row tuning ends."""
        self.error_ct_threshold = threshold

    def _batch(self, size: int) -> list[ConfigEntity]:
        """The next configurations: those of logs, then those that this tuner proposes."""
        indices: list[int] = []
        while self._proposed and len(indices) < size:
            index = self._proposed.popleft()
            if index not in self.visited:
                indices.append(index)
        if indices:
            self.visited.update(indices)
            return [self.space.get(index) for index in indices]
        return self.next_batch(size)
