"""`whence.tune`: which numbers of a model's kernels are fastest on a machine, kept as records for `whence.compile`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from whence.compiler.compile import compile
from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.explorer.report import count
from whence.lowering.llvm_to_native.target import Target, check_runs_here
from whence.reading.arrays import default_inputs
from whence.runtime.loading.machine_facts import spelled
from whence.runtime.program.threads import thread_count
from whence.runtime.values.tensors import TensorSpec
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.tuning.jobs import Measured
from whence.tuning.local_pool import LocalPool
from whence.tuning.log import RecordLog
from whence.tuning.machines import Facts, target_of
from whence.tuning.pool import Pool
from whence.tuning.probe import probe
from whence.tuning.records import Records
from whence.tuning.report import Report
from whence.tuning.search import Score
from whence.tuning.tasks import tasks_of
from whence.tuning.tuner import Settings, State, Tuner, score_of

_RUNS = 21
"""Alternations of the whole model at the end."""


@door()
def tune(
    source: str | PathLike[str] | bytes | Any,
    output: str | PathLike[str] = "tuned",
    *,
    budget: float | None = 600.0,
    trials: int = 96,
    seed: int = 0,
    threads: int | None = None,
    timeout: float = 10.0,
    prior: str | PathLike[str] | None = None,
    target: str | Target = "native",
    scheduler: str | None = None,
    security: object = None,
    inputs: Mapping[str, Array] | Callable[[Sequence[TensorSpec]], Mapping[str, Array]] | None = None,
    progress: Callable[[State], None] | None = None,
    opt_level: int = 3,
    **options: Any,
) -> list[Report]:
    """Find faster schedules for a model's kernels, by measuring; a report for each kind of machine.

    source, opt_level and other options: as `whence.compile` has them; the sizes of inputs have to be known.
    output: the folder of the records, or a file; what is there already is gone on with. Then
    `whence.compile(source, tuned=output)` uses what was found.
    budget: seconds for all kernels; None: as long as it takes. trials: candidates of a kernel, at most.
    seed: what is drawn. With the same seed and the same measurements the same is decided, whoever measured.
    threads: of the model; None: WHENCE_NUM_THREADS, or all CPUs.
    timeout: seconds after which a candidate that is still measured is taken for one that hangs.
    prior: other records; what they say of candidates is not measured again.
    target: as `whence.compile` has it, of code that runs here; workers of a cluster have their own.
    scheduler: `tcp://HOST:8786`, of a dask cluster whose workers measure (`dask worker tcp://HOST:8786 --nthreads 1
    --resources measure=1`); without it, child processes of this machine. security: its certificates.
    inputs: by name, on which kernels are measured and the model is run, or a function that makes them for what the
    model takes; made up if left out.
    progress: hears how far it is.
    Raises PipelineError for a budget of 0, an output that cannot be written, a scheduler that cannot be reached, and a
    model with nothing to tune; FrontendError for a bad model.
    """
    if budget is not None and budget <= 0:
        raise PipelineError(expectation("tune", "a budget of more than 0 seconds", f"{budget:g}"))
    if trials < 1:
        raise PipelineError(expectation("tune", "at least 1 trial", str(trials)))
    number = thread_count(threads)
    settings = Settings(budget, trials, seed, number, timeout)
    own = target if isinstance(target, Target) else Target.parse(target)
    if scheduler is None:
        check_runs_here(own)
    elif own != Target.native():
        raise PipelineError(expectation("tune", "no target, as the workers' machines are it", str(target)))
    reports: list[Report] = []
    with _pool(scheduler, security) as pool:
        for machine, _ in pool.machines():
            kind = own if scheduler is None else target_of(machine)
            # Before anything takes long: it may not be there to write to.
            log = RecordLog(output, kind, seed, prior)
            # By rule, whatever the scope says: that is what candidates are measured beside.
            compiled = compile(source, target=kind, opt_level=opt_level, threads=number, tuned=Records(), **options)
            _check(compiled)
            options_there = {**options, "opt_level": opt_level, "target": kind}
            run = _Run(
                source, compiled, options=options_there, pool=pool, machine=machine, log=log, local=scheduler is None
            )
            with PassContext.current().at_level(opt_level):
                arrays = inputs(compiled.inputs) if callable(inputs) else inputs or default_inputs(compiled.inputs)
                reports.append(run.tune(settings, arrays, progress))
    return reports


@dataclass(frozen=True)
class _Run:
    """The tuning of a model on the machines of one kind."""

    source: Any
    compiled: Executable
    options: Mapping[str, Any]
    pool: Pool
    machine: Facts
    log: RecordLog
    local: bool
    """True where this machine measures: the model runs on it."""

    def tune(self, settings: Settings, inputs: Mapping[str, Array], tell: Callable[[State], None] | None) -> Report:
        """Search the model's kernels, and run it with what was found beside what it was before."""
        start = time.monotonic()
        artifact = self.compiled.artifact
        runner, threads = (self.compiled.runner, self.compiled.pool) if self.local else (None, None)
        tasks = tasks_of(artifact, runner, threads, inputs, settings.seed)
        if not tasks:
            expected = "a model with kernels that could be made otherwise"
            raise PipelineError(
                expectation("tune", expected, f"{count(len(artifact.kernels), 'kernel')} without a choice")
            )
        rates = self.log.rates(settings.threads)
        if rates is None:
            rates = probe(self.pool, artifact.target, settings.threads, self.machine)
        weights = sum(array.nbytes for array in artifact.params)
        tuner = Tuner(
            pool=self.pool,
            machine=self.machine,
            rates=rates,
            settings=settings,
            log=self.log,
            model_bytes=weights,
            tell=tell or (lambda state: None),
        )
        results = tuner.tune(tasks)
        score = None
        if self.local and any(result.outcome is not None and result.outcome.won for result in results):
            after = compile(self.source, tuned=self.log.path, threads=settings.threads, **self.options)
            score = _interleaved(self.compiled, after, inputs)
        name = Path(os.fspath(self.source)).name if isinstance(self.source, (str, Path)) else "model"
        elapsed, skipped = time.monotonic() - start, self.log.records.skipped
        return Report(
            model=name,
            machine=spelled(self.machine),
            results=tuple(results),
            elapsed=elapsed,
            records=self.log.path,
            run=score,
            skipped=skipped,
        )


