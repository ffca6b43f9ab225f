"""Tasks of tensors that nobody has scheduled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NoReturn

from whence.autotvm.callback import Callback
from whence.autotvm.measure.kernels import KernelTask, extract_from_program
from whence.autotvm.measure.measure import Builder, Runner
from whence.autotvm.measure.measure_methods import measure_option
from whence.autotvm.record import ApplyHistoryBest
from whence.autotvm.task.kernel_space import KernelSpace
from whence.autotvm.task.space import Config, ConfigEntity
from whence.autotvm.task.task import Made, Task, compute_flop
from whence.autotvm.tuner.xgboost_tuner import XGBTuner
from whence.lowering.relay_to_te.strategy import schedule_by_rows, space_of
from whence.relay.module import IRModule
from whence.support.doors import door, doors
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.syntax.relay.expr import Function
from whence.target import Target, TargetLike, check_host
from whence.te.language.tensor import PlaceholderOp, Tensor
from whence.te.schedule.create import create_schedule
from whence.te.schedule.schedule import Schedule

Workload = Callable[..., Sequence[Tensor]]
"""Makes the tensors that are a kernel's arguments: its inputs, and then its outputs."""

_WORKLOADS: dict[str, Workload] = {}


def register_workload(func_name: str | Workload, f: Workload | None = None, override: bool = False) -> Any:
    """Register a function that makes tensors, a decorator: by its own name, or by another one.

    Raises PipelineError for a name that is taken, unless `override`.
    """
    if not isinstance(func_name, str):
        return register_workload(func_name.__name__, func_name, override)

    def register(function: Workload) -> Workload:
        if func_name in _WORKLOADS and _WORKLOADS[func_name] is not function and not override:
            raise PipelineError(expectation("register_workload", "a new name, or override=True", repr(func_name)))
        _WORKLOADS[func_name] = function
        return function

    return register(f) if f is not None else register


@dataclass(frozen=True)
class TuningOptions:
    """The way to tune: options as `autotvm.Tuner.tune`. verbose: 0 for no log."""

    num_measure_trials: int = 0
    early_stopping: int | None = None
    num_measures_per_round: int = 64
    verbose: int = 1
    builder: Builder | str = "local"
    runner: Runner | str = "local"
    measure_callbacks: Sequence[Callback] = field(default_factory=list[Callback])


