"""Sizes that a model takes: where it makes sense for some only, fewer than its inputs say."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.size_types import extents_of, tensor_of
from ...dialects.sizes import Ranges, common_range, range_for, substitute, symbols_of
from .tensor import Undecided

Types = Mapping[str, TensorType[Attribute]]
"""Input name -> type."""


def narrowed(types: Types, known: Ranges, undecided: Undecided) -> tuple[Types, Ranges] | None:
    """Types of inputs and ranges of symbols for which a question about sizes has one answer; None if there are none."""
    if (equal := _made_equal(types, known, undecided)) is not None:
        return equal, known
    needed = range_for(*undecided.equal) if undecided.equal is not None else None
    if needed is None:
        return None
    name, wanted = needed
    common = common_range(known.get(name, (0, None)), wanted)
    return None if common is None or known.get(name) == common else (types, {**known, name: common})


def _made_equal(types: Types, known: Ranges, undecided: Undecided) -> Types | None:
    """The types with one of two sizes in the place of the other: of a symbol, the one met last if both are.

    So every call is checked, as inputs always are. None where the two need not be equal, or neither is a symbol that
    may have any value.
    """
    if not undecided.needed or undecided.equal is None:
        return None
    met = list(
        dict.fromkeys(name for type_ in types.values() for size in extents_of(type_) for name in symbols_of(size))
    )
    lone = [
        (met.index(str(one)), str(one), other)
        for one, other in (undecided.equal, undecided.equal[::-1])
        if str(one) in met and str(one) not in known and str(one) not in symbols_of(other)
    ]
    if not lone:
        return None
    _, name, other = max(lone, key=lambda found: found[0])
    return {
        key: tensor_of(type_.element_type, [substitute(size, {name: other}) for size in extents_of(type_)])
        for key, type_ in types.items()
    }
