"""Functions of te lowered to blocks, against the same functions as loops: bits, times, and compile times.

    python benchmarks/blocks.py [--step N] [--seconds S] [MODEL ..]

The functions are those of the ONNX standard's node tests, every N-th, or of models, without schedules. Prints those
whose bits differ, the counts, the median and the 90th percentile of run time as blocks over that as loops for functions
of at least 20 us, and the seconds that lowering and compiling took in all.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np


def draw(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iub":
        return random.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def bits(results: Any) -> list[bytes]:
    values = cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)
    return [np.asarray(one).tobytes() for one in values]


def least(functions: list[Any], inputs: list[Any]) -> list[float]:
    """The least seconds of a call of each of several functions, measured in turn."""
    best = [float("inf")] * len(functions)
    for _ in range(9):
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function(*inputs)
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from te_functions import functions_of, te_functions

    from whence.kernels import build_prim_func
    from whence.lowering.te_to_tir.lower import lower_schedule
    from whence.te.schedule.schedule import Schedule

    random, began = np.random.default_rng(0), time.perf_counter()
    counts: Counter[str] = Counter()
    ratios: list[float] = []
    took = [0.0, 0.0]
    found = functions_of((name, name) for name in options.models) if options.models else te_functions(options.step)
    for name, func in found:
        if time.perf_counter() - began > options.seconds:
            print(f"ended after {options.seconds:.0f} s")
            break
        built: list[Any] = []
        for number, blocks in enumerate((False, True)):
            start = time.perf_counter()
            built.append(build_prim_func(lower_schedule(Schedule(func.clone()), blocks=blocks)))
            took[number] += time.perf_counter() - start
        if built[0].sizes:
            counts["of open sizes, not run"] += 1
            continue
        inputs = [draw(random, shape, dtype) for _, shape, dtype in built[0].arguments[: built[0].inputs]]
        first, second = (bits(function(*inputs)) for function in built)
        counts["equal" if first == second else "other"] += 1
        if first != second:
            print(f"other: {name} {func.sym_name.data}")
        loops, blocks_ = least(built, inputs)
        if loops > 20e-6:
            ratios.append(blocks_ / loops)
    print(f"{sum(counts.values())} functions: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    if ratios:
        print(
            f"run time as blocks over loops, {len(ratios)} functions: median {np.median(ratios):.3f}, "
            f"90th percentile {np.percentile(ratios, 90):.3f}, {sum(ratio <= 1.1 for ratio in ratios)} within 1.1"
        )
    print(f"lowered and compiled in {took[0]:.1f} s as loops, {took[1]:.1f} s as blocks ({took[1] / took[0]:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
