"""Products of bytes beside those of floats and beside onnxruntime's of bytes, all on one thread.

    python benchmarks/quantised.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): the median microseconds of a
call of Whence on floats, of Whence on uint8 data with int8 weights of one scale per output, and of onnxruntime on the
same; then floats / bytes, and onnxruntime / bytes, so that more than 1 says that our bytes are faster. The three are
called in turn in one process; the time is that of the thread. onnxruntime rounds sums of two products to 16 bits on
machines without VNNI where it is not told otherwise; it is not told so here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from statistics import geometric_mean, median
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import whence

runtime: Any = import_module("onnxruntime")

SAMPLES = 40
SAMPLE_SECONDS = 1e-3
"""Calls that are shorter are timed several at once."""
Array = np.ndarray[Any, np.dtype[Any]]


class Case(NamedTuple):
    """A convolution or a dense layer with a bias."""

    name: str
    data: tuple[int, ...]
    weight: tuple[int, ...]
    window: dict[str, Any]

    def model(self, bytes_: bool) -> onnx.ModelProto:
        random = np.random.default_rng(0)
        conv = len(self.weight) == 4
        outputs = self.weight[0] if conv else self.weight[1]
        product = "Conv" if conv else "MatMul"
        if bytes_:
            constants: dict[str, Any] = {
                "xs": np.float32(0.02),
                "xz": np.uint8(128),
                "w": random.integers(-64, 64, self.weight).astype(np.int8),
                "ws": (random.random(outputs) * 0.01 + 0.001).astype(np.float32),
                "wz": np.zeros(outputs, np.int8),
                "ys": np.float32(1),
                "yz": np.uint8(128),
                "b": random.integers(-99, 99, outputs).astype(np.int32),
            }
            inputs = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", *(["b"] if conv else [])]
            nodes = [helper.make_node(f"QLinear{product}", inputs, ["y"], name="product", **self.window)]
            kind = TensorProto.UINT8
        else:
            constants = {
                "w": random.standard_normal(self.weight).astype(np.float32),
                "b": random.standard_normal(outputs).astype(np.float32),
            }
            nodes = [
                helper.make_node(product, ["x", "w", *(["b"] if conv else [])], ["y"], name="product", **self.window)
            ]
            kind = TensorProto.FLOAT
        graph = helper.make_graph(
            nodes,
            "product",
            [helper.make_tensor_value_info("x", kind, self.data)],
            [helper.make_tensor_value_info("y", kind, None)],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def cases() -> Iterator[Case]:
    for image, channels, outputs, kernel, stride in (
        *((224, 3, 64, 7, 2), (56, 64, 64, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1)),
        *((56, 64, 256, 1, 1), (28, 512, 128, 1, 1), (14, 1024, 256, 1, 1), (56, 24, 144, 1, 1)),
    ):
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
        name = f"conv2d {kernel}x{kernel}/{stride} {channels}x{image}x{image} -> {outputs}"
        yield Case(name, (1, channels, image, image), (outputs, channels, kernel, kernel), window)
    for image, channels, kernel, stride in ((112, 32, 3, 1), (56, 144, 3, 2), (14, 384, 3, 1), (28, 120, 5, 1)):
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": channels}
        name = f"depthwise {kernel}x{kernel}/{stride} {channels}x{image}x{image}"
        yield Case(name, (1, channels, image, image), (channels, 1, kernel, kernel), window)
    for m, k, n in ((1, 1024, 1000), (32, 256, 256), (128, 768, 768), (128, 768, 3072)):
        yield Case(f"dense {m}x{k}x{n}", (m, k), (k, n), {})


def seconds(calls: list[Callable[[], object]]) -> list[float]:
    """The median time of each call, taken in turn."""
    counts: list[int] = []
    for call in calls:
        call()
        start = thread_time()
        call()
        counts.append(max(1, int(SAMPLE_SECONDS / max(thread_time() - start, 1e-7))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(SAMPLES):
        for call, count, taken in zip(calls, counts, times, strict=True):
            start = thread_time()
            for _ in range(count):
                call()
            taken.append((thread_time() - start) / count)
    return [median(taken) for taken in times]


def main(words: list[str]) -> None:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    ratios: list[tuple[float, float]] = []
    print(f"{'':44} {'floats':>9} {'bytes':>9} {'theirs':>9}   floats/bytes  theirs/bytes")
    for case in cases():
        if words and not any(word in case.name for word in words):
            continue
        floats, quantised = (case.model(bytes_) for bytes_ in (False, True))
        random = np.random.default_rng(1)
        x = random.standard_normal(case.data).astype(np.float32)
        q = random.integers(0, 256, case.data).astype(np.uint8)
        ours = [whence.compile(model, threads=1) for model in (floats, quantised)]
        session = runtime.InferenceSession(quantised.SerializeToString(), options)
        calls: list[Callable[[], object]] = [
            partial(ours[0], x),
            partial(ours[1], q),
            partial(session.run, None, {"x": q}),
        ]
        found = [1e6 * taken for taken in seconds(calls)]
        ratios.append((found[0] / found[1], found[2] / found[1]))
        times = " ".join(f"{number:9.1f}" for number in found)
        quotients = " ".join(f"{number:12.2f}" for number in ratios[-1])
        print(f"{case.name:44} {times}   {quotients}", flush=True)
    means = " ".join(f"{geometric_mean(column):12.2f}" for column in zip(*ratios, strict=True))
    print(f"{'geometric mean':44} {'':29}   {means}")


if __name__ == "__main__":
    main(sys.argv[1:])
