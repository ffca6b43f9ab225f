"""Networks by script: MobileNetV1 and V2 and ResNet-50 in float and int8, with weights at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tflite_builder import Net, Quant

STAGES: Sequence[tuple[int, int]] = (
    *((1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512)),
    *[(1, 512)] * 5,
    *((2, 1024), (1, 1024)),
)
"""Stride and outputs of each pair of a depthwise and a pointwise convolution."""
_NONE, _RELU, _RELU6 = 0, 1, 3
_RANGES = {_NONE: Quant(16 / 255, 0), _RELU: Quant(8 / 255, -128), _RELU6: Quant(6 / 255, -128)}
"""Activation -> the scale of int8 results."""


class _Builder:
    """A network under construction: `x`, of `size` pixels and `channels`, is the last tensor."""

    def __init__(self, size: int, width: float, integers: bool):
        self.rng, self.net = np.random.default_rng(0), Net()
        self.size, self.channels, self.width, self.integers = size, 3, width, integers
        self.quant = Quant(0.0078, -1) if integers else None
        self.power = 0.33
        """About the mean square of `x`."""
        self.x = self.net.input("input", (1, size, size, 3), self.dtype, self.quant)

    @property
    def dtype(self) -> str:
        return "int8" if self.integers else "float32"

    def weight(self, name: str, shape: tuple[int, ...], axis: int, taps: int, power: float = 1.0) -> list[int]:
        """A weight and a bias, one number for each index of `axis`; power: about that of the results."""
        count, spread = shape[axis], float(np.sqrt(power / (self.power * taps)))
        if self.quant is None:
            w = self.net.const(f"{name}/weight", (self.rng.standard_normal(shape) * spread).astype(np.float32))
            return [w, self.net.const(f"{name}/bias", (self.rng.standard_normal(count) * 0.1).astype(np.float32))]
        scales = (self.rng.uniform(0.5, 1, count) * spread / 56).astype(np.float32)
        values = self.rng.integers(-127, 128, shape).astype(np.int8)
        w = self.net.const(f"{name}/weight", values, Quant(scales.tolist(), [0] * count, axis))
        addends = self.rng.integers(-500, 500, count).astype(np.int32)
        both = np.asarray(self.quant.scale, np.float32) * scales
        return [w, self.net.const(f"{name}/bias", addends, Quant(both.tolist(), [0] * count))]

    def convolution(
        self, name: str, outputs: int, kernel: int, stride: int, depthwise: bool = False, act: int = _RELU6
    ) -> None:
        depth = 1 if depthwise else self.channels
        shape = (1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, depth)
        # What is added to a shortcut is smaller, lest sums grow.
        weights = self.weight(name, shape, 3 if depthwise else 0, kernel * kernel * depth, 1 if act else 0.5)
        inputs = [self.x, *weights]
        self.size, self.channels = -(-self.size // stride), outputs
        quant = self._result(name, act)
        fields: dict[str, Any] = {"strideH": stride, "strideW": stride, "fusedActivationFunction": act}
        if depthwise:
            self.net.op("DEPTHWISE_CONV_2D", inputs, [self.x], "DepthwiseConv2DOptions", 3, depthMultiplier=1, **fields)
        else:
            self.net.op("CONV_2D", inputs, [self.x], "Conv2DOptions", 3, **fields)
        self.quant = quant

    def _result(self, name: str, act: int) -> Quant | None:
        """Make `x` a tensor of the present size; returns its scale."""
        self.power = 0.5 if act != _NONE else 1.0
        quant = _RANGES[act] if self.integers else None
        self.x = self.net.tensor(name, (1, self.size, self.size, self.channels), self.dtype, quant)
        return quant

    def add(self, name: str, other: int, act: int = _NONE) -> None:
        inputs = [self.x, other]
        self.quant = self._result(name, act)
        self.power = 1.5 if act else 1.0
        self.net.op("ADD", inputs, [self.x], "AddOptions", 2, fusedActivationFunction=act)

    def pool(self, name: str) -> None:
        """The maximum of 3x3, every other pixel; scales stay."""
        before, self.size = self.x, -(-self.size // 2)
        self.x = self.net.tensor(name, (1, self.size, self.size, self.channels), self.dtype, self.quant)
        fields: dict[str, Any] = {"strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
        self.net.op("MAX_POOL_2D", [before], [self.x], "Pool2DOptions", 2, **fields)

    def head(self, classes: int) -> bytes:
        axes = self.net.const("axes", np.array([1, 2], np.int32))
        mean = self.net.tensor("mean", (1, self.channels), self.dtype, self.quant)
        self.net.op("MEAN", [self.x, axes], [mean], "ReducerOptions", 2, keepDims=False)
        weights = self.weight("logits", (classes, self.channels), 0, self.channels)
        if self.integers:
            # Fully connected layers have one scale: one by which some classes are far ahead of the others.
            self.net.tensors[weights[0]].quantization.scale = np.array([self.channels**-0.5 / 12], np.float32)
            self.net.tensors[weights[0]].quantization.zeroPoint = np.array([0], np.int64)
        logits = self.net.tensor("logits", (1, classes), self.dtype, Quant(0.2, 3) if self.integers else None)
        self.net.op("FULLY_CONNECTED", [mean, *weights], [logits], "FullyConnectedOptions", 4)
        quant = Quant(1 / 256, -128) if self.integers else None
        found = self.net.tensor("probabilities", (1, classes), self.dtype, quant)
        self.net.op("SOFTMAX", [logits], [found], "SoftmaxOptions", 2, beta=1.0)
        return self.net.build([found])


def mobilenet(
    size: int = 224,
    width: float = 1.0,
    integers: bool = False,
    stages: Sequence[tuple[int, int]] = STAGES,
    classes: int = 1000,
) -> bytes:
    """MobileNetV1, of `width` times the channels, for images of `size` pixels."""
    made = _Builder(size, width, integers)
    made.convolution("conv", int(32 * width), 3, 2)
    for at, (stride, outputs) in enumerate(stages):
        made.convolution(f"depthwise{at}", made.channels, 3, stride, depthwise=True)
        made.convolution(f"pointwise{at}", int(outputs * width), 1, 1)
    return made.head(classes)


def mobilenet_v2(size: int = 224, integers: bool = False, classes: int = 1000) -> bytes:
    net = _Builder(size, 1.0, integers)
    net.convolution("conv", 32, 3, 2)
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, outputs, count, stride in rows:
        for block in range(count):
            name, x, entry = f"block{outputs}.{block}", net.x, net.channels
            if factor > 1:
                net.convolution(f"{name}/expand", factor * entry, 1, 1)
            net.convolution(f"{name}/depthwise", net.channels, 3, 1 if block else stride, depthwise=True)
            net.convolution(f"{name}/project", outputs, 1, 1, act=_NONE)
            if block:
                net.add(f"{name}/add", x)
    net.convolution("last", 1280, 1, 1)
    return net.head(classes)


def resnet50(
    size: int = 224, integers: bool = False, depths: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> bytes:
    net = _Builder(size, 1.0, integers)
    net.convolution("conv", 64, 7, 2, act=_RELU)
    net.pool("pool")
    for stage, depth in enumerate(depths):
        for block in range(depth):
            name, entry = f"stage{stage}.{block}", (net.x, net.size, net.channels, net.quant)
            inner, stride = 64 << stage, 2 if stage and not block else 1
            net.convolution(f"{name}/a", inner, 1, 1, act=_RELU)
            net.convolution(f"{name}/b", inner, 3, stride, act=_RELU)
            net.convolution(f"{name}/c", 4 * inner, 1, 1, act=_NONE)
            branch, shortcut = net.x, entry[0]
            if not block:
                net.x, net.size, net.channels, net.quant = entry
                net.convolution(f"{name}/shortcut", 4 * inner, 1, stride, act=_NONE)
                shortcut = net.x
            net.x = branch
            net.add(f"{name}/add", shortcut, _RELU)
    return net.head(classes)
