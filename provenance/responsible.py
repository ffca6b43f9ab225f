"""Blame: the layers that an op may name after a pass, by what it was and what the ledger says that it was made of.

An op that stays may take over layers of what went, where an entry says that it changed. A new op has layers of the ops
that it was made of, of what those read, and of what it reads. Where no entry tells, the ops that it is in the place of
say what it was made of (pairing.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from .ledger import Entry, Ledger
from .lost import is_lost
from .numbers import number_of
from .pairing import Pairing, Shape
from .span import leaves, value_location
from .walk import walk


@dataclass(frozen=True)
class Blame:
    """The locations of an op and of what it reads."""

    own: LocationAttr
    read: tuple[LocationAttr, ...]
    """For an op that follows from constants, the locations of the constants and of the ops between."""


def blame_of(root: Operation) -> dict[int, Blame]:
    """The locations of all ops at and below `root`, by the ops' numbers."""
    constant: dict[Operation, tuple[LocationAttr, ...]] = {}
    """Op that follows from constants -> the locations of all ops that it follows from."""
    blames: dict[int, Blame] = {}
    for op in walk(root):
        read = tuple(map(value_location, op.operands))
        if not op.regions and all(value.owner in constant for value in op.operands):
            inner = (at for value in op.operands for at in constant[cast(Operation, value.owner)])
            read = constant[op] = tuple(dict.fromkeys((*read, *inner)))
        blames[number_of(op)] = Blame(op.location, read)
    return blames


@dataclass
class Responsible:
    """The layers that the ops of a pass may name.

    before: the locations before the pass. since: the number of entries of the ledger then. shape: the data flow then.
    """

    before: Mapping[int, Blame]
    ledger: Ledger
    since: int
    shape: Shape

    @staticmethod
    def before_pass(root: Operation, ledger: Ledger) -> Responsible:
        """Return what to ask after a pass on `root` that `ledger` records."""
        return Responsible(blame_of(root), ledger, len(ledger.entries), Shape.of(root))

    def wrongly_blamed(self, root: Operation) -> list[tuple[Operation, tuple[LocationAttr, ...]]]:
        """Ops at and below `root` that name layers which they have no part in, and these layers."""
        makers: dict[int, list[Entry]] = {}
        for entry in self.ledger.entries[self.since :]:
            for number in entry.targets:
                makers.setdefault(number, []).append(entry)
        pairing = Pairing(self.shape, {number: blame.own for number, blame in self.before.items()}, root)
        blamed: list[tuple[Operation, tuple[LocationAttr, ...]]] = []
        for op in walk(root):
            was = self.before.get(number_of(op))
            if was is not None and op.location is was.own:
                continue
            named = [leaf for leaf in leaves(op.location) if not is_lost(leaf)]
            allowed = set(leaves(was.own)) if was is not None else set[LocationAttr]()
            if not allowed.issuperset(named):
                allowed |= self._allowed(number_of(op), makers)
                if not self._made(number_of(op), makers):
                    allowed.update(
                        leaf for old in pairing.stands_for(number_of(op)) for leaf in leaves(self.before[old].own)
                    )
                if was is None:
                    allowed.update(leaf for value in op.operands for leaf in leaves(value_location(value)))
                if wrong := tuple(leaf for leaf in named if leaf not in allowed):
                    blamed.append((op, wrong))
        return blamed

    def _made(self, number: int, makers: Mapping[int, Sequence[Entry]]) -> bool:
        """Return whether the ledger says what an op was made of."""
        return number in self.ledger.copies or any(entry.sources or entry.removed for entry in makers.get(number, ()))

    def _allowed(self, number: int, makers: Mapping[int, Sequence[Entry]]) -> set[LocationAttr]:
        """The leaves of what an op was made of in the pass, and of what that read."""
        allowed: set[LocationAttr] = set()
        met: set[int] = set()
        waiting = [number]
        while waiting:
            if (op := waiting.pop()) in met:
                continue
            met.add(op)
            if op in self.ledger.copies:
                waiting.append(self.ledger.copies[op][0])
            if op != number and (was := self.before.get(op)) is not None:
                allowed.update(leaf for location in (was.own, *was.read) for leaf in leaves(location))
            for entry in makers.get(op, ()):
                allowed.update(leaf for location in entry.before for leaf in leaves(location))
                waiting += entry.sources
        return allowed
