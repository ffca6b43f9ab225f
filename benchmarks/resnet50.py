"""light ResNet-50 with random weights: one inference beside onnxruntime, and two threads beside one.

Prints medians of alternating runs in one process, and their ratios.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime as ort

import whence
from whence.reading.models import model_path

ROUNDS = 25


def alternating(candidates: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each candidate, the candidates taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        run()
    for _ in range(ROUNDS):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in seconds.items()}


def session(model: onnx.ModelProto, threads: int) -> Any:
    runtime = cast(Any, ort)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main() -> None:
    # The networks that onnx ships have no weights of their own; tests fill them in the same way.
    sys.path.append(str(Path(__file__).parent.parent / "tests/support"))
    from random_weights import randomize_weights

    model = randomize_weights(cast(Any, onnx).load(model_path("light_resnet50")))
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)
    feed = {"gpu_0/data_0": image}
    ours = {threads: whence.compile(model, threads=threads) for threads in (1, 2)}
    peers = {threads: session(model, threads) for threads in (1, 2)}
    reference = peers[1].run(None, feed)[0]
    error = float(np.abs(ours[1](image) - reference).max() / np.ptp(reference))
    print(f"error against onnxruntime: {error:.1e} of the output range")
    one = alternating({"whence": lambda: ours[1](image), "onnxruntime": lambda: peers[1].run(None, feed)})
    print(
        f"1 thread:  whence {one['whence'] * 1e3:.1f} ms, onnxruntime {one['onnxruntime'] * 1e3:.1f} ms, "
        f"whence / onnxruntime {one['whence'] / one['onnxruntime']:.2f}"
    )
    two = alternating({"whence": lambda: ours[2](image), "onnxruntime": lambda: peers[2].run(None, feed)})
    print(
        f"2 threads: whence {two['whence'] * 1e3:.1f} ms, onnxruntime {two['onnxruntime'] * 1e3:.1f} ms, "
        f"whence / onnxruntime {two['whence'] / two['onnxruntime']:.2f}"
    )
    both = alternating({"1": lambda: ours[1](image), "2": lambda: ours[2](image)})
    print(f"whence: 2 threads are {both['1'] / both['2']:.2f} times as fast as 1")


if __name__ == "__main__":
    main()
