"""Attribution is true: change one layer, and exactly what names it changes.

Other weights change the constants that `where` names, and no kernel; another attribute or operator changes the kernels
that it names. Both ways: nothing else changes, and nothing named stays as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import whence
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.transform import LayoutTransformOp
from whence.explorer.code import kernel_of
from whence.explorer.layers import functions, snapshot
from whence.frontends.onnx import from_onnx
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.slots import anonymous
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline, run_passes

Array = NDArray[Any]


class Graph:
    """Builds a model layer by layer; weights are random, layers and tensors have names of their own."""

    def __init__(self, *shape: int):
        self.rng = np.random.default_rng(7)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, Array] = {}
        self.shape = shape

    def __call__(self, kind: str, name: str, *inputs: str | Array, **attributes: Any) -> str:
        """Add a layer; arrays become its weights. The name of its output."""
        names: list[str] = []
        for place, given in enumerate(inputs):
            if isinstance(given, np.ndarray):
                self.weights[f"{name}_w{place}"] = given
                given = f"{name}_w{place}"
            names.append(given)
        self.nodes.append(helper.make_node(kind, names, [f"{name}_out"], name, **attributes))
        return f"{name}_out"

    def random(self, *shape: int) -> Array:
        return (self.rng.standard_normal(shape) / 4).astype(np.float32)

    def positive(self, *shape: int) -> Array:
        return self.rng.uniform(0.5, 1.5, shape).astype(np.float32)

    def conv(self, name: str, x: str, inputs: int, outputs: int, *, bias: bool = False, **attributes: Any) -> str:
        groups = attributes.get("group", 1)
        weights = [self.random(outputs, inputs // groups, 3, 3), *([self.random(outputs)] if bias else [])]
        return self("Conv", name, x, *weights, pads=[1, 1, 1, 1], **attributes)

    def norm(self, name: str, x: str, channels: int) -> str:
        scale, shift, mean, var = (make(channels) for make in (self.positive, self.random, self.random, self.positive))
        return self("BatchNormalization", name, x, scale, shift, mean, var)

    def finish(self, result: str) -> ModelProto:
        value = helper.make_tensor_value_info
        weights = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        ends = [value("x", TensorProto.FLOAT, self.shape)], [value(result, TensorProto.FLOAT, None)]
        model = helper.make_model(helper.make_graph(self.nodes, "net", *ends, weights), ir_version=8)
        model.opset_import[0].version = 13
        return cast(Any, onnx).shape_inference.infer_shapes(model)


def residual() -> ModelProto:
    """Convolutions with batch norms, a residual, poolings and a classifier."""
    net = Graph(1, 3, 12, 12)
    x = net("Relu", "relu1", net.norm("bn1", net.conv("conv1", "x", 3, 16), 16))
    x = skip = net("MaxPool", "pool1", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net("LeakyRelu", "leaky2", net.norm("bn2", net.conv("conv2", x, 16, 16, bias=True), 16), alpha=0.1)
    x = net.norm("bn3", net.conv("conv3", x, 16, 16), 16)
    x = net("Relu", "relu3", net("Add", "sum", x, skip))
    x = net("Relu", "relu4", net.norm("bn4", net.conv("dw4", x, 16, 16, group=16), 16))
    x = net("AveragePool", "pool4", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net("Sigmoid", "sigmoid5", net.conv("conv5", x, 16, 32, bias=True))
    x = net("Flatten", "flat", net("GlobalAveragePool", "pool5", x))
    x = net("Relu", "relu6", net("Gemm", "fc6", x, net.random(24, 32), net.random(24), transB=1))
    x = net("Gemm", "fc7", x, net.random(24, 10), net.random(10))
    return net.finish(net("Softmax", "softmax", x, axis=1))


def branching() -> ModelProto:
    """Branches that meet, factors and biases by hand, a gate, batch norms before convolutions."""
    net = Graph(1, 16, 8, 8)
    x = net("Relu", "relu0", net.norm("bn0", "x", 16))
    left = net("Relu", "left_relu", net.conv("left", x, 16, 16, bias=True))
    right = net("Mul", "right_scale", net.conv("right", x, 16, 16), net.positive(1, 16, 1, 1))
    right = net("LeakyRelu", "right_leaky", net("Add", "right_shift", right, net.random(1, 16, 1, 1)), alpha=0.2)
    x = net("Concat", "join", left, right, axis=1)
    gate = net("Sigmoid", "gate", net("GlobalAveragePool", "squeeze", x))
    x = net("Mul", "gated", x, gate)
    x = net("Tanh", "tanh", net.norm("bn1", net.conv("merge", x, 32, 16), 16))
    x = net("Softplus", "soft", net("Sub", "minus", x, net.random(1, 16, 1, 1)))
    x = net("Flatten", "flat", net("MaxPool", "pool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = net("MatMul", "dense", x, net.random(256, 16))
    return net.finish(net("Mul", "scale", net("Add", "bias", x, net.random(16)), net.positive(16)))


NETWORKS: dict[str, Callable[[], ModelProto]] = {"residual": residual, "branching": branching}


@dataclass(frozen=True)
class Built:
    """What a model became."""

    exe: whence.Executable
    constants: dict[str, Array]
    """Name in the main function -> value."""
    code: dict[str, tuple[str, bytes]]
    """Call -> TIR and object code of its kernel."""


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """Name in the main function -> value."""
    ops = [op for op in functions(module)["main"].block.ops if isinstance(op, ConstantOp)]
    found = {op.key.data if op.key is not None else str(op.result.name_hint): op.value(module) for op in ops}
    assert len(found) == len(ops)
    return found


def build(model: ModelProto) -> Built:
    exe = whence.compile(model, audit=True)
    kernels = {call.name: kernel_of(exe.artifact, call.kernel) for call in exe.artifact.calls}
    code = {name: (kernel.tir, kernel.object) for name, kernel in kernels.items()}
    return Built(exe, constants_of(snapshot(exe.artifact, "fused")), code)


@cache
def built(network: str) -> Built:
    return build(NETWORKS[network]())


def fused(model: ModelProto) -> tuple[ModuleOp, list[FuncOp]]:
    """A model after all relay passes, and the function of each call: kernels are made of these, and of nothing else."""
    module = from_onnx(model)
    run_passes(module, relay_pipeline(3, Target.native().hardware), audit=True)
    found = functions(module)
    calls = [op.callee.string_value() for op in found["main"].block.ops if isinstance(op, CallOp)]
    return module, [found[call] for call in calls]


@cache
def before(network: str) -> tuple[dict[str, Array], list[str]]:
    """The constants of a network, and the functions of its calls as text."""
    module, called = fused(NETWORKS[network]())
    return constants_of(module), [printed(anonymous(func)) for func in called]


def weights_of(model: ModelProto) -> Iterable[tuple[str, str]]:
    """(layer, weight)."""
    names = {tensor.name for tensor in model.graph.initializer}
    return ((node.name, name) for node in model.graph.node for name in node.input if name in names)


WEIGHTS = [(network, *pair) for network, make in NETWORKS.items() for pair in weights_of(make())]


def changed_by(network: str, weight: str) -> set[str]:
    """The constants that other values of a weight change; they change nothing else."""
    model = NETWORKS[network]()
    (tensor,) = (tensor for tensor in model.graph.initializer if tensor.name == weight)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.5), weight))
    module, called = fused(model)
    old, kernels = before(network)
    new = constants_of(module)
    assert [printed(anonymous(func)) for func in called] == kernels
    assert old.keys() == new.keys()
    return {name for name, value in old.items() if not np.array_equal(value, new[name])}


LAYERS = sorted({(network, layer) for network, layer, _ in WEIGHTS})


@pytest.mark.parametrize(("network", "layer"), LAYERS)
def test_other_weights_change_the_constants_that_name_them_and_no_kernel(network: str, layer: str):
    exe, of_layer = built(network).exe, set[str]()
    for one, other, weight in WEIGHTS:
        if (one, other) == (network, layer):
            constants = changed_by(network, weight)
            assert constants == {param.name for param in exe.where(f"{layer}.{weight}").params}, weight
            of_layer |= constants
    assert of_layer == {param.name for param in exe.where(layer).params}


@dataclass(frozen=True)
class Other:
    """Another operator or other attributes for a layer."""

    network: str
    layer: str
    kind: str | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


OTHERS = [
    *(Other("residual", name, "Tanh") for name in ("relu1", "leaky2", "relu3", "sigmoid5", "relu6")),
    Other("residual", "leaky2", None, (("alpha", 0.3),)),
    Other("residual", "pool1", "AveragePool"),
    Other("residual", "pool4", "MaxPool"),
    Other("residual", "pool5", "GlobalMaxPool"),
    Other("residual", "sum", "Sub"),
    Other("residual", "conv2", None, (("pads", (2, 0, 0, 2)),)),
    Other("residual", "conv3", None, (("pads", (0, 1, 2, 1)),)),
    Other("residual", "dw4", None, (("pads", (2, 2, 0, 0)),)),
    Other("residual", "conv5", None, (("pads", (2, 2, 0, 0)),)),
    *(Other("branching", name, "Sigmoid") for name in ("relu0", "left_relu", "right_leaky", "tanh", "soft")),
    Other("branching", "gate", "Tanh"),
    Other("branching", "gated", "Add"),
    Other("branching", "squeeze", "GlobalMaxPool"),
    Other("branching", "pool", "AveragePool"),
    Other("branching", "left", None, (("pads", (2, 0, 0, 2)),)),
    Other("branching", "merge", None, (("pads", (0, 1, 2, 1)),)),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: f"{other.network}-{other.layer}-{other.kind}")
def test_another_operator_changes_the_kernels_that_name_its_layer(other: Other):
    model = NETWORKS[other.network]()
    (node,) = (node for node in model.graph.node if node.name == other.layer)
    if other.kind is not None:
        node.op_type = other.kind
        if other.layer in ("leaky2", "right_leaky"):
            del node.attribute[:]
    for name, value in other.attributes:
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])
    first, after = built(other.network), build(model)
    old, new = list(first.code.values()), list(after.code.values())
    assert len(old) == len(new)
    calls = {name for name, one, two in zip(first.code, old, new, strict=True) if one != two}
    # A transform that the layer asked for moves the same elements whatever the layer computes.
    named = [part for part in first.exe.where(other.layer).kernels if set(part.operators) != {LayoutTransformOp.name}]
    assert calls == {part.call for part in named}
    assert all(
        np.array_equal(one, two) for one, two in zip(first.constants.values(), after.constants.values(), strict=True)
    )


@cache
def operators_before(network: str) -> Counter[str]:
    return operators(NETWORKS[network]())


def operators(model: ModelProto) -> Counter[str]:
    """The operators of all kernels that a model becomes, by name."""
    return Counter(op.name for func in fused(model)[1] for op in func.block.ops if isinstance(op, Operator))


REMOVED = [
    *(("residual", name) for name in ("bn1", "relu1", "bn2", "leaky2", "bn3", "relu3", "bn4", "relu4", "sigmoid5")),
    *(("residual", name) for name in ("relu6", "softmax")),
    *(("branching", name) for name in ("bn0", "relu0", "left_relu", "right_scale", "right_shift", "right_leaky")),
    *(("branching", name) for name in ("gate", "bn1", "tanh", "soft", "minus", "bias", "scale")),
]


@pytest.mark.parametrize(("network", "layer"), REMOVED)
def test_without_a_layer_the_operators_that_name_it_are_gone(network: str, layer: str):
    model = NETWORKS[network]()
    (node,) = (node for node in model.graph.node if node.name == layer)
    model.graph.node.remove(node)
    for other in model.graph.node:
        other.input[:] = [node.input[0] if name == node.output[0] else name for name in other.input]
    for output in model.graph.output:
        output.name = node.input[0] if output.name == node.output[0] else output.name
    named = Counter(name for part in built(network).exe.where(layer).kernels for name in part.operators)
    assert operators_before(network) - operators(model) == named
