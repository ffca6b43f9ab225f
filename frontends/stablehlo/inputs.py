"""The types of a program's inputs: what it says, completed by the shapes that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import element_type, numpy_dtype
from ...dialects.sizes import RESERVED, Size, SizeExpr, same, symbol
from ...dialects.sizes.types import tensor_of
from ...runtime.open_specs import OPEN, OpenSpec, spelled
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from ..importing.tensor import Undecided
from .program import Input


class Inputs:
    """The inputs of a program, in order. Open extents of one name, as JAX has them, are one symbol.

    symbols: input and axis -> the program's name of the extent; others are called after input and axis, `x_0`.
    """

    def __init__(self, file: str, inputs: Sequence[Input], symbols: Mapping[tuple[str, int], str]):
        self.file = file
        self.inputs = {entry.name: entry for entry in inputs}
        self._dtypes = {entry.name: self._dtype(entry) for entry in inputs}
        self.sizes: dict[str, list[int | str]] = {
            entry.name: [
                _identifier(symbols.get((entry.name, axis), f"{entry.name}_{axis}")) if extent is None else extent
                for axis, extent in enumerate(entry.shape)
            ]
            for entry in inputs
        }

    def _dtype(self, entry: Input) -> np.dtype[Any]:
        try:
            return numpy_dtype(entry.type.element_type)
        except VerifyException as error:
            raise FrontendError(f"{self.file}: input '{entry.name}': {error}") from error

    def specs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        """The inputs after `shapes`."""
        result: list[OpenSpec] = []
        for name, sizes in self._after(shapes).items():
            extents = tuple(OPEN if isinstance(size, SizeExpr) else size for size in sizes)
            names = tuple(str(size) if isinstance(size, SizeExpr) else None for size in sizes)
            result.append(OpenSpec(name, extents, self._dtypes[name], names))
        return tuple(result)

    def types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Input name -> type; raises Undecided where `shapes` leaves extents open."""
        types: dict[str, TensorType[Attribute]] = {}
        after = self._after(shapes)
        for name, sizes in after.items():
            extents = [size for size in sizes if isinstance(size, int)]
            if len(extents) < len(sizes):
                shown = ", ".join(f"{n} {spelled(list(map(str, s)))}" for n, s in after.items() if not _closed(s))
                example = ",".join(str(1 if isinstance(size, SizeExpr) else size) for size in sizes)
                raise Undecided(
                    f"{self.file}: expected static shapes, got dynamic dimensions in inputs {shown}; "
                    f'give their shapes, such as "{name}:[{example}]" (input_shapes, --input-shapes)',
                    None,
                )
            if too_big := excess(extents, self._dtypes[name].itemsize):
                raise FrontendError(f"input '{name}': expected {expectation()}, got {too_big}")
            types[name] = TensorType(element_type(self._dtypes[name]), extents)
        return types

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """As `types`, with symbols where extents are open."""
        return {name: tensor_of(element_type(self._dtypes[name]), sizes) for name, sizes in self._after(shapes).items()}

    def _after(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, list[Size]]:
        """The extents of each input after `shapes`; raises FrontendError for ones that contradict the program."""
        if unknown := [name for name in shapes if name not in self.inputs]:
            names = ", ".join(map(str, unknown))
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {names}")
        bound: dict[str, Size] = {}
        for name, wanted in shapes.items():
            sizes = self.sizes[name]
            negative = any(isinstance(size, int) and size < 0 for size in wanted)
            if len(wanted) != len(sizes) or negative:
                self._disagree(name, wanted)
            for size, extent in zip(sizes, wanted, strict=True):
                if isinstance(size, str):
                    bound.setdefault(size, extent)
        result: dict[str, list[Size]] = {}
        for name, sizes in self.sizes.items():
            own = [bound.get(size, symbol(size)) if isinstance(size, str) else size for size in sizes]
            if (wanted := shapes.get(name)) is not None and not all(map(same, own, wanted)):
                self._disagree(name, wanted)
            result[name] = own
        return result

    def _disagree(self, name: str, shape: Sequence[Size]) -> None:
        declared = spelled(list(map(str, self.sizes[name])))
        raise FrontendError(
            f"input '{name}': expected a shape that agrees with the model's {declared}, "
            f"got [{', '.join(map(str, shape))}]"
        )


def _closed(sizes: Sequence[Size]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"
