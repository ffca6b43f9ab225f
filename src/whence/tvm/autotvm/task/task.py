"""Templates: functions that make a schedule of the knobs that they define, and tasks, a template with its arguments.

>>> @autotvm.template("matmul")
... def matmul(n):
...     ...
...     cfg = autotvm.get_config()
...     cfg.define_split("tile_y", y, num_outputs=2)
...     outer, inner = cfg["tile_y"].apply(s, C, y)
...     return s, [A, B, C]
>>> task = autotvm.task.create("matmul", args=(512,), target="llvm")

The knobs are those of the compiler's own schedules: the schedule records each with its alternatives (`schedule.knob`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from math import prod
from typing import Any, TypeAlias, cast

from whence.autotvm.task.dispatcher import applied, get_config
from whence.autotvm.task.space import Config, ConfigEntity, ConfigSpace, InstantiationError
from whence.lowering.llvm_to_native.target import Target as LLVMTarget
from whence.support.doors import door
from whence.support.errors import PipelineError, ScheduleError, expectation
from whence.target import Target, TargetLike, check_host
from whence.te.language.tensor import Tensor
from whence.te.schedule.counts import operations_at_point
from whence.te.schedule.schedule import Schedule

Made: TypeAlias = tuple[Schedule, list[Tensor]]
"""A schedule, and the tensors that are the kernel's arguments."""
Workload: TypeAlias = tuple[Any, ...]
"""The name of a template, and its arguments: numbers, texts, tuples, and `("TENSOR", shape, dtype)` of a tensor."""

_TEMPLATES: dict[str, Callable[..., Made]] = {}


class FlopCalculationError(ScheduleError, RuntimeError):
    """A schedule computes nothing whose operations count."""


class Task:
    """A template with its arguments; of a line of a log perhaps one that nobody knows here, without a space."""

    def __init__(self, name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None):
        self.name = name
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.config_space = ConfigSpace()
        self.target: LLVMTarget | None = None
        self.target_host: LLVMTarget | None = None
        self.flop: float = 0.0
        """Floating-point operations of a call."""

    @property
    def workload(self) -> Workload:
        """The key under which logs keep it."""
        return (self.name, *workload_key(self.args))

    @property
    def func(self) -> Callable[..., Made]:
        """The template's function. Raises PipelineError for an unknown template."""
        return _template(self.name)

    @door()
    def instantiate(self, config: Config) -> Made:
        """The schedule of a configuration, and the tensors that are its arguments.

        Raises InstantiationError for a configuration that the template refuses, else what the template raises.
        """
        config.errors.clear()
        with self.target or nullcontext(), applied(config):
            schedule, tensors = self.func(*self.args, **self.kwargs)
        if not config.valid():
            raise InstantiationError(f"template '{self.name}': {'; '.join(config.errors)}")
        _record(schedule, config)
        return schedule, list(tensors)

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def template(task_name: str, func: Callable[..., Made] | None = None) -> Any:
    """Register a function as a template, a decorator; a later one of the name takes the place of an earlier one.

    The function returns a schedule and the tensors that are its arguments. Called by users, it gets the configuration
    that logs in scope have for its arguments (`apply_history_best`), else the first value of each knob.
    """

    def register(function: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Made:
            config = get_config((task_name, *workload_key(args)))
            with applied(config):
                made = function(*args, **kwargs)
            if made is not None:  # pyright: ignore[reportUnnecessaryComparison]
                _record(made[0], config)
            return made

        _TEMPLATES[task_name] = function
        return call

    return register(func) if func is not None else register


@door()
def create(task_name: str, args: Sequence[Any], target: TargetLike = None, target_host: TargetLike = None) -> Task:
    """The task of a template for some arguments: the template runs once and defines its knobs.

    Raises PipelineError for an unknown template and a bad target, ScheduleError for knobs that cannot be.
    """
    check_host(target, target_host)
    name = task_name if isinstance(task_name, str) else getattr(task_name, "__name__", repr(task_name))  # pyright: ignore[reportUnnecessaryIsInstance]
    task = Task(name, args)
    task.target = Target(target)
    with task.target, applied(task.config_space):
        schedule, _ = task.func(*task.args)
    task.flop = task.config_space.flop or compute_flop(schedule)
    return task


def compute_flop(sch: Schedule) -> float:
    """The operations of a call: for each point of each stage, those of its element, and one per term of a reduction.

    A multiply-add is two, an elementary function 16, a cast none. Raises FlopCalculationError where there are none.
    """
    flop = 0
    for stage in sch.snapshot(0).computes:
        axes = [*stage.axes, *stage.reduce_axes]
        flop += operations_at_point(stage.compute, casts=False) * prod(cast("int", axis.extent) for axis in axes)
    if not flop:
        raise FlopCalculationError(
            expectation("compute_flop", "arithmetic on elements, or cfg.add_flop in the template", "none")
        )
    return float(flop)


def is_template(name: str) -> bool:
    """Return whether a template of a name is registered."""
    return name in _TEMPLATES


def _template(name: str) -> Callable[..., Made]:
    if name not in _TEMPLATES:
        names = ", ".join(sorted(_TEMPLATES)) or "none is registered"
        raise PipelineError(expectation("autotvm task", f"a template among {names}", repr(name)))
    return _TEMPLATES[name]


def _record(schedule: Schedule, config: Config) -> None:
    """Note the decisions in front of the primitives of a schedule."""
    if not isinstance(config, ConfigEntity) or not isinstance(schedule, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
        return
    first = schedule.sequence.block.first_op
    for name, space in config.space_map.items():
        if config[name] in space.entities:
            numbers = space.numbers
            decision = numbers[space.entities.index(config[name])]
            schedule.record.knob(name, sorted(numbers), decision, schedule.func.location, first, fixed=True)


def workload_key(value: Any) -> Any:
    """Arguments as a key: lists as tuples, tensors as their shape and dtype."""
    if isinstance(value, Tensor):
        return ("TENSOR", tuple(value.shape), str(value.dtype))
    if isinstance(value, list | tuple):
        return tuple(map(workload_key, cast("Sequence[Any]", value)))
    return value
