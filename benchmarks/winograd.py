"""Convolutions of 3x3: Winograd's form beside the plain one, and beside onnxruntime.

    python benchmarks/winograd.py [CHANNELSxSIZExOUTPUTS ...] [--threads N]

Each line has the milliseconds of the fastest call, all three called in turn in one process (CPU time on one thread,
else wall time), the plain form's time by Winograd's, onnxruntime's by it, and the largest errors of both forms against
sums in float64, of data around 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import whence

SHAPES = ("64x56x64", "128x28x128", "256x14x256", "512x7x512", "512x14x512", "512x28x512", "256x56x256", "64x224x64")
TURNS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    print("shape          winograd    plain      ort   plain/w    ort/w      error      plain")
    for shape in args.shapes:
        compare(*map(int, shape.split("x")), threads=args.threads)


def compare(channels: int, size: int, outputs: int, threads: int) -> None:
    """Print the line of one shape, with padding and relu."""
    draw = np.random.default_rng(0)
    weight = (draw.standard_normal((outputs, channels, 3, 3)) / (3 * channels**0.5)).astype(np.float32)
    x = draw.standard_normal((1, channels, size, size)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["y"])]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "net", given, result, [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    transformed = whence.compile(model, threads=threads)
    with whence.PassContext(config={"relay.winograd": False}):
        plain = whence.compile(model, threads=threads)
    runtime: Any = onnxruntime  # which has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(model.SerializeToString(), options)
    calls: list[Callable[[], object]] = [
        lambda: transformed.run({"x": x}),
        lambda: plain.run({"x": x}),
        lambda: session.run(None, {"x": x}),
    ]
    clock = process_time if threads == 1 else perf_counter
    times = [float("inf")] * len(calls)
    for _ in range(TURNS):
        for index, call in enumerate(calls):
            call()
            begin = clock()
            call()
            times[index] = min(times[index], clock() - begin)
    views = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    right = np.maximum(np.einsum("ncyxij,ocij->noyx", views.astype(float), weight.astype(float), optimize=True), 0)
    errors = [np.abs(program.run({"x": x})["y"] - right).max() for program in (transformed, plain)]
    ratios = [time / times[0] for time in times[1:]]
    columns = [*(f"{time * 1e3:9.3f}" for time in times), *(f"{ratio:8.2f}" for ratio in ratios)]
    print(f"{channels}x{size}x{outputs}".ljust(13), *columns, *(f"{error:10.1e}" for error in errors), flush=True)


if __name__ == "__main__":
    main()
