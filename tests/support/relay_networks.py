"""Networks of Relay, with few channels: expressions, whose weights are parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, f32

from whence.syntax.relay.expr import Call, Expr, Function, Op, Program, TupleGetItem, Var


def call(op: str, *args: Expr, **attrs: object) -> Expr:
    return Call(Op(op), list(args), attrs)


@dataclass
class Network:
    """A network under construction: its parameters so far."""

    params: list[Var] = field(default_factory=list[Var])

    def var(self, name: str, *shape: int) -> Var:
        self.params.append(Var(name, TensorType(f32, shape)))
        return self.params[-1]

    def conv(self, x: Expr, name: str, into: int, out: int, size: int = 3, stride: int = 1, groups: int = 1) -> Expr:
        weight = self.var(f"{name}_weight", out, into // groups, size, size)
        given: dict[str, object] = {"groups": groups} if groups > 1 else {}
        if stride > 1:
            given["strides"] = [stride, stride]
        padding = [size // 2] * 4
        return call("nn.conv2d", x, weight, padding=padding, channels=out, kernel_size=[size, size], **given)

    def norm(self, x: Expr, name: str, channels: int, epsilon: float = 2e-5) -> Expr:
        parts = [self.var(f"{name}_{part}", channels) for part in ("gamma", "beta", "moving_mean", "moving_var")]
        return TupleGetItem(call("nn.batch_norm", x, *parts, epsilon=epsilon), 0)

    def dense(self, x: Expr, name: str, into: int, out: int) -> Expr:
        weight, bias = self.var(f"{name}_weight", out, into), self.var(f"{name}_bias", out)
        return call("nn.bias_add", call("nn.dense", x, weight, units=out), bias, axis=-1)

    def program(self, body: Expr) -> Program:
        return Program({"main": Function(self.params, body)})


def relu(x: Expr) -> Expr:
    return call("nn.relu", x)


def resnet18() -> Program:
    """Four stages of two blocks; every block reads its input twice."""
    net = Network()
    x = net.conv(net.var("data", 1, 3, 32, 32), "conv0", 3, 4)
    width = 4
    for stage, channels in enumerate((4, 8, 8, 16)):
        for unit in range(2):
            name = f"stage{stage + 1}_unit{unit + 1}"
            stride = 2 if stage and not unit else 1
            act = relu(net.norm(x, f"{name}_bn1", width))
            same = stride == 1 and width == channels
            short = x if same else net.conv(act, f"{name}_sc", width, channels, 1, stride)
            inner = net.conv(act, f"{name}_conv1", width, channels, 3, stride)
            inner = relu(net.norm(inner, f"{name}_bn2", channels))
            x = call("add", net.conv(inner, f"{name}_conv2", channels, channels), short)
            width = channels
    x = call("nn.global_avg_pool2d", relu(net.norm(x, "bn1", width)))
    return net.program(call("nn.softmax", net.dense(call("nn.batch_flatten", x), "fc1", width, 10)))


def mobilenet() -> Program:
    """Depthwise and pointwise convolutions in turn."""
    net = Network()
    x = relu(net.norm(net.conv(net.var("data", 1, 3, 32, 32), "conv_1", 3, 4, 3, 2), "bn_1", 4))
    width = 4
    for index, (channels, stride) in enumerate([(8, 1), (8, 2), (8, 1), (16, 2), (16, 1)]):
        name = f"separable_{index + 1}"
        x = relu(net.norm(net.conv(x, f"{name}_depthwise", width, width, 3, stride, width), f"{name}_bn1", width))
        x = relu(net.norm(net.conv(x, f"{name}_pointwise", width, channels, 1), f"{name}_bn2", channels))
        width = channels
    x = call("nn.batch_flatten", call("nn.global_avg_pool2d", x))
    return net.program(call("nn.softmax", net.dense(x, "fc", width, 10)))


def dqn() -> Program:
    """Three convolutions without padding, two dense layers."""
    net = Network()
    x: Expr = net.var("data", 1, 4, 84, 84)
    for index, (into, out, size, stride) in enumerate([(4, 4, 8, 4), (4, 6, 4, 2), (6, 6, 3, 1)]):
        weight, bias = net.var(f"conv{index}_weight", out, into, size, size), net.var(f"conv{index}_bias", out)
        attrs = {"strides": [stride] * 2, "padding": [0] * 4, "channels": out, "kernel_size": [size, size]}
        x = relu(call("nn.bias_add", call("nn.conv2d", x, weight, **attrs), bias))
    x = relu(net.dense(call("nn.batch_flatten", x), "dense1", 6 * 7 * 7, 16))
    return net.program(net.dense(x, "dense2", 16, 18))


def dcgan() -> Program:
    """The generator: a dense layer, then transposed convolutions."""
    net = Network()
    x = call("nn.dense", net.var("data", 1, 10), net.var("dense_weight", 4 * 4 * 16, 10), units=4 * 4 * 16)
    x = relu(call("reshape", x, newshape=[-1, 16, 4, 4]))
    sizes: Sequence[tuple[int, int]] = [(16, 8), (8, 4), (4, 3)]
    for index, (into, out) in enumerate(sizes):
        weight = net.var(f"g{index}_weight", into, out, 4, 4)
        attrs = {"channels": out, "kernel_size": [4, 4], "strides": [2, 2], "padding": [1, 1, 1, 1]}
        x = call("nn.conv2d_transpose", x, weight, **attrs)
        if index < len(sizes) - 1:
            x = relu(net.norm(x, f"g{index}_bn", out))
    return net.program(call("tanh", x))


NETWORKS: dict[str, Callable[[], Program]] = {
    "resnet18": resnet18,
    "mobilenet": mobilenet,
    "dqn": dqn,
    "dcgan": dcgan,
}
