"""One program for all sizes against the one for certain sizes: `python benchmarks/sizes.py MODEL batch=1 seq=32`.

Both run in turns in one process on one thread; the ratio is that of the medians of seconds per call. What a new size
costs is the median of how much longer its first call takes than its second one, over sizes below the given ones.
Compile times are without the kernel cache, medians of three compilations of each, which take turns, after one of each
that counts for nothing; the ratio is that of the medians. With `cpu=1` seconds are of processor time, where others keep
the machine busy: for compiling of all threads, for calls of the thread itself.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import cast

import numpy as np

import whence
from whence.dialects.sizes import evaluate
from whence.dialects.sizes.text import parse_size
from whence.executables.sized import SizedExecutable
from whence.runtime.program.sizes import SizedSpec
from whence.support.dtypes import Array

NEW = 24
"""How many new sizes are tried."""
COMPILATIONS = 3


def inputs_of(specs: Iterable[SizedSpec], values: dict[str, int]) -> dict[str, Array]:
    """Random inputs for values of the sizes."""
    rng = np.random.default_rng(0)
    inputs: dict[str, Array] = {}
    for spec in specs:
        shape = [evaluate(parse_size(text), values) for text in spec.texts]
        random = rng.integers(0, 2, shape) if spec.dtype.kind in "iu" else rng.standard_normal(shape)
        inputs[spec.name] = np.asarray(random).astype(spec.dtype)
    return inputs


def seconds(call: Callable[[], object], *, compiling: bool = False) -> float:
    clock = time.perf_counter
    if "cpu=1" in sys.argv:
        # LLVM works on one kernel in a thread of its own while the next is lowered.
        clock = time.process_time if compiling else time.thread_time
    start = clock()
    call()
    return clock() - start


def main(model: str, *sizes: str) -> None:
    """Prints compile times, seconds per call of both, and what a new size costs."""
    os.environ["WHENCE_CACHE_DIR"] = ""
    values = {name: int(number) for name, _, number in (size.partition("=") for size in sizes if size != "cpu=1")}
    symbolic = whence.compile(model, tier="symbolic", threads=1)
    assert isinstance(symbolic, SizedExecutable)
    specs = cast("tuple[SizedSpec, ...]", symbolic.inputs)
    inputs = inputs_of(specs, values)
    shapes = {name: array.shape for name, array in inputs.items()}
    static = whence.compile(model, input_shapes=shapes, threads=1)
    compiling: tuple[list[float], list[float]] = [], []
    for _ in range(COMPILATIONS):
        compiling[0].append(seconds(lambda: whence.compile(model, tier="symbolic", threads=1), compiling=True))
        compiling[1].append(seconds(lambda: whence.compile(model, input_shapes=shapes, threads=1), compiling=True))
    one, other = map(median, compiling)
    print(f"compiled in {one:.2f} s for all sizes, {other:.2f} s for {', '.join(sizes)}: {one / other:.2f}x")
    for executable in (symbolic, static):
        executable.run(inputs)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(200):
        for kept, executable in zip(times, (symbolic, static), strict=True):
            kept.append(seconds(partial(executable.run, inputs)))
    one, other = map(median, times)
    print(f"{one * 1e3:.3f} ms for all sizes, {other * 1e3:.3f} ms for these: {one / other:.2f}x")
    beyond: list[float] = []
    name = next(reversed(values))
    for number in range(max(1, values[name] - NEW), values[name]):
        call = partial(symbolic.run, inputs_of(specs, {**values, name: number}))
        beyond.append(seconds(call) - seconds(call))
    print(f"{median(beyond) * 1e3:.3f} ms more for the first call with a new {name}, of {len(beyond)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
