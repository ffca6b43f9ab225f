"""Measuring on this machine, as the compiler's own kernels are: beside a default, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from whence.autotvm.measure.measure import Builder, BuildResult, MeasureErrorNo, MeasureInput, MeasureResult, Runner
from whence.autotvm.task.task import Task
from whence.kernels.building import build
from whence.kernels.functions import Function
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategy import schedule_by_rows
from whence.runtime.program.threads import thread_count
from whence.runtime.values.tensors import TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, WhenceError, expectation
from whence.target import target_of
from whence.tuning.jobs import Code, Failed, Job, Measured, Protocol
from whence.tuning.local_pool import LocalPool
from whence.tuning.machines import machine_here

ERRORS: dict[str, MeasureErrorNo] = {
    "wrong": MeasureErrorNo.WRONG_ANSWER,
    "crash": MeasureErrorNo.RUNTIME_DEVICE,
    "hang": MeasureErrorNo.RUN_TIMEOUT,
    "error": MeasureErrorNo.UNKNOWN_ERROR,
}
_BATCH = 8
"""Candidates that are measured beside one run of the default, unless a program says how many."""
_LEAST_BATCH = 2e-3
"""Seconds of a batch of calls, at least."""


class LocalBuilder(Builder):
    """Compiles candidates in this process. build_func: TVM's choice of a compiler, which is `default` here."""

    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: Any = None,
        build_func: str = "default",
        do_fork: bool = False,
        runtime: object = None,
    ):
        if build_func != "default":
            raise PipelineError(expectation("LocalBuilder", "build_func default", repr(build_func)))
        super().__init__(timeout, n_parallel or _BATCH, build_kwargs)

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[BuildResult]:
        """Return the code of each candidate, or why it has none."""
        return [self._built(candidate) for candidate in measure_inputs]

    def _built(self, candidate: MeasureInput) -> BuildResult:
        start = time.monotonic()
        try:
            made = candidate.task.instantiate(candidate.config)
        except (WhenceError, VerifyException) as error:
            return _unbuilt(MeasureErrorNo.INSTANTIATION_ERROR, error, start)
        try:
            code = _code(build(*made, target_of(candidate.task.target)))
        except (WhenceError, VerifyException) as error:
            return _unbuilt(MeasureErrorNo.COMPILE_HOST, error, start)
        return BuildResult(code, MeasureErrorNo.NO_ERROR, time.monotonic() - start)


