"""What a call costs when the model does almost nothing: Relu of 16 numbers, beside onnxruntime.

Prints medians in microseconds per call, of batches that take turns, for one thread each: `Executable.run` by name, the
short form by position, a function of `build_schedule`, and onnxruntime's `run`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import whence
from whence import te

SIZE = 16
ROUNDS = 41
CALLS = 2000


def model() -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIZE]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "tiny", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session(source: onnx.ModelProto) -> Any:
    runtime = cast(Any, ort)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(source.SerializeToString(), options, providers=["CPUExecutionProvider"])


def doubled() -> Callable[..., object]:
    """A kernel without a model around it."""
    x = te.placeholder((1, SIZE), name="x")
    y = te.compute((1, SIZE), lambda i, j: x[i, j] + x[i, j], name="y")
    return whence.build_schedule(te.create_schedule([y], [x]), threads=1)


def per_call(run: Callable[[], object]) -> float:
    """Microseconds, the mean of one batch."""
    start = time.perf_counter()
    for _ in range(CALLS):
        run()
    return (time.perf_counter() - start) / CALLS * 1e6


def main() -> None:
    source = model()
    x = np.random.default_rng(0).standard_normal((1, SIZE)).astype(np.float32)
    exe, peer, kernel = whence.compile(source, threads=1), session(source), doubled()
    np.testing.assert_array_equal(exe(x), peer.run(None, {"x": x})[0])
    candidates: dict[str, Callable[[], object]] = {
        "whence run": lambda: exe.run({"x": x}),
        "whence call": lambda: exe(x),
        "whence function": lambda: kernel(x),
        "onnxruntime run": lambda: peer.run(None, {"x": x}),
    }
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        for name, run in candidates.items():
            found[name].append(per_call(run))
    for name, values in found.items():
        print(f"{name:16} {median(values):6.2f} us")
    print(f"whence / onnxruntime {median(found['whence run']) / median(found['onnxruntime run']):.2f}")


if __name__ == "__main__":
    main()
