"""Times of a compiled model: of a run, and of its kernel calls."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Protocol

from whence.executables.executable import Executable
from whence.explorer.times import Times
from whence.runtime.values.tensors import Tensor
from whence.support.dtypes import Array

if TYPE_CHECKING:
    from whence.explorer.samples import Samples

_BUDGET = 1.5
"""Seconds that are spent on repeating a run."""
_RUNS = 3, 30


class Runs(Protocol):
    """A program that runs on arrays by name."""

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Tensor]: ...


def run_times(compiled: Runs, inputs: Mapping[str, Array]) -> tuple[dict[str, Tensor], list[float]]:
    """The outputs of a first run, and the seconds of those after it."""
    outputs = compiled.run(inputs)
    fewest, most = _RUNS
    times: list[float] = []
    while len(times) < fewest or (len(times) < most and sum(times) < _BUDGET):
        start = time.perf_counter()
        compiled.run(inputs)
        times.append(time.perf_counter() - start)
    return outputs, times


def call_times(compiled: Executable, inputs: Mapping[str, Array], run: float, samples: Samples | None = None) -> Times:
    """The median seconds of each kernel call, and of its layers; `run` is the approximate time of a run."""
    fewest, most = _RUNS
    return compiled.times(inputs, min(most, max(fewest, int(_BUDGET / max(run, 1e-6)))), samples)


def measure(compiled: Executable, inputs: Mapping[str, Array]) -> Times:
    """Measure the times of kernel calls and layers."""
    _, times = run_times(compiled, inputs)
    return call_times(compiled, inputs, median(times))
