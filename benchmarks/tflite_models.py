"""MobileNetV1 from TFLite files, in float and int8, against LiteRT with its default kernels (XNNPACK).

    PYTHONPATH=src:tests/support python benchmarks/tflite_models.py [--size 224] [--threads 1 2] [--rounds 15]

Calls alternate; a row is of medians in milliseconds, and how many times as fast as LiteRT we are.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tflite_builder import Array
from tflite_networks import mobilenet

import whence


def peer(data: bytes, threads: int, image: Array) -> tuple[Callable[[], None], Callable[[], Array]]:
    """A call of LiteRT, and what it gave."""
    runtime: Any = Interpreter(model_content=data, num_threads=threads)
    runtime.allocate_tensors()
    entry, exit_ = runtime.get_input_details()[0]["index"], runtime.get_output_details()[0]["index"]

    def call() -> None:
        runtime.set_tensor(entry, image)
        runtime.invoke()

    return call, lambda: runtime.get_tensor(exit_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print("network             threads    ours  LiteRT  ratio  differs")
    for integers in (False, True):
        data = mobilenet(args.size, args.width, integers)
        shape = (1, args.size, args.size, 3)
        image: Array = rng.uniform(-1, 1, shape).astype(np.float32)
        if integers:
            image = rng.integers(-128, 128, shape).astype(np.int8)
        for threads in args.threads:
            exe = whence.compile(data, threads=threads)
            theirs, left = peer(data, threads, image)
            calls: list[Callable[[], object]] = [lambda exe=exe, image=image: exe(image), theirs]
            times: list[list[float]] = [[], []]
            for _ in range(args.rounds + 2):
                for call, found in zip(calls, times, strict=True):
                    begin = time.perf_counter()
                    call()
                    found.append(time.perf_counter() - begin)
            ours, other = (1e3 * statistics.median(found[2:]) for found in times)
            (mine,) = exe.run({"input": image}).values()
            off = np.abs(np.asarray(mine, np.float64) - left().astype(np.float64)).max()
            name = f"MobileNetV1 {'int8' if integers else 'float'}"
            print(f"{name:19} {threads:7} {ours:7.2f} {other:7.2f} {other / ours:6.2f}  {off:.3g}", flush=True)


if __name__ == "__main__":
    main()
