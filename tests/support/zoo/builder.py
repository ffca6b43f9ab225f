"""A network under construction, in the manner of torch's exporter, with weights that keep activations in range."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from random_weights import normal

Array = NDArray[Any]
Extent = int | str
_SHARES = {"GlobalAveragePool": 0.3, "ReduceMean": 0.3, "AveragePool": 0.4, "MaxPool": 0.7, "Softmax": 0.01}
"""Operator -> variance of its result, per variance of its input."""
_LARGEST = 0.8
"""How far the mean of the largest is above the mean of all, in deviations."""
_NORMALISES = ("LayerNormalization", "InstanceNormalization")
_POINTS, _MASSES = np.polynomial.hermite_e.hermegauss(64)
_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky": lambda x: np.where(x < 0, 0.1 * x, x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "gelu": lambda x: x / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))),
}
_GATES = ("silu", "sigmoid", "hardsigmoid", "hardswish", "tanh")
_EVERY = 16
"""One output in so many is saturated by a network's saturating version, and one other denormal."""


class Built(NamedTuple):
    """A model, and inputs for it by name."""

    model: onnx.ModelProto
    inputs: dict[str, Array]


class Net:
    """Nodes, weights and inputs of a network.

    `widths` has the channels of a tensor, `powers` and `means` estimates of its mean square and its mean, as of normal
    numbers, by which weights are drawn: the result of every convolution and product has a mean square near 1. A
    saturating network has gates at +-100, rows of denormal weights, and masks of half the keys.
    """

    def __init__(self, name: str, opset: int = 17, keeps_norms: bool = False, saturating: bool = False, seed: int = 0):
        self.name, self.opset, self.keeps_norms, self.saturating = name, opset, keeps_norms, saturating
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.feeds: dict[str, Array] = {}
        self.widths: dict[str, int] = {}
        self.powers: dict[str, float] = {}
        self.means: dict[str, float] = {}
        self.scopes: list[str] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    # Inputs, constants and nodes

    @contextmanager
    def scope(self, name: object) -> Generator[None]:
        """Name the nodes of the scope below `name`."""
        self.scopes.append(str(name))
        yield
        self.scopes.pop()

    def _name(self, word: str) -> str:
        return "/".join(["", *self.scopes, f"{word}_{len(self.nodes) + len(self.weights)}"])

    def _is(self, name: str, width: int, power: float, mean: float = 0.0) -> str:
        self.widths[name], self.powers[name], self.means[name] = width, power, mean
        return name

    def _deviation(self, x: str) -> float:
        return max(self.powers[x] - self.means[x] ** 2, 1e-6) ** 0.5

    def _declare(self, name: str, values: Array, shape: Sequence[Extent], axis: int) -> str:
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        self.feeds[name] = values
        return self._is(name, values.shape[axis], 1.0)

    def input(self, name: str, shape: Sequence[int], axis: int = 1, symbols: Sequence[Extent] = ()) -> str:
        """A float input of normal values. symbols: the extents that the model declares, if not those of `shape`."""
        values = self.rng.standard_normal(tuple(shape), np.float32)
        return self._declare(name, values, symbols or shape, axis)

    def ids(self, name: str, shape: Sequence[int], high: int, symbols: Sequence[Extent] = ()) -> str:
        """An int64 input of values below `high`."""
        return self._declare(name, self.rng.integers(0, high, tuple(shape)), symbols or shape, -1)

    def mask(self, name: str, shape: Sequence[int], symbols: Sequence[Extent] = ()) -> str:
        """An int64 input of ones; of zeros from the middle of each row on where the network is saturating."""
        values = np.ones(tuple(shape), np.int64)
        if self.saturating:
            values[..., shape[-1] // 2 :] = 0
        return self._declare(name, values, symbols or shape, -1)

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """A small constant; equal ones are one."""
        array: Array = np.asarray(values, dtype)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.tensor("constant", array)
        return self.constants[key]

    def whole(self, *values: int) -> str:
        """A constant vector of int64."""
        return self.constant(values, np.int64)

    def tensor(self, word: str, values: Array) -> str:
        name = self._name(word)
        self.weights.append(numpy_helper.from_array(values, name))
        return self._is(name, values.shape[-1] if values.ndim else 1, float(np.mean(np.square(values, dtype=float))))

    def weight(self, word: str, shape: Sequence[int], deviation: float, axis: int | None = None) -> str:
        """Normal weights. axis: that of outputs, of which a saturating network has some denormal."""
        values = normal(self.rng, tuple(shape), deviation)
        if self.saturating and axis is not None:
            np.moveaxis(values, axis, 0)[_EVERY - 1 :: _EVERY] *= np.float32(1e-39)
        return self.tensor(word, values)

    def several(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """A node of `count` results, of the width and power of its first input."""
        name, first = self._name(op), next((i for i in inputs if i), "")
        domain = "com.microsoft" if op in ("MatMulNBits", "QuickGelu") else ""
        results = [f"{name}_output_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), results, name, domain=domain, **attributes))
        power, mean = self.powers.get(first, 1.0), self.means.get(first, 0.0)
        if op in _NORMALISES:
            power, mean = 1.0, 0.0
        elif op in _SHARES:
            mean += _LARGEST * self._deviation(first) * (op == "MaxPool")
            power = mean**2 + _SHARES[op] * self._deviation(first) ** 2
        return [self._is(result, self.widths.get(first, 1), power, mean) for result in results]

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node of one result."""
        return self.several(op, inputs, 1, **attributes)[0]

    def add(self, x: str, y: str) -> str:
        power = self.powers[x] + self.powers[y] + 2 * self.means[x] * self.means[y]
        mean = self.means[x] + self.means[y]
        return self._is(self.node("Add", x, y), max(self.widths[x], self.widths[y]), power, mean)

    def mul(self, x: str, y: str) -> str:
        power, mean = self.powers[x] * self.powers[y], self.means[x] * self.means[y]
        return self._is(self.node("Mul", x, y), max(self.widths[x], self.widths[y]), power, mean)

    def concat(self, inputs: Sequence[str], axis: int = 1, joins_channels: bool = True) -> str:
        width = sum(self.widths[x] for x in inputs) if joins_channels else self.widths[inputs[0]]
        total = sum(self.widths[x] for x in inputs)
        power, mean = (sum(kept[x] * self.widths[x] for x in inputs) / total for kept in (self.powers, self.means))
        return self._is(self.node("Concat", *inputs, axis=axis), width, power, mean)

    def split(self, x: str, sizes: Sequence[int], axis: int = 1) -> list[str]:
        parts = self.several("Split", [x, self.whole(*sizes)], len(sizes), axis=axis)
        return [self._is(part, size, self.powers[x], self.means[x]) for part, size in zip(parts, sizes, strict=True)]

    def slice(self, x: str, start: int, end: int, axis: int, step: int = 1) -> str:
        ends = [self.whole(number) for number in (start, end, axis, step)]
        return self.node("Slice", x, *ends)

    def extent(self, x: str, axis: int) -> str:
        """The extent of an axis, as the exporter reads it where sizes are open."""
        return self.node("Gather", self.node("Shape", x), self.constant(axis, np.int64), axis=0)

    def reshape(self, x: str, *extents: int | str, width: int = 0) -> str:
        """Reshape to ints and scalars that `extent` gave."""
        if all(isinstance(extent, int) for extent in extents):
            shape = self.whole(*cast(Sequence[int], extents))
        else:
            parts = [self.whole(e) if isinstance(e, int) else self._vector(e) for e in extents]
            shape = self.node("Concat", *parts, axis=0)
        return self.reshaped(x, shape, width)

    def reshaped(self, x: str, shape: str, width: int = 0) -> str:
        """Reshape to a shape that nodes compute."""
        return self._is(self.node("Reshape", x, shape), width or self.widths[x], self.powers[x], self.means[x])

    def _vector(self, scalar: str) -> str:
        return self.node("Unsqueeze", scalar, self.whole(0))

    def transpose(self, x: str, *perm: int) -> str:
        return self.node("Transpose", x, perm=perm)

    # Layers

    def act(self, x: str, kind: str) -> str:
        """An activation as exporters spell it; `x` itself for an empty kind."""
        if not kind:
            return x
        values = _ACTIVATIONS[kind.removesuffix("_tanh")](self.means[x] + self._deviation(x) * _POINTS)
        mean, power = (float(_MASSES @ column / _MASSES.sum()) for column in (values, values**2))
        return self._is(self._activation(x, kind), self.widths[x], power, mean)

    def _activation(self, x: str, kind: str) -> str:
        match kind:
            case "silu":
                return self.node("Mul", x, self.node("Sigmoid", x))
            case "relu6":
                return self.node("Clip", x, self.constant(0.0), self.constant(6.0))
            case "gelu":
                erf = self.node("Erf", self.node("Div", x, self.constant(2**0.5)))
                product = self.node("Mul", x, self.node("Add", erf, self.constant(1.0)))
                return self.node("Mul", product, self.constant(0.5))
            case "gelu_tanh":
                cube = self.node("Mul", self.node("Pow", x, self.constant(3.0)), self.constant(0.044715))
                inner = self.node("Mul", self.node("Add", x, cube), self.constant((2 / np.pi) ** 0.5))
                factor = self.node("Add", self.node("Tanh", inner), self.constant(1.0))
                half = self.node("Mul", x, self.constant(0.5))
                return self.node("Mul", half, factor)
            case "leaky":
                return self.node("LeakyRelu", x, alpha=0.1)
            case "hardsigmoid":
                return self.node("HardSigmoid", x, alpha=1 / 6)
            case _:
                names = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "hardswish": "HardSwish"}
                return self.node(names[kind], x)

    def bias(self, width: int, act: str = "", offset: float = 0.0) -> str:
        values = normal(self.rng, (width,), 0.1) + np.float32(offset)
        if self.saturating and act in _GATES and width >= _EVERY:
            values[::_EVERY], values[1::_EVERY] = 100, -100
        return self.tensor("bias", values)

    def batch_norm(self, x: str, act: str = "") -> str:
        width = self.widths[x]
        scale = self.tensor("scale", self.rng.uniform(0.8, 1.2, width).astype(np.float32))
        mean = self.weight("mean", (width,), 0.1)
        spread = self.rng.uniform(0.7, 1.3, width) * self.powers[x]
        variance = self.tensor("variance", spread.astype(np.float32))
        result = self.node("BatchNormalization", x, scale, self.bias(width, act), mean, variance, epsilon=1e-5)
        return self.act(self._is(result, width, 1.0), act)

    def conv(
        self,
        x: str,
        outputs: int,
        kernel: int | Sequence[int] = 1,
        stride: int | Sequence[int] = 1,
        *,
        act: str = "",
        groups: int = 1,
        dilation: int = 1,
        padding: int | None = None,
        norm: bool = True,
        offset: float = 0.0,
    ) -> str:
        """A convolution with a norm, folded into it unless the network keeps norms, or with a bias alone.

        kernel: an extent of each spatial axis, one int for two equal ones. stride: of each axis, or of all. offset:
        added to the bias.
        """
        window = [kernel, kernel] if isinstance(kernel, int) else list(kernel)
        fan = self.widths[x] // groups * prod(window)
        shape = (outputs, self.widths[x] // groups, *window)
        weight = self.weight("weight", shape, (fan * self.powers[x]) ** -0.5, 0)
        pads = [(extent - 1) * dilation // 2 if padding is None else padding for extent in window]
        axes = len(window)
        keeps = norm and self.keeps_norms
        result = self.node(
            "Conv",
            *(x, weight),
            *([] if keeps else [self.bias(outputs, act, offset)]),
            kernel_shape=window,
            strides=[stride] * axes if isinstance(stride, int) else list(stride),
            pads=pads * 2,
            dilations=[dilation] * axes,
            group=groups,
        )
        self._is(result, outputs, 1.0 + offset**2, offset)
        return self.batch_norm(result, act) if keeps else self.act(result, act)

    def deconv(self, x: str, outputs: int, kernel: int, stride: int, axes: int = 2, act: str = "") -> str:
        """A transposed convolution that makes each axis `stride` times as long."""
        taps = self.widths[x] * max(kernel // stride, 1) ** axes
        weight = self.weight("weight", (self.widths[x], outputs, *[kernel] * axes), (taps * self.powers[x]) ** -0.5, 1)
        pads = [(kernel - stride) // 2] * (2 * axes)
        inputs = [x, weight, self.bias(outputs, act)]
        strides = [stride] * axes
        result = self.node("ConvTranspose", *inputs, kernel_shape=[kernel] * axes, strides=strides, pads=pads)
        return self.act(self._is(result, outputs, 1.0), act)

    def pool(
        self, x: str, kernel: int, stride: int, padding: int = 0, kind: str = "MaxPool", ceil: bool = False
    ) -> str:
        attributes = {"ceil_mode": 1} if ceil else {}
        return self.node(kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4, **attributes)

    def linear(self, x: str, outputs: int, *, act: str = "", bias: bool = True, gain: float = 1.0) -> str:
        """x @ w + b over the last axis, as MatMul and Add. gain: the deviation of the result."""
        width = self.widths[x]
        weight = self.weight("weight", (width, outputs), gain * (width * self.powers[x]) ** -0.5, 1)
        result = self._is(self.node("MatMul", x, weight), outputs, gain**2)
        if bias:
            result = self._is(self.node("Add", self.bias(outputs, act), result), outputs, gain**2)
        return self.act(result, act)

    def gemm(self, x: str, outputs: int, *, act: str = "", transposed: bool = True) -> str:
        """A dense layer of a matrix, as Gemm."""
        width = self.widths[x]
        shape, axis = ((outputs, width), 0) if transposed else ((width, outputs), 1)
        weight = self.weight("weight", shape, (width * self.powers[x]) ** -0.5, axis)
        result = self.node("Gemm", x, weight, self.bias(outputs, act), transB=int(transposed))
        return self.act(self._is(result, outputs, 1.0), act)

    def layer_norm(self, x: str, epsilon: float = 1e-5, decomposed: bool = False) -> str:
        """The norm of the last axis: the operator, or what exporters before opset 17 wrote."""
        width = self.widths[x]
        scale = self.tensor("scale", self.rng.uniform(0.8, 1.2, width).astype(np.float32))
        if not decomposed:
            return self.node("LayerNormalization", x, scale, self.bias(width), axis=-1, epsilon=epsilon)
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        variance = self.node("ReduceMean", self.node("Pow", centred, self.constant(2.0)), axes=[-1])
        spread = self.node("Sqrt", self.node("Add", variance, self.constant(epsilon)))
        scaled = self.node("Mul", self.node("Div", centred, spread), scale)
        return self._is(self.node("Add", scaled, self.bias(width)), width, 1.0)

    def rms_norm(self, x: str) -> str:
        """The norm of Llama, as its exporter writes it."""
        square = self.node("ReduceMean", self.node("Pow", x, self.constant(2.0)), axes=[-1])
        root = self.node("Sqrt", self.node("Add", square, self.constant(1e-6)))
        scaled = self.node("Mul", x, self.node("Div", self.constant(1.0), root))
        scale = self.tensor("scale", self.rng.uniform(0.8, 1.2, self.widths[x]).astype(np.float32))
        return self._is(self.node("Mul", scale, scaled), self.widths[x], 1.0)

    def group_norm(self, x: str, groups: int, act: str = "") -> str:
        """The norm of groups of channels [n, c, h, w], as the exporter writes it: by way of an instance norm."""
        width = self.widths[x]
        ones, zeros = self.constant(np.ones(groups)), self.constant(np.zeros(groups))
        shape = self.node("Shape", x)
        flat = self.node("Reshape", x, self.whole(0, groups, -1))
        normed = self.node("InstanceNormalization", flat, ones, zeros, epsilon=1e-5)
        back = self.node("Reshape", normed, shape)
        scale = self.tensor("scale", self.rng.uniform(0.8, 1.2, (width, 1, 1)).astype(np.float32))
        offset = self.weight("bias", (width, 1, 1), 0.1)
        result = self.node("Add", self.node("Mul", back, scale), offset)
        return self.act(self._is(result, width, 1.0), act)

    def global_pool(self, x: str) -> str:
        """The mean of each channel [n, c]."""
        return self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)

    def resize(self, x: str, factor: int = 2, mode: str = "nearest") -> str:
        scales = self.constant([1, 1, factor, factor])
        if mode == "nearest":
            how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        else:
            how = {"coordinate_transformation_mode": "half_pixel"}
        return self.node("Resize", x, "", scales, mode=mode, **how)

    def squeeze(self, x: str, inner: int, act: str = "relu", gate: str = "sigmoid") -> str:
        """A gate of channels: squeeze and excitation."""
        pooled = self.node("GlobalAveragePool", x)
        hidden = self.conv(pooled, inner, act=act, norm=False)
        return self.mul(x, self.conv(hidden, self.widths[x], act=gate, norm=False, offset=1.0))

    def embedding(self, ids: str, words: int, width: int) -> str:
        return self._is(self.node("Gather", self.weight("embedding", (words, width), 1.0), ids), width, 1.0)

    def _model(self, inputs: Sequence[Any], outputs: Sequence[Any], weights: Sequence[TensorProto]) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, weights)
        opsets = [helper.make_opsetid("", self.opset)]
        if any(node.domain for node in self.nodes):
            opsets.append(helper.make_opsetid("com.microsoft", 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def build(self, *outputs: str) -> Built:
        """The model that computes `outputs`, whose types shape inference says; it needs no data of large weights."""
        large = [weight for weight in self.weights if prod(weight.dims) > 64]
        typed = [helper.make_tensor_value_info(weight.name, weight.data_type, list(weight.dims)) for weight in large]
        names = {weight.name for weight in large}
        untyped = [helper.make_empty_tensor_value_info(name) for name in outputs]
        bare = self._model(
            self.inputs + typed, untyped, [weight for weight in self.weights if weight.name not in names]
        )
        inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph.output
        return Built(self._model(self.inputs, list(inferred), self.weights), self.feeds)
