"""Seeded random weights for models that ship without real ones, so that tests and benchmarks compute something."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto


_SCALES = {("BatchNormalization", 1): (0.3, 0.7), ("BatchNormalization", 4): (0.5, 1.5), ("Mul", 1): (0.5, 1.5)}
"""Operator and operand -> range of a factor; residual networks need scales below 1 to keep their size."""


_DISTINCT = 1_000_003
"""Numbers that are drawn for a tensor; larger ones repeat them. A prime, so that no rows are alike."""


def normal(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> NDArray[np.float32]:
    drawn = rng.standard_normal(min(_DISTINCT, prod(shape)), np.float32) * np.float32(deviation)
    return np.resize(drawn, shape)


def randomize_weights(model: ModelProto, seed: int = 0) -> ModelProto:
    """A copy of `model` whose constants made by ConstantOfShape are seeded random initializers instead.

    Weights of Conv are normal with variance 2 / fan-in, so that activations keep their size; those of Gemm and MatMul
    are smaller, so that a softmax at the end is far from saturated. Scales are positive; all else has deviation 0.1.
    """
    from onnx import ModelProto as Model
    from onnx import numpy_helper

    copy = Model()
    copy.CopyFrom(model)
    graph = copy.graph
    rng = np.random.default_rng(seed)
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    users: dict[str, tuple[str, int]] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            kind = node.op_type
            if kind == "Unsqueeze":
                kind = next(n.op_type for n in graph.node if node.output[0] in n.input)
                position = 1
            users.setdefault(name, (kind, position))
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape" or node.input[0] not in known]
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in known:
            continue
        shape = tuple(int(extent) for extent in known[node.input[0]])
        kind, position = users.get(node.output[0], ("", 0))
        if kind in ("Conv", "Gemm", "MatMul") and position == 1:
            fan_in = int(np.prod(shape[1:])) or 1
            gain = 2 if kind == "Conv" else 0.02
            value = normal(rng, shape, (gain / fan_in) ** 0.5)
        elif (kind, position) in _SCALES:
            value = rng.uniform(*_SCALES[kind, position], shape).astype(np.float32)
        else:
            value = normal(rng, shape, 0.1)
        graph.initializer.append(numpy_helper.from_array(value, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    constants = {tensor.name for tensor in graph.initializer}
    read = {name for node in graph.node for name in node.input}
    needed = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.initializer[:]
    graph.initializer.extend(needed)
    # From IR version 4 on an initializer is a constant, not the default of an input.
    copy.ir_version = max(4, copy.ir_version)
    inputs = [value for value in graph.input if value.name not in constants]
    del graph.input[:]
    graph.input.extend(inputs)
    return copy
