"""Families: primitive functions that differ in one extent, such as the number of blocks of input channels.

The layers of a densely connected network compute the same on ever more channels. One kernel serves them all: the extent
that tells them apart is a size of it, `s0`, and each call gives it a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.relay.call_tir import KERNEL
from ...dialects.relay.core import FuncOp
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import NOMINAL, kernel_size
from ...dialects.sizes.types import is_static, tensor_of
from ...passes.relay.cloning import clone_op

_LEAST = 3
"""Members of a family: the schedule of one kernel takes as long as those of two."""
_OUTER = 2
"""The first axes of a tensor, of which loops over blocks are made; in others tiles and vectors are cut."""

Extents = tuple[int, ...]
"""The extents of all tensors of a function, one behind the other."""
_Term = tuple[int, int]
"""A factor of another extent, and what is added."""


@dataclass(frozen=True, eq=False)
class Family:
    """Functions that differ in one extent."""

    function: FuncOp
    """The anonymous function of the size `s0` that they share."""
    typical: FuncOp
    """The anonymous function of a member in the middle."""
    extent: int
    """The number that is `s0` of that one."""


@dataclass(frozen=True)
class Member:
    """The place of a function in its family."""

    family: Family
    extent: int
    """The number that is `s0` of this one."""


class _Group(NamedTuple):
    terms: Mapping[int, _Term]
    """The places of extents that differ, and what they are of the one at `base`."""
    base: int
    members: Sequence[Extents]


def members_of(functions: Sequence[FuncOp]) -> dict[int, Member]:
    """The members of families among anonymous functions, by their positions."""
    alike: dict[Hashable, dict[Extents, list[int]]] = {}
    outer: dict[Hashable, Mapping[int, int]] = {}
    for position, func in enumerate(functions):
        if (structure := _structure(func)) is not None:
            key, extents, outer[key] = structure
            alike.setdefault(key, {}).setdefault(extents, []).append(position)
    members: dict[int, Member] = {}
    for key, positions in alike.items():
        for group in _groups(list(positions), outer[key]):
            # The work for the typical extent is compared with that for a nominal one.
            others = [extents for extents in group.members if extents[group.base] != NOMINAL]
            typical = sorted(others, key=lambda extents: extents[group.base])[len(others) // 2]
            example = functions[positions[typical][0]]
            if (function := _opened(example, typical, group)) is not None:
                family = Family(function, example, typical[group.base])
                for extents in group.members:
                    members |= dict.fromkeys(positions[extents], Member(family, extents[group.base]))
    return members


def _structure(func: FuncOp) -> tuple[Hashable, Extents, Mapping[int, int]] | None:
    """All of a function but the extents of its tensors; these; and the places among them of outer axes, with tensors.

    None where some are no numbers.
    """
    extents: list[int] = []
    outer: dict[int, int] = {}
    places: dict[SSAValue, int] = {}
    parts: list[Hashable] = []

    def note(value: SSAValue) -> bool:
        number = places[value] = len(places)
        if not isinstance(value.type, TensorType):
            return False
        type_ = cast("TensorType[Attribute]", value.type)
        shape = type_.get_shape()
        parts.append((type_.element_type, len(shape)))
        outer.update((len(extents) + axis, number) for axis in range(min(_OUTER, len(shape) - 1)))
        extents.extend(shape)
        return is_static(type_)

    block = func.block
    if not all(map(note, block.args)):
        return None
    for op in block.ops:
        notes = tuple(op.properties.items()), op.attributes.get(KERNEL)
        parts.append((type(op), tuple(places[operand] for operand in op.operands), notes))
        if op.regions or not all(map(note, op.results)):
            return None
    return tuple(parts), tuple(extents), outer


def _groups(members: Sequence[Extents], outer: Mapping[int, int]) -> list[_Group]:
    """The families among functions of one structure; of several ways to have some, that with most members.

    outer: the places of extents that may differ, and the tensors that have them; one of each, so that the work grows as
    the extent does.
    """
    varying = [place for place, column in enumerate(zip(*members, strict=True)) if len(set(column)) > 1]
    best: list[_Group] = []
    seen = set[int]()
    for base in varying:
        if base in seen:
            continue
        terms = {place: term for place in varying if (term := _term(members, base, place)) is not None}
        seen |= terms.keys()
        tensors = {outer.get(place) for place in terms}
        if None in tensors or len(tensors) < len(terms):
            continue
        groups: dict[Extents, list[Extents]] = {}
        for extents in members:
            rest = tuple(extent for place, extent in enumerate(extents) if place not in terms)
            groups.setdefault(rest, []).append(extents)
        found = [_Group(terms, base, group) for group in groups.values() if len(group) >= _LEAST]
        best = max(best, found, key=lambda families: sum(len(family.members) for family in families))
    return best


def _term(members: Sequence[Extents], base: int, place: int) -> _Term | None:
    """The factor and what is added that make one extent of another in all members, if there are such."""
    first = members[0]
    other = next(extents for extents in members if extents[base] != first[base])
    factor, rest = divmod(other[place] - first[place], other[base] - first[base])
    added = first[place] - factor * first[base]
    if rest or factor < 1 or any(extents[place] != factor * extents[base] + added for extents in members):
        return None
    return factor, added


def _opened(example: FuncOp, extents: Extents, group: _Group) -> FuncOp | None:
    """A function with the size `s0` for an extent; None where some operator needs a number."""
    size = kernel_size(0)
    sizes: list[Size] = list(extents)
    for place, (factor, added) in group.terms.items():
        sizes[place] = factor * size + added
    left = iter(sizes)

    def opened(type_: Attribute) -> Attribute:
        tensor = cast("TensorType[Attribute]", type_)
        return tensor_of(tensor.element_type, [next(left) for _ in tensor.get_shape()])

    copy = cast(FuncOp, clone_op(example, {}, opened))
    inputs, outputs = ([value.type for value in values] for values in (copy.block.args, copy.return_op.values))
    copy.function_type = FunctionType.from_lists(inputs, outputs)
    try:
        copy.verify()
    except VerifyException:
        return None
    return copy
