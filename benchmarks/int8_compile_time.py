"""Compile time of networks of bytes beside that of the same networks of floats, with an empty kernel cache.

    python benchmarks/int8_compile_time.py [ROUNDS [OTHER]]

Prints, for three scripted networks that onnxruntime quantises (QDQ, weights per channel), the median seconds of CPU, of
all threads, that a fresh process takes to compile each form, the two in turns, and their ratio. OTHER: the `src`
folder of another state of Whence, which is measured in between.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
from compile_time import CPU, OURS, seconds
from onnx import TensorProto, helper, numpy_helper

quantization: Any = import_module("onnxruntime.quantization")
IMAGE = (1, 3, 64, 64)


class Network:
    """The nodes and weights of a network of one image, as they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        values = (self.random.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x: str, channels: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> str:
        depth = channels // groups
        weight = self.weight(outputs, depth, kernel, kernel, scale=(depth * kernel * kernel) ** -0.5)
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": groups}
        return self.add("Conv", x, weight, self.weight(outputs, scale=0.1), **window)

    def swish(self, x: str) -> str:
        return self.add("Mul", x, self.add("Sigmoid", x))

    def model(self, result: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, IMAGE)],
            [helper.make_tensor_value_info(self.add("GlobalAveragePool", result), TensorProto.FLOAT, None)],
            self.weights,
        )
        graph.output[0].name = self.nodes[-1].output[0]
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def efficientnet(blocks: int = 12) -> onnx.ModelProto:
    """Inverted bottlenecks with squeeze and excitation."""
    net = Network()
    x, channels = net.swish(net.conv("x", 3, 24, 3, 2)), 24
    for block in range(blocks):
        outputs, wide, stride = 24 + 8 * (block // 3), channels * 4, 2 if block % 8 == 7 else 1
        y = net.swish(net.conv(net.swish(net.conv(x, channels, wide)), wide, wide, 3, stride, wide))
        gate = net.swish(net.conv(net.add("GlobalAveragePool", y), wide, wide // 8))
        y = net.add("Mul", y, net.add("Sigmoid", net.conv(gate, wide // 8, wide)))
        y = net.conv(y, wide, outputs)
        x = net.add("Add", x, y) if (outputs, stride) == (channels, 1) else y
        channels = outputs
    return net.model(x)


def nasnet(cells: int = 6) -> onnx.ModelProto:
    """Cells of separable convolutions and pools of what the two cells before give."""
    net = Network()
    x = before = net.conv("x", 3, 32, 3, 2)
    channels = channels_before = 32

    def separable(value: str, width: int, kernel: int) -> str:
        for _ in range(2):
            value = net.conv(net.conv(net.add("Relu", value), width, width, kernel, 1, width), width, width)
        return value

    for cell in range(cells):
        width = 16 + 8 * (cell // 4)
        left = net.conv(net.add("Relu", x), channels, width)
        right = net.conv(net.add("Relu", before), channels_before, width)
        window = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [1, 1]}
        parts = [
            right,
            net.add("Add", separable(left, width, 5), separable(right, width, 3)),
            net.add("Add", separable(right, width, 5), separable(right, width, 3)),
            net.add("Add", net.add("AveragePool", left, **window), right),
            net.add("Add", separable(left, width, 3), left),
        ]
        before, channels_before = x, channels
        x, channels = net.add("Concat", *parts, axis=1), 5 * width
    return net.model(x)


def mobilenet(blocks: int = 12) -> onnx.ModelProto:
    """Inverted bottlenecks with relus."""
    net = Network()
    x, channels = net.add("Relu", net.conv("x", 3, 16, 3, 2)), 16
    for block in range(blocks):
        outputs, wide = 16 + 8 * (block // 2), channels * 6
        y = net.add("Relu", net.conv(x, channels, wide))
        y = net.conv(net.add("Relu", net.conv(y, wide, wide, 3, 1, wide)), wide, outputs)
        x = net.add("Add", x, y) if outputs == channels else y
        channels = outputs
    return net.model(x)


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "efficientnet": efficientnet,
    "nasnet": nasnet,
    "mobilenet": mobilenet,
}


class Images(quantization.CalibrationDataReader):
    """Two random images."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self.images = [{"x": random.standard_normal(IMAGE).astype(np.float32)} for _ in range(2)]

    def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
        return self.images.pop() if self.images else None


def ratio(models: Sequence[Path], rounds: int, source: Path) -> list[float]:
    """Median seconds of each model, compiled in turns in processes with a cache of their own."""
    times: list[list[float]] = [[] for _ in models]
    for _ in range(rounds):
        for model, taken in zip(models, times, strict=True):
            with tempfile.TemporaryDirectory() as cache:
                taken.append(seconds(CPU, cache, str(model), source=source))
    return [median(taken) for taken in times]


def main(rounds: int, sources: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, network in NETWORKS.items():
            models = [Path(folder, f"{name}.onnx"), Path(folder, f"{name}.int8.onnx")]
            models[0].write_bytes(network().SerializeToString())
            quantization.quantize_static(*models, Images(), per_channel=True)
            for source in sources:
                floats, integers = ratio(models, rounds, source)
                where = "" if source == OURS else f" ({source})"
                print(
                    f"{name}: floats {floats:.2f} s, int8 {integers:.2f} s, {integers / floats:.2f}x{where}", flush=True
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3, [*map(Path, sys.argv[2:]), OURS])
