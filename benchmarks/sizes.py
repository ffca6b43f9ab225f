"""One program for all sizes against the one for certain sizes: `python benchmarks/sizes.py MODEL batch=1 seq=32`.

Both run in turns in one process; the ratio is that of the medians of seconds per call.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import numpy as np

import whence
from whence.runtime.sizes import SizedSpec
from whence.sized import SizedExecutable
from whence.support.dtypes import Array


def main(model: str, *sizes: str) -> None:
    """Prints compile times, seconds per call of both."""
    values = {name: int(number) for name, _, number in (size.partition("=") for size in sizes)}
    start = time.perf_counter()
    symbolic = whence.compile(model, tier="symbolic")
    took = time.perf_counter() - start
    assert isinstance(symbolic, SizedExecutable)
    rng = np.random.default_rng(0)
    inputs: dict[str, Array] = {}
    for spec in symbolic.inputs:
        assert isinstance(spec, SizedSpec)
        shape = [values.get(text, extent) for extent, text in zip(spec.shape, spec.texts, strict=True)]
        random = rng.integers(0, 2, shape) if spec.dtype.kind in "iu" else rng.standard_normal(shape)
        inputs[spec.name] = np.asarray(random).astype(spec.dtype)
    symbolic.run(inputs)
    start = time.perf_counter()
    static = whence.compile(model, input_shapes={name: array.shape for name, array in inputs.items()})
    print(f"compiled in {took:.2f} s for all sizes, {time.perf_counter() - start:.2f} s for {', '.join(sizes)}")
    static.run(inputs)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(200):
        for kept, executable in zip(times, (symbolic, static), strict=True):
            start = time.perf_counter()
            executable.run(inputs)
            kept.append(time.perf_counter() - start)
    one, other = map(median, times)
    print(f"{one * 1e3:.3f} ms for all sizes, {other * 1e3:.3f} ms for these: {one / other:.2f}x")


if __name__ == "__main__":
    main(*sys.argv[1:])
