"""Ops as a pass left them, against which they are held after the next one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from ...provenance.numbers import number_of
from ...provenance.walk import walk

Identity: TypeAlias = tuple[int, int, int]
"""The number of an op, a block of it (-1: its results) and which of the block's arguments, or of its results."""


def identity(value: SSAValue) -> Identity:
    """The identity of a value, the same in copies of the module that keep the numbers of ops."""
    if isinstance(value, OpResult):
        return number_of(value.op), -1, value.index
    assert isinstance(value, BlockArgument)
    around = value.block.parent_op()
    if around is None:
        return 0, 0, value.index
    return number_of(around), _position(value.block, around), value.index


def _position(block: Block, around: Operation) -> int:
    """The number of a block among those of its op."""
    if block is around.regions[0].first_block:
        return 0
    blocks = [inner for region in around.regions for inner in region.blocks]
    return next(number for number, inner in enumerate(blocks) if inner is block)


class State(NamedTuple):
    """The properties that make an op the same as before, without the names of values."""

    operands: tuple[SSAValue, ...]
    attributes: dict[str, Attribute]
    properties: dict[str, Attribute]
    results: tuple[Attribute, ...]
    """Their types."""
    location: LocationAttr
    arguments: tuple[Attribute, ...] = ()
    """The types of the arguments of its blocks."""
    last: tuple[int, ...] = ()
    """The numbers of the last ops of its blocks: with the order of all ops they tell which op is in which."""

    @staticmethod
    def of(op: Operation) -> State:
        results = tuple(result.type for result in op.results)
        state = State(_operands(op), dict(op.attributes), dict(op.properties), results, op.location)
        return state._replace(arguments=_arguments(op), last=_last(op)) if op.regions else state

    def computes(self, op: Operation) -> bool:
        """Return whether `op` computes what it did, of the same values."""
        operands = _operands(op)
        if operands is not self.operands and not _same_values(self.operands, operands):
            return False
        if len(op.results) != len(self.results):
            return False
        for result, before in zip(op.results, self.results, strict=True):
            if (type_ := result.type) is not before and type_ != before:
                return False
        # Equal dictionaries of the same attributes compare by identity.
        return (
            self.attributes == op.attributes
            and self.properties == op.properties
            and (not op.regions or self.arguments == _arguments(op))
        )


def _operands(op: Operation) -> tuple[SSAValue, ...]:
    """The operands of an op: the tuple that it holds, another one as soon as they change. `op.operands` copies."""
    return vars(op)["_operands"]


def _arguments(op: Operation) -> tuple[Attribute, ...]:
    return tuple(argument.type for region in op.regions for block in region.blocks for argument in block.args)


def _last(op: Operation) -> tuple[int, ...]:
    ops = (block.last_op for region in op.regions for block in region.blocks)
    return tuple(number_of(last) if last is not None else 0 for last in ops)


def _same_values(before: Sequence[SSAValue], after: Sequence[SSAValue]) -> bool:
    if len(before) != len(after):
        return False
    return all(old is new or identity(old) == identity(new) for old, new in zip(before, after, strict=True))


@dataclass(frozen=True)
class Difference:
    """The ops of a module against those of before, by their numbers."""

    new: tuple[int, ...]
    gone: tuple[int, ...]
    changed: tuple[int, ...]
    moved: tuple[int, ...]
    located: bool
    """True if an op has another location."""
    nested: bool
    """True if an op is in another op than before."""

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.changed or self.moved or self.located or self.nested)


class Ops:
    """The ops of a module, in order, as they were when they were last looked at."""

    def __init__(self) -> None:
        self.states: dict[int, State] = {}
        self.order: list[int] = []
        self.names: dict[int, str] = {}
        """The names of all ops ever met."""
        self.locations: dict[int, LocationAttr] = {}
        """The locations of all ops ever met, at their last meeting."""

    def close(self) -> None:
        """Forget how ops were, but for their names and locations."""
        self.states, self.order = {}, []

    def update(self, root: Operation) -> Difference:
        """Look at the ops at and below `root`; in time linear in them."""
        states = self.states
        order: list[int] = []
        new: list[int] = []
        changed: list[int] = []
        located = nested = False
        for op in walk(root):
            number = number_of(op)
            order.append(number)
            location = op.location
            if (state := states.get(number)) is None:
                new.append(number)
                self.names[number] = op.name
            else:
                same = state.computes(op)
                elsewhere = state.location is not location and state.location != location
                inside = bool(op.regions) and state.last != _last(op)
                if same and not elsewhere and not inside:
                    continue
                if not same:
                    changed.append(number)
                located |= elsewhere
                nested |= inside
            states[number] = State.of(op)
            self.locations[number] = location
        gone: tuple[int, ...] = ()
        if len(states) > len(order):
            present = set(order)
            gone = tuple(number for number in self.order if number not in present)
            for number in gone:
                del states[number]
        moved = _moved(self.order, order) if order != self.order else ()
        self.order = order
        return Difference(tuple(new), gone, tuple(changed), moved, located, nested)


def _moved(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """The ops of both orders that stand elsewhere: all but the most that keep their order."""
    positions = {number: position for position, number in enumerate(before)}
    kept = [number for number in after if number in positions]
    stay = set(increasing([positions[number] for number in kept]))
    return tuple(number for position, number in enumerate(kept) if position not in stay)


def increasing(values: Iterable[int]) -> list[int]:
    """The places of a longest increasing subsequence of distinct numbers."""
    ends: list[int] = []
    """Per length the least value that a sequence of it ends with."""
    places: list[int] = []
    previous: list[int] = []
    for position, value in enumerate(values):
        length = len(ends) if not ends or value > ends[-1] else bisect_left(ends, value)
        previous.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            places.append(position)
        else:
            ends[length] = value
            places[length] = position
    sequence: list[int] = []
    position = places[-1] if places else -1
    while position >= 0:
        sequence.append(position)
        position = previous[position]
    sequence.reverse()
    return sequence
