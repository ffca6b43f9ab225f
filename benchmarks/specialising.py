"""How long calls take while other sizes are compiled for: `python benchmarks/specialising.py MODEL batch=1 seq=5`.

Calls with the given sizes run, one after the other, while nothing else goes on, while a thread of this process compiles
the program for sizes twice as large, and while a process of its own does, in turns. Printed are the median, the 99th of
a hundred and the longest, in ms. The kernel cache is off. With `cpu=1` what a call waited for a processor is left out
(of Linux's schedstat), where others keep the machine busy: what it waited for the interpreter stays in.
"""

from __future__ import annotations

import gc
import os
import sys
from time import perf_counter
from typing import BinaryIO, cast

import numpy as np
from sizes import inputs_of

import whence
from whence.executables import sized
from whence.executables.sized import SizedExecutable
from whence.planning.build import Building
from whence.runtime.program.sizes import SizedSpec
from whence.support.dtypes import Array

ROUNDS = 2
CALLS = 20_000
"""At least so many a round: rare pauses of the machine itself are to be met while nothing goes on, too."""
NEVER = 1 << 60


class Clock:
    """Seconds of this thread, without those in which it was ready to run and had no processor if asked for."""

    def __init__(self, stats: BinaryIO | None):
        self._stats = stats

    def __call__(self) -> float:
        now = perf_counter()
        if self._stats is None:
            return now
        self._stats.seek(0)
        return now - int(self._stats.read().split()[1]) * 1e-9


def calls(executable: SizedExecutable, inputs: dict[str, Array], least: int, clock: Clock) -> list[float]:
    """Seconds of calls, until no program is being made any more, at least so many."""
    times: list[float] = []
    while len(times) < least or not executable.wait(0):
        start = clock()
        executable.run(inputs)
        times.append(clock() - start)
    return times


def _nobody(build: object) -> Building | None:
    """No other process."""


def main(model: str, *sizes: str) -> None:
    os.environ["WHENCE_CACHE_DIR"] = ""
    values = {name: int(number) for name, _, number in (size.partition("=") for size in sizes if size != "cpu=1")}
    clock = Clock(open("/proc/thread-self/schedstat", "rb", 0) if "cpu=1" in sizes else None)
    executable = whence.compile(model, threads=1)
    assert isinstance(executable, SizedExecutable)
    executable._often = NEVER  # pyright: ignore[reportPrivateUsage]
    specs = cast("tuple[SizedSpec, ...]", executable.inputs)
    inputs = inputs_of(specs, values)
    apart = sized.portable
    ways = {"nothing": (apart, NEVER), "a thread": (_nobody, 1), "a process": (apart, 1)}
    times: dict[str, list[float]] = {what: [] for what in ways}
    last = list(values)[-1]
    for number in range(ROUNDS):
        for offset, (what, (portable, often)) in enumerate(ways.items()):
            sized.portable = portable
            other = {**values, last: values[last] * 2 + number * len(ways) + offset}
            executable._often = often  # pyright: ignore[reportPrivateUsage]
            executable.run(inputs_of(specs, other))
            executable._often = NEVER  # pyright: ignore[reportPrivateUsage]
            gc.collect()
            times[what] += calls(executable, inputs, CALLS, clock)
    print(f"{len(executable.specializations)} programs made")
    for what, found in times.items():
        middle, late = np.quantile(found, (0.5, 0.99)) * 1e3
        print(f"{what:>10} goes on: {middle:8.3f} ms {late:8.3f} ms {max(found) * 1e3:8.3f} ms, {len(found)} calls")


if __name__ == "__main__":
    main(*sys.argv[1:])
