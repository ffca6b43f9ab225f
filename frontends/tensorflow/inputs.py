"""The types of inputs: what placeholders or the signature say, completed by the shapes that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...dialects.sizes import RESERVED, Size, same, symbol
from ...dialects.sizes.types import tensor_of
from ...runtime.open_specs import OPEN, OpenSpec, spelled
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from ..importing.tensor import Undecided
from .graphs import NodeInfo
from .values import dtype_of, extents_of

_SHAPES = "_output_shapes"
"""Where graphs that were written with all shapes have those of a node's outputs."""


@dataclass(frozen=True)
class Input:
    """An input of a model."""

    name: str
    node: str
    """Its placeholder."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    """-1 for extents that are open; None where even their number is."""

    def merged(self, wanted: Sequence[Size] | None) -> Sequence[Size] | None:
        """Return the shape after what the user gives. Raises FrontendError where that contradicts the model."""
        if wanted is None:
            return self.shape
        stated = (OPEN,) * len(wanted) if self.shape is None else self.shape
        agree = len(stated) == len(wanted) and not any(isinstance(size, int) and size < 0 for size in wanted)
        if not agree or any(
            own not in (OPEN, size) and not same(own, size) for own, size in zip(stated, wanted, strict=True)
        ):
            declared = None if self.shape is None else [None if n == OPEN else n for n in self.shape]
            raise FrontendError(
                f"input '{self.name}': expected a shape that agrees with the model's {spelled(declared)}, "
                f"got [{', '.join(map(str, wanted))}]"
            )
        return list(wanted)

    def type(self, shape: Sequence[int]) -> TensorType[Attribute]:
        """Return the type for a shape of numbers."""
        if too_big := excess(shape, self.dtype.itemsize):
            raise FrontendError(f"input '{self.name}': expected {expectation()}, got {too_big}")
        return TensorType(element_type(self.dtype), shape)

    def spec(self, wanted: Sequence[int] | None) -> OpenSpec:
        """Return what the input takes after what the user gives."""
        shape = cast("Sequence[int] | None", self.merged(wanted))
        extents = tuple(shape or ())
        return OpenSpec(self.name, extents, self.dtype, (None,) * len(extents), "tensor", shape is not None)


def stated(name: str, node: str, info: Any, file: str) -> Input:
    """Return the input or output that a TensorInfo describes."""
    return Input(name, node, dtype_of(info.dtype, f"{file}: '{name}'"), extents_of(info.tensor_shape))


def input_of(name: str, node: NodeInfo, file: str) -> Input:
    """Return the input that a placeholder is."""
    shape: tuple[int, ...] | None = None
    attributes = node.attributes
    number = attributes["dtype"].type if "dtype" in attributes else 0
    if "shape" in attributes:
        shape = extents_of(attributes["shape"].shape)
        if shape == () and _SHAPES in attributes:
            # Old graphs leave the shape out that way.
            shape = None
    if shape is None and _SHAPES in attributes and len(attributes[_SHAPES].list.shape):
        shape = extents_of(attributes[_SHAPES].list.shape[0])
    return Input(name, node.name, dtype_of(number, f"{file}: input '{name}'"), shape)


def input_types(
    inputs: Sequence[Input], shapes: Mapping[str, Sequence[int]], file: str
) -> dict[str, TensorType[Attribute]]:
    """Input name -> type. Raises Undecided for extents that nothing says, FrontendError for shapes that do not fit."""
    extents = {entry.name: entry.merged(shapes.get(entry.name)) for entry in inputs}
    if dynamic := [name for name, shape in extents.items() if shape is None or OPEN in shape]:
        shape = extents[dynamic[0]]
        listed = ", ".join(f"{name} {_spelled(extents[name])}" for name in dynamic)
        example = ",".join(str(1 if extent == OPEN else extent) for extent in shape or [1])
        raise Undecided(
            f"{file}: expected static shapes, got dynamic dimensions in inputs {listed}; "
            f'give their shapes, such as "{dynamic[0]}:[{example}]" (input_shapes, --input-shapes)',
            None,
        )
    return {entry.name: entry.type(cast("Sequence[int]", extents[entry.name])) for entry in inputs}


def symbolic_types(inputs: Sequence[Input], shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
    """As `input_types`, with a symbol for each open extent, called after input and place."""
    types: dict[str, TensorType[Attribute]] = {}
    for entry in inputs:
        shape = entry.merged(shapes.get(entry.name))
        if shape is None:
            raise Undecided(f"input '{entry.name}': expected a tensor of known rank, got any", None)
        sizes = [symbol(_identifier(f"{entry.name}_{k}")) if size == OPEN else size for k, size in enumerate(shape)]
        if all(isinstance(size, int) for size in sizes):
            types[entry.name] = entry.type(cast("Sequence[int]", sizes))
        else:
            types[entry.name] = tensor_of(element_type(entry.dtype), sizes)
    return types


def _spelled(shape: Sequence[Size] | None) -> str:
    return spelled(None if shape is None else [None if n == OPEN else str(n) for n in shape])


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"
