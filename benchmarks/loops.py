"""Loops whose length is a value: what a step takes beside onnxruntime, and whether anything is compiled for a length.

    python benchmarks/loops.py [NAME ...] [--steps STEPS]

Both run in turn on one thread; times are seconds of this process's CPU, of the best of five runs, less those of a run
of one step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import whence

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
loop_models: Any = import_module("loop_models")
ort: Any = import_module("onnxruntime")
SHOWN = ("counted", "until int32", "lstm int32 float scan", "lstm int32 int32 scatter", "sliced", "grown", "appended")


def seconds(run: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(5):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SHOWN, metavar="NAME")
    parser.add_argument("--steps", type=int, default=500)
    arguments = parser.parse_args()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    print(f"{'loop':28} {'programs':>8} {'us/step':>8} {'onnxruntime':>12}")
    for name in arguments.names:
        loop = loop_models.LOOPS[name]()
        session = ort.InferenceSession(loop.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        exe: Any = whence.compile(loop.model, threads=1)
        short, long = loop.inputs(1), loop.inputs(arguments.steps)
        for inputs in (short, loop.inputs(7), long):
            exe.run(inputs)
        kept = len(exe.specializations)
        ours = seconds(partial(exe.run, long)) - seconds(partial(exe.run, short))
        theirs = seconds(partial(session.run, None, long)) - seconds(partial(session.run, None, short))
        assert len(exe.specializations) == kept, "compiled for a length"
        ours, theirs = (1e6 * taken / (arguments.steps - 1) for taken in (ours, theirs))
        print(f"{name:28} {kept:8} {ours:8.1f} {theirs:12.1f}")


if __name__ == "__main__":
    main()
