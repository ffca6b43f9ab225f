"""The context of a converter: one op, its values, and its properties by their names in StableHLO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import numpy_dtype
from ..importing import context
from ..importing.node_parts import NodePart
from ..importing.terms import Term
from .nodes import Node, Shape

HINTS: Mapping[str, str] = {
    "indices_are_sorted": "a promise, which allows a faster program of the same values",
    "unique_indices": "a promise, which allows a faster program of the same values",
    "precision_config": "sums of float32 are in float32, which is the highest that is asked for",
    "result_accuracy": "functions are as accurate as float32 has digits, which is the highest that is asked for",
    "is_stable": "equals keep their order, asked for or not",
    "known_expanding_dimensions": "what shapes show",
    "known_nonexpanding_dimensions": "what shapes show",
    **dict.fromkeys(("atol", "rtol", "ulps", "mode"), "of the accuracy of a function: it is as float32 has digits"),
}
"""Properties that do not change the results, each with the reason."""
DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "compare_type": ("NOTYPE", "FLOAT", "SIGNED", "UNSIGNED"),
    "largest": (1, -1),
}
"""The values of properties that describe an op's default behaviour for the types of its operands."""


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One op under conversion. Inputs and outputs are counted from 0."""

    node: Node

    # Properties.

    def stated(self, name: str) -> Any:
        """Return a property of the op; None for an empty list."""
        self.asked.attributes.add(name)
        value = self.node.attributes.get(name)
        return None if value == () else value

    def parts(self) -> Iterator[NodePart]:
        """Yield the inputs, and the properties that differ from the defaults of StableHLO.

        Attributes with the name of a dialect, as in `mhlo.sharding`, are notes of other tools and change nothing.
        """
        yield from self.input_parts()
        for name, value in self.node.attributes.items():
            # xDSL keeps the name of an op of an unknown dialect among its attributes.
            if "." not in name and name not in (*HINTS, "op_name__") and value not in DEFAULTS.get(name, ()):
                yield NodePart(name, "property", name, str(value))

    def axis(self, axis: int, rank: int, name: str = "dimension") -> int:
        """Return an axis, which must be in [0, rank)."""
        if not 0 <= axis < rank:
            self.fail(f"{name} in [0, {rank})", str(axis))
        return axis

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Return a property that is a list of distinct axes."""
        numbers = self.ints(name, ())
        if len(set(numbers)) != len(numbers) or any(not 0 <= axis < rank for axis in numbers):
            self.fail(f"axes in [0, {rank}), each once, as {name}", str(list(numbers)))
        return numbers

    # Results.

    def result_type(self, index: int = 0) -> TensorType[Attribute]:
        """Return the type that the program states for a result."""
        if index >= len(self.node.results):
            self.fail("a result that is a tensor", "another")
        return self.node.results[index]

    def result_shape(self, index: int = 0) -> Shape:
        """Return the shape of a result; None for extents that a call decides."""
        return tuple(None if extent < 0 else extent for extent in self.result_type(index).get_shape())

    def static_shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of a result, all extents of which must be known."""
        shape = self.result_shape(index)
        if None in shape:
            self.fail("a result of known extents", f"{self.result_type(index)}")
        return cast("tuple[int, ...]", shape)

    def result_dtype(self, index: int = 0) -> np.dtype[np.generic]:
        """Return the element type of a result."""
        try:
            return numpy_dtype(self.result_type(index).element_type)
        except VerifyException as error:
            self.fail("a result of numbers", str(error))

    # Values.

    def number(self, value: float, dtype: str) -> SSAValue:
        """Add a scalar constant."""
        return self.constant(np.asarray(value, dtype), "scalar")

    def term(self, index: int) -> Term:
        """Return input `index` as a term."""
        return Term(self, self.value(index))

    def same_shapes(self, *indices: int) -> None:
        """Raise FrontendError for inputs whose shapes differ."""
        first = self.shape(indices[0])
        for index in indices[1:]:
            self.require_shape(index, first, f"input {index}")
