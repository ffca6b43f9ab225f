"""Schedules as text: read, carried out, and compared with another one of the same function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.utils.exceptions import ParseError, VerifyException

from whence.dialects import te
from whence.dialects.located_parser import LocatedParser
from whence.dialects.schedule import SequenceOp
from whence.kernels.building import build_schedule
from whence.kernels.functions import Function
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.te_to_tir.convert_te_to_tir import intrinsics_of
from whence.reading.textio import context, one_line
from whence.runtime.program.timing import Timing
from whence.support.doors import door
from whence.support.dtypes import Array, is_float
from whence.support.errors import FrontendError, ScheduleError
from whence.te.schedule.schedule import Schedule, replay

_OPEN = 64
"""The value of sizes that are open, where a schedule is measured."""
_ROUNDS = 11
_BATCH_MS = 5.0


@dataclass(frozen=True)
class ScheduleComparison:
    """A schedule beside another one of the same function, on the same random inputs."""

    before: float
    """Seconds of a call with the first schedule: the median of runs in turn."""
    after: float
    error: float
    """The largest difference of an element."""
    equal: bool
    """True where no element differs by more than sums in another order may."""

    @property
    def ratio(self) -> float:
        """The time of the first schedule divided by that of the second: above 1, the second is faster."""
        return self.before / self.after


@door()
def read_schedule(text: str, name: str = "<schedule>") -> Schedule:
    """Return the schedule in the text of `str(schedule.module())`, or in that text without the module around it.

    The text has a te.func, the schedule.sequence of its name, and the intrinsics that it names. Raises FrontendError
    for other text, and ScheduleError for a primitive that does not fit.
    """
    try:
        module = LocatedParser(context(), text, name).parse_module()
        module.verify()
    except ParseError as error:
        raise FrontendError(f"schedule: {one_line(error)}") from error
    except VerifyException as error:
        raise FrontendError(f"schedule: {error}") from error
    functions = [op for op in module.ops if isinstance(op, te.FuncOp)]
    sequences = [op for op in module.ops if isinstance(op, SequenceOp)]
    if len(functions) != 1 or len(sequences) != 1:
        got = f"{len(functions)} and {len(sequences)}"
        raise FrontendError(f"schedule: expected one te.func and one schedule.sequence, got {got}")
    if sequences[0].target.data != functions[0].sym_name.data:
        expected = f"a sequence for @{functions[0].sym_name.data}"
        raise FrontendError(f"schedule: expected {expected}, got one for @{sequences[0].target.data}")
    return replay(functions[0].clone(), sequences[0], None, intrinsics_of(module))


@door()
def compare_schedules(
    before: str | Schedule,
    after: str | Schedule,
    *,
    target: str | Target = "native",
    threads: int | None = None,
    seed: int = 0,
) -> ScheduleComparison:
    """Build two schedules of one function, run them on random inputs, and compare results and times.

    Raises ScheduleError where they are of different functions, FrontendError and others as `read_schedule`.
    """
    schedules = [read_schedule(each) if isinstance(each, str) else each for each in (before, after)]
    functions = [build_schedule(schedule, target=target, threads=threads) for schedule in schedules]
    first, second = ((f.at((_OPEN,) * len(f.sizes)) if f.sizes else f) for f in functions)
    if first.arguments != second.arguments:
        raise ScheduleError(f"schedule: expected one of {first!r}, got one of {second!r}")
    inputs = random_inputs(first, np.random.default_rng(seed))
    results = [_results(function, inputs) for function in (first, second)]
    differences = [_difference(a, b) for a, b in zip(*results, strict=True)]
    times = _times(first, second, inputs)
    return ScheduleComparison(
        *times, max((error for error, _ in differences), default=0.0), all(equal for _, equal in differences)
    )


def random_inputs(function: Function, random: np.random.Generator) -> list[Array]:
    """Return random inputs: floats of a normal distribution, and integers small enough to be valid indices."""
    arrays: list[Array] = []
    for _, shape, dtype in function.arguments[: function.inputs]:
        values = random.standard_normal(shape) if is_float(dtype.name) else random.integers(0, 2, shape)
        arrays.append(values.astype(dtype))
    return arrays


def _results(function: Function, inputs: list[Array]) -> list[Array]:
    results: Any = function(*inputs)
    return list(cast("tuple[Array, ...]", results)) if isinstance(results, tuple) else [results]


def _difference(a: Array, b: Array) -> tuple[float, bool]:
    """The largest difference, and whether it is one of rounding."""
    if not a.size:
        return 0.0, True
    wide, other = a.astype(np.float64), b.astype(np.float64)
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    error = float(np.max(np.where(same, 0.0, np.abs(wide - other))))
    if not is_float(a.dtype.name):
        return error, error == 0.0
    finite = np.abs(other[np.isfinite(other)])
    # Each of the terms of a sum may be off by a rounding of the largest value there is.
    allowed = 64 * float(cast(Any, np.finfo)(a.dtype).eps) * float(np.max(finite, initial=0.0))
    return error, error <= allowed


def _times(first: Function, second: Function, inputs: list[Array]) -> tuple[float, float]:
    """Medians of the seconds of calls that are measured in turn."""
    runs = [partial(function, *inputs) for function in (first, second)]
    timing = Timing(number=1, min_repeat_ms=_BATCH_MS)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for run, column in zip(runs, seconds, strict=True):
            column += timing.measure(run).results
    return float(np.median(seconds[0])), float(np.median(seconds[1]))
