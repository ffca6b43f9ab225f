"""Sizes that a model takes: where it makes sense for some only, fewer than its inputs say."""

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
    """The inputs that a model takes."""

    types: Mapping[str, TensorType[Attribute]]
    """Of the inputs."""
    ranges: Ranges
    """Of symbols."""
    layers: Mapping[Place, LocationAttr] = field(default_factory=_places)
    """Of extents that are another's, those that take no others."""

    def narrowed(self, undecided: Undecided) -> Taken | None:
        """Return the inputs for which a question about sizes has one answer; None if there are none."""
        if (equal := self._made_equal(undecided)) is not None:
            return equal
        needed = range_for(*undecided.equal) if undecided.equal is not None else None
        if needed is None:
            return None
        name, wanted = needed
        common = common_range(self.ranges.get(name, (0, None)), wanted)
        if common is None or self.ranges.get(name) == common:
            return None
        return replace(self, ranges={**self.ranges, name: common})

    def _made_equal(self, undecided: Undecided) -> Taken | None:
        """With one of two sizes in the place of the other: of a symbol, the one met last if both are.

        A symbol for which only one number makes them equal is that. So every call is checked, as inputs always are.
        None where the two need not be equal, or no symbol that may have any value tells.
        """
        if undecided.layer is None or undecided.equal is None:
            return None
        extents = [size for type_ in self.types.values() for size in extents_of(type_)]
        met = list(dict.fromkeys(name for size in extents for name in symbols_of(size)))
        lone: list[tuple[int, str, Size]] = [
            (met.index(str(one)), str(one), other)
            for one, other in (undecided.equal, undecided.equal[::-1])
            if str(one) in met and str(one) not in self.ranges and str(one) not in symbols_of(other)
        ]
        if not lone:
            free = [name for name in met if name not in self.ranges]
            lone = [(0, name, number) for name in free if (number := only(name, *undecided.equal)) is not None]
        if not lone:
            return None
        _, name, other = max(lone, key=lambda found: found[0])
        types, layers = dict(self.types), dict(self.layers)
        for key, type_ in types.items():
            new = [substitute(size, {name: other}) for size in extents_of(type_)]
            types[key] = tensor_of(type_.element_type, new)
            for axis, (size, before) in enumerate(zip(new, extents_of(type_), strict=True)):
                if not same(size, before):
                    known = layers.get((key, axis))
                    layers[key, axis] = undecided.layer if known is None else fuse([known, undecided.layer])
        return replace(self, types=types, layers=layers)

    def note(self, main: FuncOp) -> None:
        """Have the program's function say so."""
        set_ranges(main, self.ranges)
        order = list(self.types)
        set_narrowed(main, {(order.index(name), axis): layer for (name, axis), layer in self.layers.items()})
