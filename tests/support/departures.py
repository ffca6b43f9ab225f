"""Correct compiles compared with onnxruntime, layer by layer: none may depart.

    python -m tests.support.departures [--cases 60] [--seed 0] [--moves]

A net is drawn of what passes re-associate, share and fold: convolutions and dense layers with biases, factors and
shifts behind and before them, batch norms, equal branches, chains of constants, concatenations, slices, transposes
and reshapes; with `--moves`, of chains of what only moves elements. It is compiled at level 3 as it is, and with
every operator a kernel of its own, so that each value is seen.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import whence
from whence.explorer.compare import Comparison
from whence.explorer.reference import layer_tensors, onnxruntime_tensors

Array = NDArray[Any]
Tensor = tuple[str, tuple[int, ...]]


class Net:
    """What is drawn so far; `tensors` may be read by what comes."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.tensors: list[Tensor] = []

    def weight(self, *shape: int, scale: float = 1.0, positive: bool = False) -> str:
        array = scale * self.numbers.standard_normal(shape, np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array((abs(array) + 0.1 if positive else array).astype(np.float32), name))
        return name

    def node(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> Tensor:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.tensors.append((name, shape))
        return self.tensors[-1]

    def per_channel(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape of constants: one number, or one for each channel."""
        extents = tuple(extent if axis == 1 else 1 for axis, extent in enumerate(shape))
        return self.dice.choice(((1,), extents, extents))


def conv(net: Net, x: Tensor) -> Tensor:
    if len(x[1]) != 4:
        return relu(net, x)
    n, c, h, w = x[1]
    outputs, size = net.dice.choice((8, 16, 12)), net.dice.choice((1, 3))
    inputs = [x[0], net.weight(outputs, c, size, size, scale=(c * size * size) ** -0.5)]
    inputs += [net.weight(outputs)] if net.dice.random() < 0.5 else []
    return net.node("Conv", inputs, (n, outputs, h, w), kernel_shape=[size, size], pads=[size // 2] * 4)


def dense(net: Net, x: Tensor) -> Tensor:
    *_, inputs = x[1]
    outputs = net.dice.choice((8, 24))
    return net.node("MatMul", [x[0], net.weight(inputs, outputs, scale=inputs**-0.5)], (*x[1][:-1], outputs))


def arithmetic(op: str) -> Callable[[Net, Tensor], Tensor]:
    def draw(net: Net, x: Tensor) -> Tensor:
        shape = net.per_channel(x[1]) if len(x[1]) > 2 else x[1][-1:]
        positive = net.dice.random() < 0.6
        operands = [x[0], net.weight(*shape, positive=positive or op == "Div")]
        if op in ("Add", "Mul") and net.dice.random() < 0.3:
            operands.reverse()
        return net.node(op, operands, x[1])

    return draw


def norm(net: Net, x: Tensor) -> Tensor:
    c = x[1][1]
    parameters = [net.weight(c), net.weight(c), net.weight(c), net.weight(c, positive=True)]
    return net.node("BatchNormalization", [x[0], *parameters], x[1])


def unary(op: str, **attributes: Any) -> Callable[[Net, Tensor], Tensor]:
    return lambda net, x: net.node(op, [x[0]], x[1], **attributes)


relu = unary("Relu")


def twins(net: Net, x: Tensor) -> Tensor:
    """Two equal branches, with something of its own behind each."""
    op, attributes = net.dice.choice((("LeakyRelu", {"alpha": 0.2}), ("Tanh", {}), ("Relu", {})))
    first, second = net.node(op, [x[0]], x[1], **attributes), net.node(op, [x[0]], x[1], **attributes)
    scaled = arithmetic("Mul")(net, second)
    return net.node("Add", [first[0], scaled[0]], x[1])


def joined(net: Net, x: Tensor) -> Tensor:
    fitting = [tensor for tensor in net.tensors if tensor[1][0] == x[1][0] and tensor[1][2:] == x[1][2:]]
    other = net.dice.choice([tensor for tensor in fitting if len(tensor[1]) == len(x[1])])
    return net.node("Concat", [x[0], other[0]], (x[1][0], x[1][1] + other[1][1], *x[1][2:]), axis=1)


def added(net: Net, x: Tensor) -> Tensor:
    return net.node("Add", [x[0], net.dice.choice([tensor for tensor in net.tensors if tensor[1] == x[1]])[0]], x[1])


def halved(net: Net, x: Tensor) -> Tensor:
    if len(x[1]) < 2 or x[1][1] < 2:
        return relu(net, x)
    c = x[1][1]
    names = [f"s{len(net.nodes)}a", f"s{len(net.nodes)}b"]
    net.nodes.append(helper.make_node("Split", [x[0]], names, axis=1, num_outputs=2))
    parts = [(c + 1) // 2, c // 2]
    net.tensors += [(name, (x[1][0], part, *x[1][2:])) for name, part in zip(names, parts, strict=True)]
    return net.tensors[-net.dice.choice((1, 2))]


def anyhow(net: Net, x: Tensor) -> Tensor:
    """The axes in any order."""
    order = net.dice.sample(range(len(x[1])), len(x[1]))
    return net.node("Transpose", [x[0]], tuple(x[1][axis] for axis in order), perm=order)


def turned(net: Net, x: Tensor) -> Tensor:
    order = [0, *net.dice.sample(range(1, len(x[1])), len(x[1]) - 1)]
    return net.node("Transpose", [x[0]], tuple(x[1][axis] for axis in order), perm=order)


def constant(net: Net, *numbers: int) -> str:
    """The name of an int64 vector."""
    name = f"w{len(net.weights)}"
    net.weights.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
    return name


def reshaped(net: Net, x: Tensor) -> Tensor:
    """The elements in another shape of up to four axes."""
    shape, left = list[int](), int(np.prod(x[1]))
    for _ in range(net.dice.randint(0, 3)):
        shape.append(net.dice.choice([extent for extent in range(1, left + 1) if left % extent == 0]))
        left //= shape[-1]
    shape.append(left)
    net.dice.shuffle(shape)
    return net.node("Reshape", [x[0], constant(net, *shape)], tuple(shape))


def flattened(net: Net, x: Tensor) -> Tensor:
    axis = net.dice.randint(0, len(x[1]))
    shape = int(np.prod(x[1][:axis])), int(np.prod(x[1][axis:]))
    return net.node("Flatten", [x[0]], shape, axis=axis)


def with_axis(net: Net, x: Tensor) -> Tensor:
    """An axis of extent 1 more, or all of them gone."""
    if 1 in x[1] and max(x[1]) > 1 and net.dice.random() < 0.5:
        return net.node("Squeeze", [x[0]], tuple(extent for extent in x[1] if extent > 1))
    axis = net.dice.randint(0, len(x[1]))
    return net.node("Unsqueeze", [x[0], constant(net, axis)], (*x[1][:axis], 1, *x[1][axis:]))


def sliced(net: Net, x: Tensor) -> Tensor:
    """Every element in reverse, or those of every second index, along an axis."""
    axis, step = net.dice.randrange(len(x[1])), net.dice.choice((-1, -1, 2))
    extent = x[1][axis]
    begin, end = (extent, -extent - 1) if step < 0 else (0, extent)
    inputs = [x[0], *(constant(net, number) for number in (begin, end, axis, step))]
    return net.node("Slice", inputs, (*x[1][:axis], -(-extent // abs(step)), *x[1][axis + 1 :]))


def blocked(net: Net, x: Tensor) -> Tensor:
    """Channels as pixels, or pixels as channels."""
    if len(x[1]) == 4 and x[1][1] % 4 == 0:
        n, c, h, w = x[1]
        mode = net.dice.choice(("DCR", "CRD"))
        return net.node("DepthToSpace", [x[0]], (n, c // 4, 2 * h, 2 * w), blocksize=2, mode=mode)
    if len(x[1]) == 4 and x[1][2] % 2 == x[1][3] % 2 == 0:
        n, c, h, w = x[1]
        return net.node("SpaceToDepth", [x[0]], (n, 4 * c, h // 2, w // 2), blocksize=2)
    return reshaped(net, x)


def widened(net: Net, x: Tensor) -> Tensor:
    """As float64 and back."""
    wide = net.node("Cast", [x[0]], x[1], to=TensorProto.DOUBLE)
    net.tensors.pop()
    return net.node("Cast", [wide[0]], x[1], to=TensorProto.FLOAT)


def softmax(net: Net, x: Tensor) -> Tensor:
    return net.node("Softmax", [x[0]], x[1], axis=net.dice.randrange(len(x[1])))


def pooled(net: Net, x: Tensor) -> Tensor:
    if len(x[1]) != 4:
        return relu(net, x)
    op = net.dice.choice(("MaxPool", "AveragePool"))
    return net.node(op, [x[0]], x[1], kernel_shape=[3, 3], pads=[1, 1, 1, 1])


STEPS: tuple[Callable[[Net, Tensor], Tensor], ...] = (
    *(conv,) * 4,
    *(dense,) * 2,
    *map(arithmetic, ("Add", "Mul", "Mul", "Sub", "Div")),
    *(norm,) * 2,
    *(relu, unary("LeakyRelu", alpha=0.1), unary("Tanh"), unary("Sigmoid"), unary("Identity"), unary("Neg")),
    *(twins,) * 2,
    joined,
    added,
    halved,
    turned,
    pooled,
)
MOVES: tuple[Callable[[Net, Tensor], Tensor], ...] = (
    *(anyhow,) * 4,
    *(reshaped,) * 3,
    *(flattened, with_axis, with_axis, sliced, blocked, widened, halved, unary("Identity")),
    *(unary("Sigmoid"), softmax, relu, added, conv, conv, pooled),
)
"""What only moves elements, and a little between."""
SQUARE = ((8, 8), (4, 4, 4), (1, 4, 4, 4), (1, 16, 8, 8), (2, 5, 12))
"""Shapes that many moves leave as they are, so that a value that is not moved back has the right shape."""


def drawn(seed: int, steps: Sequence[Callable[[Net, Tensor], Tensor]]) -> tuple[ModelProto, Array]:
    """A net of 4 to 12 steps, and an input of it."""
    net = Net(seed)
    shape = net.dice.choice(
        SQUARE if steps is MOVES else ((1, 8, 7, 7), (2, 16, 6, 6), (1, 3, 8, 8), (3, 8), (2, 5, 12))
    )
    current: Tensor = ("x", shape)
    net.tensors.append(current)
    for _ in range(net.dice.randint(4, 12)):
        current = net.dice.choice(steps)(net, current)
        if net.dice.random() < 0.15:
            current = net.dice.choice(net.tensors)
    if current[0] == "x":
        current = relu(net, current)
    graph = helper.make_graph(
        net.nodes,
        f"net{seed}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(current[0], TensorProto.FLOAT, current[1])],
        net.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model, net.numbers.standard_normal(shape).astype(np.float32)


def compared(seed: int, apart: bool, steps: Sequence[Callable[[Net, Tensor], Tensor]] = STEPS) -> Comparison:
    """Net number `seed` against onnxruntime. apart: every operator is a kernel."""
    model, x = drawn(seed, steps)
    with whence.PassContext(config={"relay.FuseOps.max_depth": 1} if apart else {}):
        executable = whence.compile(model, threads=1)
    return executable.compare({"x": x}, onnxruntime_tensors(model, {"x": x}), layer_tensors(model))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--moves", action="store_true", help="nets of operators that only move elements")
    chosen = arguments.parse_args()
    wrong = tensors = unseen = 0
    for seed in range(chosen.seed, chosen.seed + chosen.cases):
        for apart in (False, True):
            comparison = compared(seed, apart, MOVES if chosen.moves else STEPS)
            tensors += len(comparison.differences)
            unseen += len(comparison.unseen)
            if (first := comparison.first) is not None:
                wrong += 1
                print(f"seed {seed}{' apart' if apart else ''}: {first.layer}, by {first.difference}", flush=True)
    print(f"{chosen.cases} nets, {tensors} tensors compared, {unseen} layers not seen, {wrong} false departures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
