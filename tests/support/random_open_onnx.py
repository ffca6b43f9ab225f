"""Random ONNX programs whose inputs have open sizes, for onnxruntime to say what they give.

Shapes are tracked as sizes of symbols, so that what is drawn makes sense for every value of them. What onnxruntime
itself refuses for some sizes, such as a maximum of nothing, is skipped for these.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

from whence.dialects.sizes import Size, evaluate, product, symbol

Array = NDArray[Any]
Shape = tuple[Size, ...]
OPSET = 21
MOST = 7
"""Operators of a program."""
LENGTHS = (0, 1, 7, 8, 13, 200)
"""Of a symbol: nothing, one, beside and at the lanes of vectors, odd, large."""
MOST_ELEMENTS = 1_000_000
KINDS = {"f": np.dtype(np.float32), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
ort: Any = import_module("onnxruntime")


class Redraw(Exception):
    """No value fits the recipe."""


@dataclass(frozen=True, eq=False)
class Value:
    name: str
    shape: Shape
    kind: str = "f"
    exact: bool = False
    """Whether its elements are no roundings, so that decisions on them are the same everywhere."""

    @property
    def rank(self) -> int:
        return len(self.shape)


def is_static(size: Size) -> bool:
    return isinstance(size, int)


def alike(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether shapes are the same for all sizes."""
    return [*map(str, a)] == [*map(str, b)]


def last_static(value: Value) -> bool:
    return value.rank > 0 and isinstance(value.shape[-1], int)


def is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def number(size: Size) -> int:
    assert isinstance(size, int)
    return size


class Program:
    """What is drawn so far."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.symbols = {name: symbol(name) for name in ("n", "m", "b")[: self.dice.choice((1, 2, 2, 3))]}
        self._turns = {name: self.dice.choice((0, 0, 1, 2, 3, 4, 5)) if k else 0 for k, name in enumerate(self.symbols)}
        self.nodes: list[NodeProto] = []
        self.inputs: list[Value] = []
        self.constants: dict[str, Array] = {}
        self.values: list[Value] = []
        self.operators: list[str] = []
        self.named: dict[tuple[str, int], str] = {}
        """Dimensions of inputs that have a name of their own instead of their size."""
        self._some: list[Size] = []
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            self.input()

    def sizes(self) -> list[dict[str, int]]:
        """What the program is run at: every symbol takes each of LENGTHS."""
        return [
            {name: LENGTHS[(at + turn) % len(LENGTHS)] for name, turn in self._turns.items()}
            for at in range(len(LENGTHS))
        ]

    def some(self, size: Size) -> None:
        """Ask for elements: for none, such as in a mean of nothing, onnxruntime gives what it likes."""
        self._some.append(size)

    def means_something(self, sizes: Mapping[str, int]) -> bool:
        """Whether onnxruntime is to be asked."""
        return all(evaluate(size, sizes) > 0 for size in self._some)

    # Values.

    def name(self, stem: str) -> str:
        return f"{stem}{len(self.nodes) + len(self.constants) + len(self.inputs)}"

    def extent(self) -> Size:
        """Of an input: a symbol most often."""
        one = self.dice.choice(list(self.symbols.values()))
        return self.dice.choice((one, one, one, self.dice.randint(1, 9), 8, 2 * one, one + 1))

    def input(self, shape: Shape | None = None, kind: str = "f") -> Value:
        """A new input; the first one's shape tells all symbols."""
        if shape is not None and "max" in "".join(map(str, shape)):
            # There are several ways to write it.
            raise Redraw
        if shape is not None and self._too_large(shape):
            raise Redraw
        if shape is None:
            extents = [self.extent() for _ in range(self.dice.randint(1, 3))]
            if not self.inputs:
                extents = [*self.symbols.values(), *[self.dice.choice((1, 3, 4, 8, 12)) for _ in range(2)]]
                extents = extents[: max(len(self.symbols), self.dice.randint(2, 4))]
                self.dice.shuffle(extents)
            shape = tuple(extents)
        made = Value(self.name("x"), shape, kind, True)
        self.inputs.append(made)
        self.values.append(made)
        return made

    def constant(self, array: Array | np.floating[Any]) -> str:
        name = self.name("c")
        self.constants[name] = np.asarray(array)
        return name

    def weights(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((scale * self.numbers.standard_normal(shape)).astype(np.float32))

    def ints(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def pick(self, fits: Callable[[Value], bool] = lambda value: True, kind: str = "f") -> Value:
        """A value, late ones more often."""
        fitting = [value for value in self.values if value.kind == kind and fits(value)]
        if not fitting:
            raise Redraw
        return self.dice.choice([*fitting, *fitting[-2:]])

    def _too_large(self, shape: Shape) -> bool:
        return any(evaluate(product(shape), sizes) > MOST_ELEMENTS for sizes in self.sizes())

    def axis(self, value: Value, fits: Callable[[Size], bool] = lambda size: True) -> int:
        axes = [axis for axis, size in enumerate(value.shape) if fits(size)]
        if not axes:
            raise Redraw
        return self.dice.choice(axes)

    def emit(
        self, op: str, inputs: Sequence[str], shape: Shape, kind: str = "f", exact: bool = False, **attributes: Any
    ) -> Value:
        if self._too_large(shape):
            raise Redraw
        name = self.name("y")
        self.nodes.append(helper.make_node(op, inputs, [name], op.lower() + name, **attributes))
        made = Value(name, shape, kind, exact)
        self.values.append(made)
        return made

    # The whole.

    def model(self) -> onnx.ModelProto:
        """The model; its outputs are what nobody reads, and the last value."""
        read = {name for node in self.nodes for name in node.input}
        made = {name for node in self.nodes for name in node.output}
        outputs = [value for value in self.values if value.name in made and value.name not in read]

        def declared(value: Value, shape: Sequence[str | int] | None) -> onnx.ValueInfoProto:
            kind = helper.np_dtype_to_tensor_dtype(KINDS[value.kind])
            return helper.make_tensor_value_info(value.name, kind, shape)

        # Sums of symbols are given beside the model, as an exporter gives each dimension a name of its own.
        inputs = [
            declared(v, [s if isinstance(s, int) else f"{v.name}_{k}" for k, s in enumerate(v.shape)])
            for v in self.inputs
        ]
        initializers = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "open", inputs, [declared(v, None) for v in outputs], initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def input_shapes(self) -> dict[str, list[int | str]]:
        return {
            v.name: [s if isinstance(s, int) else self.named.get((v.name, k), str(s)) for k, s in enumerate(v.shape)]
            for v in self.inputs
        }

    def arrays(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """Inputs of some sizes."""
        found: dict[str, Array] = {}
        for value in self.inputs:
            shape = [evaluate(size, sizes) for size in value.shape]
            if value.kind == "i":
                found[value.name] = self.numbers.integers(0, 4, shape)
            else:
                found[value.name] = self.numbers.uniform(-2, 2, shape).astype(np.float32)
        return found


def session(model: onnx.ModelProto) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def random_program(seed: int, recipes: Mapping[str, Callable[[Program], Value]]) -> Program:
    """A program of one to MOST operators, most of them on what others made."""
    program = Program(seed)
    wanted = program.dice.randint(2, MOST)
    while len(program.operators) < wanted:
        name = program.dice.choice(list(recipes))
        try:
            recipes[name](program)
        except Redraw:
            continue
        program.operators.append(name)
    return program
