"""`whence.tune_prim_func`: which schedule of a kernel of blocks is fastest on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from xdsl.dialects.builtin import BoolAttr

from whence.dialects.tir import SCHEDULED, PrimFuncOp
from whence.kernels.building import kernel_of
from whence.lowering.llvm_to_native.target import Target, check_runs_here
from whence.passes.transform.passes import HoldsModule
from whence.runtime.loading.machine_facts import spelled
from whence.runtime.program.threads import thread_count
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.te.blocks.schedule import BlockSchedule
from whence.tuning.block_tasks import BlockTask, block_task
from whence.tuning.local_pool import LocalPool
from whence.tuning.log import RecordLog
from whence.tuning.machines import machine_here
from whence.tuning.probe import probe
from whence.tuning.report import Report
from whence.tuning.tuner import Result, Settings, State, Tuner


@dataclass(frozen=True)
class TunedPrimFunc:
    """A kernel of blocks with the schedule that was fastest."""

    task: BlockTask
    report: Report
    """The measurements, and the place of the records."""

    @property
    def result(self) -> Result:
        """The outcome of the search."""
        return self.report.results[0]

    @property
    def decisions(self) -> dict[str, int]:
        """The decisions of the winner that are not the defaults; none where nothing is faster than the default."""
        return dict(self.result.outcome.decisions) if self.result.outcome is not None else {}

    @property
    def ratio(self) -> float:
        """The speed relative to the kernel as a build makes it by itself."""
        return self.result.default_seconds / self.result.seconds if self.result.seconds else 1.0

    @property
    def schedule(self) -> BlockSchedule:
        """The schedule, with its record; without primitives where nothing is faster than the default."""
        return self.task.blocks.schedule_of(self.decisions)

    @property
    def func(self) -> PrimFuncOp:
        """The kernel with that schedule, which `whence.build` takes as it is."""
        func = self.task.blocks.decided(self.decisions)
        func.attributes[SCHEDULED] = BoolAttr.from_bool(True)
        return func

    def __str__(self) -> str:
        outcome = self.result.outcome
        measured = outcome.measured if outcome is not None else 0
        numbers = ", ".join(f"{name} = {number}" for name, number in self.decisions.items()) or "the default"
        return f"{self.task.name}: {self.ratio:.2f} times as fast as the default, of {measured} measured: {numbers}"


@door()
def tune_prim_func(
    func: PrimFuncOp | HoldsModule | str,
    output: str | PathLike[str] = "tuned",
    *,
    budget: float | None = 60.0,
    trials: int = 48,
    seed: int = 0,
    threads: int | None = None,
    timeout: float = 10.0,
    prior: str | PathLike[str] | None = None,
    target: str | Target = "native",
    inputs: Sequence[Array] | None = None,
    progress: Callable[[State], None] = lambda state: None,
) -> TunedPrimFunc:
    """Schedule a kernel of blocks by rules whose numbers are measured; `whence.build(func, tuned=output)` then does.

    A candidate gives the results of the kernel as a build makes it by itself, the default, and runs beside it, as
    `whence.tune` measures. inputs: what it is measured on; random without them. Other arguments as of `whence.tune`, of
    one kernel.
    Raises PipelineError for a budget of 0, and for a kernel of open sizes, or that rules do nothing for; errors as
    `build_prim_func`.
    """
    if budget is not None and budget <= 0:
        raise PipelineError(expectation("tune", "a budget of more than 0 seconds", f"{budget:g}"))
    start = time.monotonic()

    def tell(state: State) -> None:
        progress(replace(state, elapsed=time.monotonic() - start))

    tell(State.before("compiling"))
    machine = target if isinstance(target, Target) else Target.parse(target)
    check_runs_here(machine)
    number = thread_count(threads)
    task = block_task(kernel_of(func), machine, inputs, seed)
    log = RecordLog(output, machine, seed, prior)
    with LocalPool() as pool:
        if (rates := log.rates(number)) is None:
            tell(State.before("measuring the machine"))
            rates = probe(pool, machine, number, machine_here())
        left = None if budget is None else max(0.0, budget - (time.monotonic() - start))
        settings = Settings(left, trials, seed, number, timeout)
        tuner = Tuner(pool, machine_here(), rates, settings, log, 0, tell)
        (result,) = tuner.tune([task])
    report = Report(
        model=task.name,
        machine=spelled(machine_here()),
        results=(replace(result, task=task),),
        elapsed=time.monotonic() - start,
        records=log.path,
        run=result.outcome.duel if result.outcome is not None and result.outcome.won else None,
        skipped=log.records.skipped,
        call="whence.build(..",
    )
    return TunedPrimFunc(task, report)