@contextmanager
def _pool(scheduler: str | None, security: object) -> Generator[Pool]:
    """The pool that measures: workers of a cluster, or child processes of this machine."""
    if scheduler is None:
        with LocalPool() as pool:
            yield pool
        return
    from whence.tuning.cluster import ClusterPool

    with ClusterPool(scheduler, security) as pool:
        yield pool


def _check(compiled: Executable) -> None:
    """Raise PipelineError for a program that is not one native call of known sizes."""
    if isinstance(compiled, InterpretedExecutable):
        expected = "a model that is one native call"
        raise PipelineError(expectation("tune", expected, f"one in which values decide: {compiled.decided}"))
    if compiled.artifact.program.sizes is not None:
        opened = ", ".join(map(str, compiled.inputs))
        raise PipelineError(expectation("tune", "inputs of known sizes (input_shapes fixes them)", opened))


def _interleaved(before: Executable, after: Executable, inputs: Mapping[str, Array]) -> Score:
    """Two programs beside each other, in alternation."""
    times: list[tuple[float, float]] = []
    programs = (before, after)
    for program in programs:
        program.run(inputs)
    for number in range(_RUNS):
        took = [0.0, 0.0]
        for at in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            programs[at].run(inputs)
            took[at] = time.perf_counter() - start
        times.append((took[0], took[1]))
    ratios = tuple(first / second for first, second in times)
    firsts, seconds = (sorted(column)[_RUNS // 2] for column in zip(*times, strict=True))
    return score_of(Measured(ratios, firsts, seconds))
