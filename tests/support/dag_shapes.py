"""ONNX models whose graphs read values twice, in many shapes: trees of 2 ** n operators, as graphs of a few n."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
ROWS, COLUMNS = 8, 16


class Graph:
    """A graph in the making over `x`, of 8 rows and 16 columns: a method per operator is not worth its lines."""

    def __init__(self, prefix: str = "") -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._prefix = prefix

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        """The result of one more operator."""
        name = f"{self._prefix}v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{name}_{kind}", **attributes))
        return name

    def several(self, kind: str, inputs: Sequence[str], count: int, **attributes: object) -> list[str]:
        """The results of one more operator that has `count` of them."""
        names = [f"{self._prefix}v{len(self.nodes)}.{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{names[0]}_{kind}", **attributes))
        return names

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"{self._prefix}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def scaled(self, value: str, factor: float) -> str:
        return self.op("Mul", value, self.constant(factor))

    def body(self, result: str) -> GraphProto:
        """The graph as a branch, which reads what is around it."""
        return helper.make_graph(self.nodes, self._prefix, [], [_info(result, FLOAT, None)], self.constants)


def _info(name: str, element: int, shape: Sequence[int | str] | None):
    return helper.make_tensor_value_info(name, element, shape)


def _model(graph: Graph, result: str, rows: int | str, element: int = FLOAT) -> ModelProto:
    inputs = [_info("x", element, (rows, COLUMNS))]
    made = helper.make_graph(graph.nodes, "dag", inputs, [_info(result, FLOAT, None)], graph.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


Step = Callable[[Graph, str, int], str]
"""What comes after a value in a chain: the graph, the value, the step's number -> the next value."""


def _squares(graph: Graph, x: str, _: int) -> str:
    return graph.op("Tanh", graph.op("Add", graph.op("Mul", x, x), x))


def _diamonds(graph: Graph, x: str, _: int) -> str:
    return graph.scaled(graph.op("Add", graph.op("Sigmoid", x), graph.op("Relu", x)), 0.7)


def _reductions(graph: Graph, x: str, _: int) -> str:
    away = graph.op("Sub", x, graph.op("ReduceMean", x, axes=[-1]))
    spread = graph.op("ReduceMean", graph.op("Mul", away, away), axes=[-1])
    return graph.op("Div", away, graph.op("Sqrt", graph.op("Add", spread, graph.constant(0.5))))


def _halves(graph: Graph, x: str, _: int) -> str:
    first, second = graph.several("Split", [x], 2, axis=1)
    return graph.scaled(graph.op("Add", graph.op("Concat", second, first, axis=1), x), 0.5)


def _slices(graph: Graph, x: str, _: int) -> str:
    padded = graph.op("Pad", x, graph.constant([0, 1, 0, 1], np.int64))
    starts = (graph.constant([start], np.int64) for start in (0, 2))
    ends = (graph.constant([end], np.int64) for end in (COLUMNS, COLUMNS + 2))
    axis = graph.constant([1], np.int64)
    sides = [graph.op("Slice", padded, start, end, axis) for start, end in zip(starts, ends, strict=True)]
    return graph.scaled(graph.op("Add", *sides), 0.5)


def _gathers(graph: Graph, x: str, step: int) -> str:
    order = graph.constant(np.random.default_rng(step).permutation(COLUMNS), np.int64)
    return graph.scaled(graph.op("Add", graph.op("Gather", x, order, axis=1), x), 0.5)


def _transposes(graph: Graph, x: str, _: int) -> str:
    shape, back = graph.constant([COLUMNS, ROWS], np.int64), graph.constant([ROWS, COLUMNS], np.int64)
    turned = graph.op("Reshape", graph.op("Transpose", graph.op("Reshape", x, shape)), back)
    return graph.scaled(graph.op("Add", turned, x), 0.5)


def _products(graph: Graph, x: str, step: int) -> str:
    weight = np.random.default_rng(step).standard_normal((COLUMNS, COLUMNS)) * 0.2
    product = graph.op("MatMul", x, graph.constant(weight))
    return graph.op("Tanh", graph.op("Add", product, graph.op("Mul", product, x)))


def _convolutions(graph: Graph, x: str, step: int) -> str:
    image, flat = graph.constant([1, 1, ROWS, COLUMNS], np.int64), graph.constant([ROWS, COLUMNS], np.int64)
    weight = np.random.default_rng(step).standard_normal((1, 1, 3, 3)) * 0.3
    made = graph.op("Conv", graph.op("Reshape", x, image), graph.constant(weight), pads=[1, 1, 1, 1])
    made = graph.op("Reshape", made, flat)
    return graph.op("Tanh", graph.op("Add", made, graph.op("Mul", made, x)))


