"""A graph of one operator, or of the few that exporters spell it as, and random numbers to choose its sizes by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper, parser

Array = NDArray[Any]
Spec = Array | Sequence[int]
"""An array, or the shape of one of random float32."""


class Case(NamedTuple):
    """Nodes in onnx's text form, from inputs X0, X1, .. and constants W0, W1, .. to the outputs."""

    name: str
    nodes: str
    inputs: Sequence[Spec]
    constants: Sequence[Spec] = ()
    outputs: Sequence[str] = ("Y",)
    work: float = 1.0
    """Elements or multiplications, by which the times of neighbours are compared."""

    def filled(self) -> tuple[list[Array], list[Array]]:
        """The arrays of the inputs, and of the constants."""
        random = np.random.default_rng(0)
        arrays = [[_array(random, spec) for spec in specs] for specs in (self.inputs, self.constants)]
        return arrays[0], arrays[1]

    def model(self, inputs: Sequence[Array], constants: Sequence[Array]) -> onnx.ModelProto:
        dtype = helper.np_dtype_to_tensor_dtype
        infos = [helper.make_tensor_value_info(f"X{i}", dtype(x.dtype), x.shape) for i, x in enumerate(inputs)]
        graph = helper.make_graph(
            [parser.parse_node(line.strip()) for line in self.nodes.split(";")],
            "operator",
            infos,
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [numpy_helper.from_array(x, f"W{i}") for i, x in enumerate(constants)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def _array(random: np.random.Generator, spec: Spec) -> Array:
    return spec if isinstance(spec, np.ndarray) else random.random(spec, np.float32) - 0.5


class Dice(Random):
    """Random sizes, most of them odd ones."""

    def size(self, low: int, high: int) -> int:
        """A number whose logarithm is spread evenly."""
        return min(high, max(low, round(math.exp(self.uniform(math.log(low), math.log(high + 1))))))

    def shape(self, rank: int, low: int, high: int) -> tuple[int, ...]:
        """A shape with between `low` and `high` elements."""
        while True:
            extents = tuple(self.size(1, high) for _ in range(rank))
            if low <= math.prod(extents) <= high:
                return extents

    def within(self, low: float, high: float, draw: Callable[[Dice], Case]) -> Case:
        """A case whose work lies between bounds."""
        while True:
            case = draw(self)
            if low <= case.work <= high:
                return case

    @property
    def numbers(self) -> np.random.Generator:
        return np.random.default_rng(self.randrange(1 << 30))


def text(values: Sequence[int]) -> str:
    """A shape as it stands in the name of a case."""
    return "x".join(map(str, values))


def listed(values: Sequence[int]) -> str:
    """A list as it stands in a node."""
    return f"[{', '.join(map(str, values))}]"


Family = Callable[[Dice], Case]


def cases(name: str, family: Family, seed: int, count: int) -> Iterator[Case]:
    """`count` cases of a family; those that there are stay when more are asked for."""
    for number in range(count):
        yield family(Dice(f"{seed} {name} {number}"))