@doors()
class SearchTask(Task):
    """The tensors of a function for some arguments, with the knobs of the compiler's schedule of them.

    func: a function of `register_workload`, or the name of one. Raises PipelineError for an unknown one, for hardware
    parameters, which the machine has, and for a bad target.
    """

    def __init__(
        self,
        func: Workload | str,
        args: Sequence[Any] = (),
        target: TargetLike = None,
        target_host: TargetLike = None,
        hardware_params: object = None,
    ):
        if hardware_params is not None:
            raise PipelineError(expectation("SearchTask", "no hardware_params, as the target has them", "some"))
        check_host(target, target_host)
        name = func if isinstance(func, str) else func.__name__
        if isinstance(func, str) and func not in _WORKLOADS:
            names = ", ".join(sorted(_WORKLOADS)) or "none is registered"
            raise PipelineError(expectation("SearchTask", f"a workload among {names}", repr(func)))
        super().__init__(name, args)
        self._make = _WORKLOADS[func] if isinstance(func, str) else func
        self.target = Target(target)
        self._machine = self.target.hardware
        plain, _ = self._plain()
        self.flop = compute_flop(plain)
        self._space = KernelSpace(space_of(plain.func, self._machine))
        self.config_space = self._space

    def instantiate(self, config: Config) -> Made:
        """The compiler's schedule by the decisions of a configuration, and the tensors. Raises its ScheduleError."""
        schedule, tensors = self._plain()
        decisions = self._space.decisions(config) if isinstance(config, ConfigEntity) else {}
        return schedule_by_rows(schedule, self._machine, decisions), tensors

    def tune(self, tuning_options: TuningOptions, search_policy: object = None) -> None:
        """Measure configurations as `autotvm.tuner.XGBTuner` does. Raises PipelineError for another search."""
        if search_policy is not None:
            raise PipelineError(expectation("SearchTask.tune", "the search of whence tune", "a search_policy"))
        option = measure_option(tuning_options.builder, tuning_options.runner)
        tuner = XGBTuner(self, plan_size=tuning_options.num_measures_per_round)
        trials, callbacks = tuning_options.num_measure_trials, tuning_options.measure_callbacks
        tuner.tune(trials, option, tuning_options.early_stopping, callbacks)

    def apply_best(self, log_file: str | PathLike[str], include_compatible: bool = False) -> Made:
        """The schedule by the fastest line of a log, and the tensors.

        Raises PipelineError where there is none, FrontendError for an unreadable file.
        """
        config = ApplyHistoryBest(log_file, tasks=[self.name]).query(self.target, self.workload)
        if config is None or not isinstance(config, ConfigEntity):
            raise PipelineError(expectation("apply_best", f"a line of {self.name}{self.args} in {log_file}", "none"))
        return self.instantiate(config)

    def print_best(self, log_file: str | PathLike[str], print_mode: str = "schedule") -> str:
        """The primitives of the fastest line of a log, as text that `read_schedule` reads. Errors as `apply_best`.

        Raises PipelineError for another mode, as there is no code for GPUs.
        """
        if print_mode != "schedule":
            raise PipelineError(expectation("print_best", "print_mode schedule", repr(print_mode)))
        return str(self.apply_best(log_file)[0].module())

    @property
    def compute_dag(self) -> str:
        """The tensors and how they are computed, as text."""
        return str(self._plain()[0])

    def _plain(self) -> tuple[Schedule, list[Tensor]]:
        """A schedule without primitives, and the tensors."""
        tensors = list(self._make(*self.args))
        inputs = [tensor for tensor in tensors if isinstance(tensor.op, PlaceholderOp)]
        outputs = [tensor for tensor in tensors if tensor not in inputs]
        return create_schedule(outputs, inputs), tensors


def create_task(
    func: Workload | str, args: Sequence[Any], target: TargetLike, target_host: TargetLike = None
) -> SearchTask:
    """The task of a function for some arguments; errors as `SearchTask`."""
    return SearchTask(func, args, target, target_host)


@door()
def extract_tasks(
    mod: IRModule | Function, params: Mapping[str, Array] | None = None, target: TargetLike = "llvm"
) -> tuple[list[KernelTask], list[int]]:
    """The kernels of a model that have a choice, and how often a run calls each; errors as `extract_from_program`."""
    tasks = extract_from_program(mod, params, target)
    return tasks, [task.kernel.calls for task in tasks]


@doors()
class TaskScheduler:
    """Tunes several tasks: each gets its part of the trials, by how often it is called times its operations."""

    def __init__(self, tasks: Sequence[Task], task_weights: Sequence[float] | None = None):
        if task_weights is not None and len(task_weights) != len(tasks):
            expected = f"a weight for each of {len(tasks)} tasks"
            raise PipelineError(expectation("TaskScheduler", expected, str(len(task_weights))))
        self.tasks = list(tasks)
        self.task_weights = list(task_weights or [1.0] * len(tasks))

    def tune(self, tune_option: TuningOptions) -> None:
        """Measure `num_measure_trials` configurations of all tasks together, and at least one of each."""
        amounts = [weight * task.flop for weight, task in zip(self.task_weights, self.tasks, strict=True)]
        option = measure_option(tune_option.builder, tune_option.runner)
        for task, amount in zip(self.tasks, amounts, strict=True):
            trials = max(1, round(tune_option.num_measure_trials * amount / sum(amounts)))
            tuner = XGBTuner(task, plan_size=tune_option.num_measures_per_round)
            tuner.tune(trials, option, tune_option.early_stopping, tune_option.measure_callbacks)


class SketchPolicy:
    """Raises PipelineError: schedules are the compiler's, whose knobs are searched, and not sketches."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        _no_sketches()


def _no_sketches() -> NoReturn:
    expected = "SearchTask.tune, which searches the knobs of the compiler's schedule"
    raise PipelineError(expectation("SketchPolicy", expected, "a search of sketches"))
