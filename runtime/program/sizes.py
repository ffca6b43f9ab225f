"""The sizes of a program for any sizes: they are read off the arrays of a call, and other values follow from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ...support.names import did_you_mean
from ..values.tensors import TensorSpec, named

Terms = tuple[tuple[int, tuple[int, ...]], ...]
"""A polynomial: coefficients, each with the indices of the symbols that it multiplies."""


class Value(NamedTuple):
    """A number that the sizes of a call decide: value `place` of the program."""

    place: int


Number = int | Value
Values = Sequence[int]
"""All values of a program for the sizes of a call: the symbols, in order, then the values that its code computes."""


def number(size: Number, values: Values) -> int:
    """Return a number or value as a number, for values of the sizes."""
    return values[size.place] if isinstance(size, Value) else size


@dataclass(frozen=True)
class SizedSpec(TensorSpec):
    """A tensor whose extents may be sizes, for which `shape` has -1."""

    numbers: tuple[Number, ...] = ()
    """The extents: numbers and values."""
    texts: tuple[str, ...] = ()
    """The extents as text: `past + 1`."""

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(self.texts)}] '{self.name}'"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether the extents fit that neither a size nor a layer decides; `Sizes.check` checks the others."""
        layers = self.layers or ((),) * len(self.numbers)
        return len(shape) == len(self.numbers) and all(
            isinstance(number, Value) or bool(names) or number == extent
            for number, names, extent in zip(self.numbers, layers, shape, strict=True)
        )

    def extents(self, values: Values) -> tuple[int, ...]:
        """Return the shape for values of the sizes."""
        return tuple([number(extent, values) for extent in self.numbers])


Spec: TypeAlias = TensorSpec | SizedSpec


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return sizes as options have them: `batch=4,length=128`."""
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def check_symbols(what: str, symbols: Sequence[str], names: Iterable[str]) -> None:
    """Raise PipelineError, about `what`, unless the names are those of all symbols."""
    listed = list(names)
    problems = [f"{symbol} is missing" for symbol in symbols if symbol not in listed]
    problems += [f"unknown {name}{did_you_mean(name, symbols)}" for name in listed if name not in symbols]
    if problems:
        expected, actual = f"a number for each of {', '.join(symbols)}", ", ".join(listed) or "none"
        raise PipelineError(f"{expectation(what, expected, actual)}: {'; '.join(problems)}")


def closed(spec: TensorSpec, values: Values) -> TensorSpec:
    """Return the specification for values of the sizes."""
    return TensorSpec(spec.name, spec.extents(values), spec.dtype) if isinstance(spec, SizedSpec) else spec


@dataclass(frozen=True)
class Solution:
    """The equation of a symbol: extent `axis` of input `input` is `scale` times the symbol plus `rest`."""

    symbol: int
    input: int
    axis: int
    scale: int
    rest: Terms
    """A polynomial of the symbols that are read before this one."""


@dataclass(frozen=True)
class Derived:
    """A value that follows from the symbols."""

    text: str
    layers: tuple[str, ...]
    """The layers that require it to be at least 0, or else those that use it, each with its file."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a program. Its values are the symbols, in order, and those that its code computes from them."""

    symbols: tuple[str, ...]
    ranges: tuple[tuple[int, int | None], ...]
    """The lowest and the highest value of each symbol."""
    solutions: tuple[Solution, ...]
    """One per symbol, in the order in which they are read."""
    derived: tuple[Derived, ...]
    """The values after the symbols."""
    arena: int
    """The index of the value that is the bytes of the arena."""

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self.symbols) + len(self.derived)

    @property
    def least(self) -> str:
        """The least sizes but 0, as options have them: `batch=1,length=1`."""
        return sizes_text({name: max(low, 1) for name, (low, _) in zip(self.symbols, self.ranges, strict=True)})

    def read(self, specs: Sequence[SizedSpec], arrays: Sequence[Array]) -> list[int]:
        """Return the symbols' values.

        Raises FrontendError, naming input and dimension, for an extent that its size cannot have, or out of bounds.
        """
        numbers = [0] * len(self.symbols)
        for solution in self.solutions:
            spec, array = specs[solution.input], arrays[solution.input]
            name, extent = self.symbols[solution.symbol], array.shape[solution.axis]
            value, remainder = divmod(extent - _sum(solution.rest, numbers), solution.scale)
            where = f"inputs: dimension {solution.axis} of {spec}"
            if remainder or value < 0:
                raise FrontendError(f"{where}: expected a value of {spec.texts[solution.axis]}, got {extent}")
            low, high = self.ranges[solution.symbol]
            if value < low or (high is not None and value > high):
                bounds = f"{low} <= {name}" if high is None else f"{low} <= {name} <= {high}"
                raise FrontendError(f"{where}: expected {bounds}, got {name} = {value}")
            numbers[solution.symbol] = value
        return numbers

    def spelled(self, values: Sequence[int]) -> str:
        """Return the symbols and their values as text: `batch = 1, seq = 7`."""
        return ", ".join(f"{name} = {value}" for name, value in zip(self.symbols, values, strict=False))

    def check(self, specs: Sequence[SizedSpec], arrays: Sequence[Array], values: Sequence[int]) -> None:
        """Raise FrontendError if an extent of an input is not its size, or if a size is negative."""
        alike: set[tuple[object, object]] = set()
        for spec, array in zip(specs, arrays, strict=True):
            if (kind := (spec.numbers, array.shape)) in alike:
                continue
            alike.add(kind)
            for axis, (extent, size) in enumerate(zip(array.shape, spec.extents(values), strict=True)):
                if extent != size:
                    text = spec.texts[axis]
                    equation = f"{text} = {size}" if not text.isdecimal() else text
                    because = f" for {self.spelled(values)}" if isinstance(spec.numbers[axis], Value) else ""
                    layers = named(spec.layers[axis] if spec.layers else ())
                    raise FrontendError(
                        f"inputs: dimension {axis} of {spec}: expected {equation}{because}, got {extent}{layers}"
                    )
        for derived, value in zip(self.derived, values[len(self.symbols) :], strict=True):
            if value < 0:
                layers = named(derived.layers)
                symbols = self._sources(derived.text, specs, values)
                raise FrontendError(f"inputs: expected {derived.text} of at least 0 for {symbols}, got {value}{layers}")

    def _sources(self, text: str, specs: Sequence[SizedSpec], values: Sequence[int]) -> str:
        """Return the symbols in a text, with their values and the dimensions that these were read off."""
        words = set(re.findall(r"[^\W\d]\w*", text))
        return ", ".join(
            f"{self.symbols[solution.symbol]} = {values[solution.symbol]} "
            f"(dimension {solution.axis} of {specs[solution.input]})"
            for solution in sorted(self.solutions, key=lambda solution: solution.symbol)
            if self.symbols[solution.symbol] in words
        )


def _sum(terms: Terms, values: Sequence[int]) -> int:
    total = 0
    for coefficient, factors in terms:
        for symbol in factors:
            coefficient *= values[symbol]
        total += coefficient
    return total
