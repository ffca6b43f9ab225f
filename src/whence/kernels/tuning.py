"""`whence.tune_prim_func`: which schedule of a kernel of blocks is fastest on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike

from xdsl.dialects.builtin import BoolAttr

from whence.dialects.tir import SCHEDULED, PrimFuncOp
from whence.kernels.building import kernel_of
from whence.lowering.llvm_to_native.target import Target, check_runs_here
from whence.passes.transform.passes import HoldsModule
from whence.runtime.program.threads import thread_count
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.te.blocks.schedule import BlockSchedule
from whence.tuning.block_tasks import BlockTask, block_task
from whence.tuning.local_pool import LocalPool
from whence.tuning.log import RecordLog
from whence.tuning.machines import machine_here
from whence.tuning.probe import probe
from whence.tuning.tuner import Result, Settings, Tuner


@dataclass(frozen=True)
class TunedPrimFunc:
    """A kernel of blocks with the schedule that was fastest."""

    task: BlockTask
    result: Result

    @property
    def decisions(self) -> dict[str, int]:
        """The decisions of the winner that are not the defaults; none where the kernel stays as it is written."""
        return dict(self.result.outcome.decisions) if self.result.outcome is not None else {}

    @property
    def ratio(self) -> float:
        """The speed relative to the kernel as it is written."""
        return self.result.default_seconds / self.result.seconds if self.result.seconds else 1.0

    @property
    def schedule(self) -> BlockSchedule:
        """The schedule, with its record; without primitives where the kernel stays as it is written."""
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
        numbers = ", ".join(f"{name} = {number}" for name, number in self.decisions.items()) or "as it is written"
        return f"{self.task.name}: {self.ratio:.2f} times as fast as written, of {measured} measured: {numbers}"


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
    target: str | Target = "native",
    inputs: Sequence[Array] | None = None,
) -> TunedPrimFunc:
    """Schedule a kernel of blocks that stays as it is written, by rules whose numbers are measured.

    A candidate gives the results of the kernel as it is written, and runs beside it, as `whence.tune` measures. inputs:
    what it is measured on; random without them. Other arguments as of `whence.tune`, of one kernel.
    Raises PipelineError for a kernel of open sizes, or that rules do nothing for, and errors as `build_prim_func`.
    """
    machine = target if isinstance(target, Target) else Target.parse(target)
    check_runs_here(machine)
    number = thread_count(threads)
    task = block_task(kernel_of(func), machine, inputs, seed)
    log = RecordLog(output, machine, seed)
    settings = Settings(budget, trials, seed, number, timeout)
    with LocalPool() as pool:
        rates = log.rates(number) or probe(pool, machine, number, machine_here())
        tuner = Tuner(pool, machine_here(), rates, settings, log, 0)
        (result,) = tuner.tune([task])
    return TunedPrimFunc(task, replace(result, task=task))