def _int8(graph: Graph, x: str, _: int) -> str:
    scale, zero = graph.constant(0.03125), graph.constant(3, np.int8)
    real = graph.op("DequantizeLinear", graph.op("QuantizeLinear", x, scale, zero), scale, zero)
    return graph.op("Add", graph.scaled(real, 0.5), graph.scaled(graph.op("Relu", real), 0.25))


def _fans(graph: Graph, x: str, _: int) -> str:
    return graph.scaled(graph.op("Sum", *(graph.scaled(x, factor) for factor in (0.5, 0.25, 0.125))), 0.9)


def _branches(graph: Graph, x: str, step: int) -> str:
    condition = graph.op("Less", graph.op("ReduceSum", x, keepdims=0), graph.constant(0.5))
    sides = [Graph(f"s{step}.{i}.") for i in range(2)]
    results = [_squares(sides[0], x, step), _diamonds(sides[1], x, step)]
    bodies = [side.body(result) for side, result in zip(sides, results, strict=True)]
    return graph.op("If", condition, then_branch=bodies[0], else_branch=bodies[1])


def _sums(graph: Graph, x: str, _: int) -> str:
    return graph.scaled(graph.op("Add", graph.op("CumSum", x, graph.constant(1, np.int64)), x), 0.1)


def _pools(graph: Graph, x: str, _: int) -> str:
    image, flat = graph.constant([1, 1, ROWS, COLUMNS], np.int64), graph.constant([ROWS, COLUMNS], np.int64)
    made = graph.op("MaxPool", graph.op("Reshape", x, image), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return graph.scaled(graph.op("Add", graph.op("Reshape", made, flat), x), 0.5)


def _tops(graph: Graph, x: str, _: int) -> str:
    values, order = graph.several("TopK", [x, graph.constant([COLUMNS], np.int64)], 2, axis=1)
    picked = graph.op("GatherElements", x, order, axis=1)
    return graph.scaled(graph.op("Add", graph.op("Add", values, picked), x), 0.3)


def _choices(graph: Graph, x: str, _: int) -> str:
    limit = graph.constant(0.25)
    return graph.op("Where", graph.op("GreaterOrEqual", x, limit), graph.op("Sub", x, limit), graph.scaled(x, 0.75))


CHAINS: dict[str, Step] = {
    "squares": _squares,
    "diamonds": _diamonds,
    "choices": _choices,
    "reductions": _reductions,
    "halves": _halves,
    "slices": _slices,
    "gathers": _gathers,
    "transposes": _transposes,
    "products": _products,
    "convolutions": _convolutions,
    "pools": _pools,
    "sums": _sums,
    "tops": _tops,
    "int8": _int8,
    "fans": _fans,
    "branches": _branches,
}
"""Each step of these reads the value before it several times."""


def chain(kind: str, length: int, rows: int | str = ROWS) -> ModelProto:
    """A chain of steps of one kind; with a name for `rows` their number is open."""
    graph, value = Graph(), "x"
    for step in range(length):
        value = CHAINS[kind](graph, value, step)
    return _model(graph, value, rows)


def ladder(length: int, rows: int | str = ROWS) -> ModelProto:
    """Each value is made of the two before it."""
    graph = Graph()
    before, value = "x", graph.op("Tanh", "x")
    for _ in range(length):
        before, value = value, graph.scaled(graph.op("Add", graph.scaled(before, 0.5), value), 0.7)
    return _model(graph, value, rows)


def remainders(length: int, rows: int | str = ROWS) -> ModelProto:
    """`x = Where(x >= t, x, x - t)` again and again; then rows of a table by what is left."""
    graph, value = Graph(), "x"
    limit = graph.constant(7, np.int64)
    for _ in range(length):
        away = graph.op("Sub", value, limit)
        value = graph.op("Where", graph.op("GreaterOrEqual", value, limit), away, value)
    table = graph.constant(np.random.default_rng(0).standard_normal((16, 4)))
    return _model(graph, graph.op("Gather", table, value), rows, INT64)


SHAPES: dict[str, Callable[..., ModelProto]] = {
    **{kind: lambda length, rows=ROWS, kind=kind: chain(kind, length, rows) for kind in CHAINS},
    "ladder": ladder,
    "remainders": remainders,
}
"""Shape of graph -> its model; of a length and a number of rows."""


def inputs_of(kind: str, rows: int = ROWS) -> NDArray[np.generic]:
    """What a model of a shape is run on."""
    dice = np.random.default_rng(len(kind))
    if kind == "remainders":
        return dice.integers(0, 16, (rows, COLUMNS))
    return dice.standard_normal((rows, COLUMNS)).astype(np.float32)
