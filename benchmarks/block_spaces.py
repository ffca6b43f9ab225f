"""Kernels that stay as they are written: what do rules on blocks, and measuring their numbers, gain?

    python benchmarks/block_spaces.py [--budget SECONDS] [--trials N] [--threads N]

Prints for each kernel the milliseconds of a call as it is written, as `whence.build` makes it, by the rules' default
numbers, and by the numbers that tuning found; and the speed relative to the kernel as it is written. Results are
compared with numpy's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

SECONDS = 0.3


def best(function: Callable[..., object], inputs: Sequence[object]) -> float:
    """Return the milliseconds of CPU of the fastest call."""
    function(*inputs)
    end, least = time.perf_counter() + SECONDS, float("inf")
    while time.perf_counter() < end:
        start = time.process_time()
        function(*inputs)
        least = min(least, time.process_time() - start)
    return least * 1e3


def main() -> None:
    sys.path.append(str(Path(__file__).parents[1] / "tests/support"))
    from written_kernels import heat, momentum, scan

    from whence.kernels.building import build, build_prim_func
    from whence.kernels.tuning import tune_prim_func

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    kernels = {"scan": scan(64, 256), "momentum": momentum(16, 256, 512), "heat": heat(32, 256)}
    print(f"{'kernel':10} {'written':>9} {'built':>9} {'rules':>9} {'tuned':>9}  gain  decisions")
    for name, kernel in kernels.items():
        inputs = kernel.inputs()
        with tempfile.TemporaryDirectory() as folder:
            tuned = tune_prim_func(
                kernel.func, folder, budget=options.budget, trials=options.trials, threads=options.threads
            )
        written = build_prim_func(kernel.func, threads=options.threads)
        functions = [
            written,
            build(kernel.func, threads=options.threads),
            build_prim_func(tuned.task.blocks.decided({"rules": 1}), threads=options.threads),
            build_prim_func(tuned.func, threads=options.threads),
        ]
        for function in functions:
            np.testing.assert_allclose(function(*inputs), kernel.reference(*inputs), rtol=1e-4, atol=1e-4)
        times = [best(function, inputs) for function in functions]
        numbers = ", ".join(f"{knob} = {number}" for knob, number in tuned.decisions.items()) or "as it is written"
        columns = " ".join(f"{took:9.3f}" for took in times)
        print(f"{name:10} {columns} {times[0] / times[-1]:5.1f}  {numbers}", flush=True)


if __name__ == "__main__":
    main()