class LocalRunner(Runner):
    """Times candidates in a child process, in alternation with the compiler's own schedule of the same tensors.

    A candidate whose results differ from that schedule's, on random, large and zero inputs, is no candidate. Seconds
    are medians of `repeat` batches of at least `min_repeat_ms`, and at least 2, milliseconds: as many calls as that
    takes, whatever `number` says. timeout: seconds for a candidate. Raises PipelineError for a flushed cache and for a
    loader of modules.
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: object = None,
    ):
        if enable_cpu_cache_flush or module_loader is not None:
            expected = "caches as they are, and no loader of modules"
            raise PipelineError(expectation("LocalRunner", expected, "enable_cpu_cache_flush or module_loader"))
        super().__init__(timeout, 1)
        self.number, self.repeat, self.min_repeat_ms = number, repeat, min_repeat_ms
        self.ref_input: Sequence[Array] | None = None
        """The inputs to measure on; random ones by default."""
        self._pool: LocalPool | None = None
        self._default: Function | None = None

    def set_task(self, task: Task) -> None:
        """Make the default, and the inputs."""
        super().set_task(task)
        schedule, tensors = task.instantiate(next(iter(task.config_space)))
        target = target_of(task.target)
        plain = schedule.snapshot(0)
        machine = task.target or Target.native()
        self._default = build(schedule_by_rows(plain, machine.hardware), tensors, target)

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> list[MeasureResult]:
        """Return the seconds of each candidate, or why there are none."""
        start, outcomes = time.monotonic(), dict[int, Measured | Failed]()
        codes = [(number, built.code) for number, built in enumerate(build_results) if isinstance(built.code, Code)]
        if codes:
            for _, results in self.pool.measure([self._job([code for _, code in codes])]):
                outcomes = dict(zip((number for number, _ in codes), results, strict=True))
        seconds = (time.monotonic() - start) / max(len(codes), 1)
        return [self._result(built, outcomes.get(number), seconds) for number, built in enumerate(build_results)]

    @property
    def pool(self) -> LocalPool:
        """The processes that measure."""
        if self._pool is None:
            self._pool = LocalPool()
        return self._pool

    def close(self) -> None:
        """End the processes that measure."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _result(self, built: BuildResult, outcome: Measured | Failed | None, seconds: float) -> MeasureResult:
        taken = built.seconds + (seconds if outcome is not None else 0.0)
        match outcome or built.code:
            case Measured() as measured:
                return MeasureResult((measured.seconds,), int(MeasureErrorNo.NO_ERROR), taken, time.time())
            case Failed(kind, why):
                error = ERRORS[kind] if outcome is not None else built.error_no
                return MeasureResult((why,), int(error), taken, time.time())
            case _:
                return MeasureResult(("not measured",), int(MeasureErrorNo.UNKNOWN_ERROR), taken, time.time())

    def _job(self, codes: Sequence[Code]) -> Job:
        default = self._default
        assert default is not None
        batch = max(_LEAST_BATCH, self.min_repeat_ms / 1000)
        return Job(
            inputs=tuple(self._inputs(default)),
            weights=(),
            outputs=tuple(TensorSpec(*argument) for argument in default.arguments[default.inputs :]),
            default=_code(default),
            candidates=tuple(codes),
            protocol=Protocol(self.repeat, batch, thread_count(None), seconds=self.timeout),
            machine=machine_here(),
        )

    def _inputs(self, default: Function) -> list[Array]:
        """Arrays for the inputs of the code; raises PipelineError for `ref_input` of other shapes."""
        specs = [(shape, dtype) for _, shape, dtype in default.arguments[: default.inputs]]
        if self.ref_input is not None:
            arrays = [np.asarray(array) for array in self.ref_input][: len(specs)]
            if [array.shape for array in arrays] != [shape for shape, _ in specs]:
                shapes = ", ".join(str(array.shape) for array in arrays)
                raise PipelineError(
                    expectation("ref_input", ", ".join(str(shape) for shape, _ in specs), shapes or "none")
                )
            return [array.astype(dtype) for array, (_, dtype) in zip(arrays, specs, strict=True)]
        rng = np.random.default_rng(0)
        return [
            (rng.standard_normal(shape) if dtype.kind in "fV" else rng.integers(0, 2, shape)).astype(dtype)
            for shape, dtype in specs
        ]


def _code(function: Any) -> Code:
    """The code of a kernel of known sizes. Raises PipelineError for one of open sizes."""
    if not isinstance(function, Function) or function.sizes:
        raise PipelineError(expectation("autotvm", "a template of known sizes", f"function {function!r}"))
    return Code(function.name, function.native.object, function.workspace_bytes)


def _unbuilt(error_no: MeasureErrorNo, error: Exception, start: float) -> BuildResult:
    return BuildResult(Failed("error", str(error)), error_no, time.monotonic() - start)


def measure_option(builder: Builder | str, runner: Runner | str) -> dict[str, Any]:
    """The way to measure, for `tuner.tune`; `local` stands for this machine. Raises PipelineError for another word."""
    if isinstance(builder, str):
        _local("builder", builder)
        builder = LocalBuilder()
    if isinstance(runner, str):
        _local("runner", runner)
        runner = LocalRunner()
    return {"builder": builder, "runner": runner}


def _local(what: str, word: str) -> None:
    if word != "local":
        raise PipelineError(expectation("measure_option", f"a {what}, or 'local'", repr(word)))
