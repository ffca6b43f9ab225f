"""The sizes that a model accepts, which may be fewer than its inputs declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute

from ...dialects.relay.core import FuncOp
from ...dialects.relay.size_ranges import set_narrowed, set_ranges
from ...dialects.sizes import Ranges, Size, common_range, only, range_for, same, substitute, symbols_of
from ...dialects.sizes.types import extents_of, tensor_of
from ...provenance.span import fuse
from .tensor import Undecided

Place = tuple[str, int]
"""An input and a dimension of it."""


def _places() -> dict[Place, LocationAttr]:
    return {}


@dataclass(frozen=True)
class Taken:
    """The inputs that a model accepts."""

    types: Mapping[str, TensorType[Attribute]]
    """The types of the inputs."""
    ranges: Ranges
    """The ranges of symbols."""
    layers: Mapping[Place, LocationAttr] = field(default_factory=_places)
    """The layers that require an extent to equal another."""

    def narrowed(self, undecided: Undecided) -> Taken | None:
        """Return the inputs for which a question about sizes has one answer; None if there are none."""
        if (equal := self._made_equal(undecided)) is not None:
            return equal
        bound = range_for(*undecided.equal) if undecided.equal is not None else None
        if bound is None:
            return None
        name, range_ = bound
        common = common_range(self.ranges.get(name, (0, None)), range_)
        if common is None or self.ranges.get(name) == common:
            return None
        return replace(self, ranges={**self.ranges, name: common})

    def _made_equal(self, undecided: Undecided) -> Taken | None:
        """Return the inputs with one of two sizes, a symbol, replaced by the other; the later one if both are symbols.

        If only one number of a symbol makes them equal, it replaces the symbol. So every call checks it as an extent
        of an input. None if the two need not be equal, or if all symbols in them have ranges.
        """
        if undecided.layer is None or undecided.equal is None:
            return None
        extents = [size for type_ in self.types.values() for size in extents_of(type_)]
        symbols = list(dict.fromkeys(name for size in extents for name in symbols_of(size)))
        candidates: list[tuple[int, str, Size]] = [
            (symbols.index(str(symbol)), str(symbol), size)
            for symbol, size in (undecided.equal, undecided.equal[::-1])
            if str(symbol) in symbols and str(symbol) not in self.ranges and str(symbol) not in symbols_of(size)
        ]
        if not candidates:
            free = [name for name in symbols if name not in self.ranges]
            candidates = [(0, name, number) for name in free if (number := only(name, *undecided.equal)) is not None]
        if not candidates:
            return None
        _, name, replacement = max(candidates, key=lambda candidate: candidate[0])
        types, layers = dict(self.types), dict(self.layers)
        for key, type_ in types.items():
            sizes = [substitute(size, {name: replacement}) for size in extents_of(type_)]
            types[key] = tensor_of(type_.element_type, sizes)
            for axis, (size, old_size) in enumerate(zip(sizes, extents_of(type_), strict=True)):
                if not same(size, old_size):
                    layer = layers.get((key, axis))
                    layers[key, axis] = undecided.layer if layer is None else fuse([layer, undecided.layer])
        return replace(self, types=types, layers=layers)

    def note(self, main: FuncOp) -> None:
        """Record ranges and layers in the program's function."""
        set_ranges(main, self.ranges)
        order = list(self.types)
        set_narrowed(main, {(order.index(name), axis): layer for (name, axis), layer in self.layers.items()})
