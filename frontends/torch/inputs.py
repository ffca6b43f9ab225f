"""The types of a program's inputs: what the exporter knew, completed by the shapes that the user gives.

A symbol of the exporter, `s77`, has the name of its `torch.export.Dim`, or is called after the input and axis where it
is first met, `x_0`: no file keeps names of `Dim`s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...dialects.sizes import RESERVED, Ranges, Size, SizeExpr, same, symbol
from ...dialects.sizes.types import tensor_of
from ...runtime.open_specs import OPEN, OpenSpec, spelled
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from ..importing.tensor import Undecided
from .expressions import lone_symbol, parse_expression
from .schema import TensorMeta
from .tensors import dtype_of

_UNBOUNDED = 1 << 60
"""From here on, the greatest value of a symbol stands for none."""


@dataclass(frozen=True)
class Symbol:
    """A symbol of the exporter."""

    called: str
    input: str
    axis: int
    """The first input and axis whose extent it is."""


def symbols_of(metas: Mapping[str, TensorMeta], dims: Mapping[tuple[str, int], str]) -> dict[str, Symbol]:
    """The symbols that are extents of inputs; `dims` are names of these, by input and axis."""
    result: dict[str, Symbol] = {}
    for name, meta in metas.items():
        for axis, size in enumerate(meta.sizes):
            if isinstance(size, str) and (lone := lone_symbol(size)) is not None and lone not in result:
                called = {symbol.called for symbol in result.values()}
                wanted = dims.get((name, axis), "")
                own = wanted.isidentifier() and wanted not in called and wanted not in RESERVED
                result[lone] = Symbol(wanted if own else _identifier(f"{name}_{axis}"), name, axis)
    return result


def limits_of(ranges: Mapping[str, tuple[int, int | None]], lone: str) -> tuple[int, int | None]:
    """The least and greatest value of a symbol; None for no greatest."""
    low, high = ranges.get(lone, (0, None))
    return _least(low), None if high is None or high >= _UNBOUNDED else high


class Inputs:
    """The inputs of a program, in order, and the symbols in their shapes."""

    def __init__(
        self,
        file: str,
        metas: Mapping[str, TensorMeta],
        ranges: Mapping[str, tuple[int, int | None]],
        dims: Mapping[tuple[str, int], str],
    ):
        self.file, self.metas = file, metas
        self.names = {lone: symbol.called for lone, symbol in symbols_of(metas, dims).items()}
        """Symbol of the exporter -> what it is called here."""
        self.ranges: Ranges = {called: limits_of(ranges, lone) for lone, called in self.names.items()}

    def specs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        """The inputs after `shapes`."""
        self._check_names(shapes)
        symbols = self._bound(shapes)
        result: list[OpenSpec] = []
        for name, meta in self.metas.items():
            sizes = [self._size(size, symbols, f"input '{name}'") for size in meta.sizes]
            extents = tuple(OPEN if isinstance(size, SizeExpr) else size for size in sizes)
            names = tuple(str(size) if isinstance(size, SizeExpr) else None for size in sizes)
            result.append(OpenSpec(name, extents, dtype_of(meta.dtype, f"input '{name}'"), names))
        return tuple(result)

    def types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Input name -> type; raises Undecided where `shapes` leaves extents open."""
        result = self.symbolic(shapes)
        opened = {name: sizes for name, sizes in result.items() if any(isinstance(size, SizeExpr) for size in sizes)}
        if opened:
            listed = ", ".join(f"{name} {spelled([str(size) for size in sizes])}" for name, sizes in opened.items())
            name, sizes = next(iter(opened.items()))
            example = ",".join(str(1 if isinstance(size, SizeExpr) else size) for size in sizes)
            raise Undecided(
                f"{self.file}: expected static shapes, got dynamic dimensions in inputs {listed}; "
                f'give their shapes, such as "{name}:[{example}]" (input_shapes, --input-shapes)',
                None,
            )
        types: dict[str, TensorType[Attribute]] = {}
        for name, sizes in result.items():
            extents = [int(size) for size in sizes if isinstance(size, int)]
            dtype = dtype_of(self.metas[name].dtype, f"input '{name}'")
            if too_big := excess(extents, dtype.itemsize):
                raise FrontendError(f"input '{name}': expected {expectation()}, got {too_big}")
            types[name] = TensorType(element_type(dtype), extents)
        return types

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """As `types`, with symbols where extents are open."""
        return {
            name: tensor_of(element_type(dtype_of(self.metas[name].dtype, f"input '{name}'")), sizes)
            for name, sizes in self.symbolic(shapes).items()
        }

    def symbolic(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, list[Size]]:
        """The extents of each input after `shapes`, numbers and sizes; what is said of one holds for all.

        Raises FrontendError for shapes that contradict the program.
        """
        self._check_names(shapes)
        symbols = self._bound(shapes)
        result: dict[str, list[Size]] = {}
        for name, meta in self.metas.items():
            sizes = [self._size(size, symbols, f"input '{name}'") for size in meta.sizes]
            if (operand := shapes.get(name)) is not None and not all(map(same, sizes, operand)):
                self._disagree(name, meta, operand)
            result[name] = sizes
        return result

    def _bound(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, Size]:
        """The size that each symbol is, after `shapes`."""
        symbols: dict[str, Size] = {result: symbol(called) for result, called in self.names.items()}
        bound: set[str] = set()
        for name, operand in shapes.items():
            meta = self.metas[name]
            if len(operand) != len(meta.sizes):
                self._disagree(name, meta, operand)
            for size, extent in zip(meta.sizes, operand, strict=True):
                if isinstance(size, str) and (result := lone_symbol(size)) is not None and result not in bound:
                    symbols[result] = extent
                    bound.add(result)
                    self._check_range(name, meta, operand, self.names[result], extent)
        return symbols

    def _check_range(self, name: str, meta: TensorMeta, shape: Sequence[Size], called: str, extent: Size) -> None:
        low, high = self.ranges[called]
        least = low or 0
        if isinstance(extent, int) and (extent < least or (high is not None and extent > high)):
            limit = f"from {least}" + ("" if high is None else f" to {high}")
            raise FrontendError(
                f"input '{name}': expected {called} {limit}, got {extent} in [{', '.join(map(str, shape))}]"
            )

    def _size(self, size: int | str, symbols: Mapping[str, Size], where: str) -> Size:
        return size if isinstance(size, int) else parse_expression(size, symbols, f"{self.file}: {where}")

    def _disagree(self, name: str, meta: TensorMeta, shape: Sequence[Size]) -> None:
        own = {result: symbol(called) for result, called in self.names.items()}
        declared = [str(self._size(size, own, f"input '{name}'")) for size in meta.sizes]
        raise FrontendError(
            f"input '{name}': expected a shape that agrees with the model's {spelled(declared)}, "
            f"got [{', '.join(map(str, shape))}]"
        )

    def _check_names(self, shapes: Mapping[str, object]) -> None:
        if unknown := [name for name in shapes if name not in self.metas]:
            names = ", ".join(map(str, unknown))
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {names}")


def _least(low: int) -> int:
    """The least value of a symbol: the exporter's 2 is its own assumption that 0 and 1 are special, as torch has it."""
    return low if low > 2 else min(low, 1)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"
