"""The kernels of a model as tasks: their knobs are the compiler's, and they are measured as `whence tune` does."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from whence.autotvm.measure.measure import MeasureErrorNo, MeasureInput, MeasureResult
from whence.autotvm.measure.measure_methods import ERRORS, LocalRunner
from whence.autotvm.task.kernel_space import KernelSpace
from whence.autotvm.task.space import Config, ConfigEntity
from whence.autotvm.task.task import Made, Task
from whence.compiler.compile import compile
from whence.lowering.relay_to_te.cost import Rates
from whence.lowering.relay_to_te.knobs import Decisions
from whence.relay.executors import bound_params
from whence.relay.module import IRModule
from whence.runtime.program.threads import thread_count
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.syntax.relay.expr import Function
from whence.target import TargetLike, check_host, target_of
from whence.tuning.jobs import Failed
from whence.tuning.log import record_of_score
from whence.tuning.machines import machine_here
from whence.tuning.record import Kind
from whence.tuning.records import Records
from whence.tuning.search import DUEL_PAIRS, Score
from whence.tuning.tasks import Task as Kernel
from whence.tuning.tasks import tasks_of
from whence.tuning.tuner import Result, Settings, Tuner


class KernelTask(Task):
    """A kernel of a model."""

    def __init__(self, kernel: Kernel, model_bytes: int):
        super().__init__(kernel.name, kernel.arguments)
        self.kernel = kernel
        self.config_space: KernelSpace = KernelSpace(kernel.space)
        self.target = kernel.target
        self.flop = float(max(1, sum(operations for operations, _ in kernel.kernel.work)))
        self._model_bytes = model_bytes
        self._default: Score | None = None

    def instantiate(self, config: Config) -> Made:
        """Raise PipelineError: the schedule of a kernel is the compiler's."""
        raise PipelineError(
            expectation(f"kernel '{self.name}'", "LocalRunner, as it has no template", "another runner")
        )

    def measure(self, runner: LocalRunner, inputs: Sequence[MeasureInput]) -> list[tuple[MeasureInput, MeasureResult]]:
        """Measure candidates beside the default: of each the candidate, with its record, and the result."""
        return self._measured(runner, [inp.config for inp in inputs], runner.repeat, "trial")

    def decide(self, runner: LocalRunner, best: ConfigEntity | None) -> tuple[MeasureInput, MeasureResult]:
        """Let the best configuration meet the default, and return the winner, which may be the default."""
        if best is not None and self.config_space.decisions(best):
            (winner,) = self._measured(runner, [best], DUEL_PAIRS, "winner")
            if winner[0].record is not None and winner[0].record.interval[0] > 1:
                return winner
        default = self.config_space.get(self.config_space.index_of({}))
        (winner,) = self._measured(runner, [default], DUEL_PAIRS, "winner")
        return winner

    def _measured(
        self, runner: LocalRunner, configs: Sequence[ConfigEntity], pairs: int, kind: Kind
    ) -> list[tuple[MeasureInput, MeasureResult]]:
        start, tuner = time.monotonic(), self._tuner(runner)
        decided = list(map(self.config_space.decisions, configs))
        scores = tuner.measure(self.kernel, decided, pairs)
        seconds = (time.monotonic() - start) / max(len(scores), 1)
        protocol = asdict(tuner.protocol(self.kernel, pairs))
        outcomes: list[tuple[MeasureInput, MeasureResult]] = []
        for decisions, config, score in zip(decided, configs, scores, strict=True):
            record, costs, error = None, ("the default could not be measured",), MeasureErrorNo.UNKNOWN_ERROR
            if isinstance(score, Score) and not score.seconds:
                # The same code as the default's.
                score = self._default = self._default or tuner.measure_default(self.kernel)
            if isinstance(score, Failed):
                costs, error = (score.why,), ERRORS[score.kind]
            elif score is not None:
                record = record_of_score(kind, self.kernel, decisions, protocol, score, self.kernel.target)
                costs, error = (score.seconds,), MeasureErrorNo.NO_ERROR
            inp = MeasureInput(self.target, self, config, record)
            outcomes.append((inp, MeasureResult(costs, int(error), seconds, time.time())))
        return outcomes

    def _tuner(self, runner: LocalRunner) -> Tuner:
        threads = thread_count(None)
        settings = Settings(threads=threads, timeout=runner.timeout)
        rates = Rates.of(self.kernel.target.hardware, threads)
        return Tuner(runner.pool, machine_here(), rates, settings, NoLog(), self._model_bytes)


class NoLog:
    """A memory of measurements that keeps none: tuners of these names have callbacks for it."""

    def known(self, task: Kernel, decisions: Decisions, protocol: Mapping[str, object]) -> Score | None:
        """Return None: nothing was measured before."""
        return None

    def measured(self, task: Kernel, decisions: Decisions, protocol: Mapping[str, object], score: Score) -> None:
        """Keep nothing."""

    def default(self, task: Kernel, protocol: Mapping[str, object], score: Score, rates: Rates) -> None:
        """Keep nothing."""

    def decided(self, result: Result, protocol: Mapping[str, object]) -> None:
        """Keep nothing."""


@door()
def extract_from_program(
    mod: IRModule | Function,
    params: Mapping[str, Array] | None = None,
    target: TargetLike = "llvm",
    target_host: TargetLike = None,
    ops: Sequence[object] | None = None,
) -> list[KernelTask]:
    """The tasks of a model: its kernels that have a choice, measured on random inputs and the model's parameters.

    Raises PipelineError for `ops`, as a kernel may have several operators, and errors as `whence.compile`.
    """
    if ops is not None:
        raise PipelineError(expectation("extract_from_program", "all operators", "ops"))
    check_host(target, target_host)
    module = (IRModule.from_expr(mod) if isinstance(mod, Function) else mod).module
    whole = bound_params(module, params) if params else module
    compiled = compile(whole, target=target_of(target), tuned=Records())
    artifact = compiled.artifact
    weights = sum(array.nbytes for array in artifact.params)
    return [KernelTask(kernel, weights) for kernel in tasks_of(artifact, None, None, {})]
