"""Old and new ops of a pass that keeps no ledger, paired by what took the place of results.

What an op that stays reads now stands for what it read before; what that reads in turn for what the old op read, and
for the old op itself; and ops that give no results for those that went from the same gap between ops that stay.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from .numbers import number_of
from .span import leaves
from .walk import walk


@dataclass(frozen=True)
class Shape:
    """The data flow of a module by the numbers of its ops."""

    reads: Mapping[int, tuple[int, ...]]
    """Op -> the op that makes each operand; 0 for an argument."""
    inside: Mapping[int, tuple[int, ...]]
    """Op -> those that stand in it, in order."""
    names: Mapping[int, str]
    silent: frozenset[int]
    """The ops without results."""

    @staticmethod
    def of(root: Operation) -> Shape:
        """Return the data flow at and below `root`."""
        reads: dict[int, tuple[int, ...]] = {}
        inside: dict[int, tuple[int, ...]] = {}
        names: dict[int, str] = {}
        for op in walk(root):
            number = number_of(op)
            names[number] = op.name
            reads[number] = tuple(map(_maker, op.operands))
            if op.regions:
                inside[number] = tuple(number_of(inner) for inner in _children(op))
        silent = frozenset(number_of(op) for op in walk(root) if not op.results)
        return Shape(reads, inside, names, silent)


def _maker(value: SSAValue) -> int:
    return number_of(value.owner) if isinstance(value.owner, Operation) else 0


def _children(op: Operation) -> Iterator[Operation]:
    return (inner for region in op.regions for block in region.blocks for inner in block.ops)


@dataclass
class Pairing:
    """The old ops that each op of a module stands for after a pass."""

    before: Shape
    locations: Mapping[int, LocationAttr]
    root: Operation

    def stands_for(self, number: int) -> set[int]:
        """Return the old ops that an op stands for: those it is in the place of, and what went with them."""
        mine = self._serves.get(number, set[int]())
        reached: set[int] = set()
        waiting = [*mine, *([number] if number in self.before.reads else [])]
        while waiting:
            if (old := waiting.pop()) not in reached:
                reached.add(old)
                waiting += [maker for maker in self.before.reads.get(old, ()) if maker in self._gone]
                waiting += self.before.inside.get(old, ()) if old in self._gone else ()
        # Ops that others replace belong to those.
        return (reached - (self._replaced - mine) | self._changed_places(number)) - {0, number}

    def _changed_places(self, number: int) -> set[int]:
        """Operators of the name of a new op that went beside those that it is in the place of, and that no op names.

        So it is where operators commute.
        """
        if not self._is_new(number):
            return set()
        reached: set[int] = set()
        waiting = [old for old in self._direct.get(number, ()) if old in self._gone]
        while waiting:
            if (old := waiting.pop()) not in reached:
                reached.add(old)
                beside = (*self.before.reads[old], *self._readers.get(old, ()))
                waiting += [other for other in beside if other in self._gone]
        name = self._ops[number].name
        return {old for old in reached if self.before.names[old] == name and not self._still_named(old)}

    def _still_named(self, old: int) -> bool:
        """Return whether an op that is in the place of an old one has its layers."""
        own = set(leaves(self.locations[old]))
        new = (number for number, each in self._direct.items() if old in each)
        return any(not own.isdisjoint(leaves(self._ops[number].location)) for number in new)

    @cached_property
    def _replaced(self) -> set[int]:
        """The ops that new ones are in the place of."""
        return {old for new, each in self._direct.items() if self._is_new(new) for old in each}

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """Old op -> those that read it."""
        readers: dict[int, list[int]] = {}
        for number, makers in self.before.reads.items():
            for maker in makers:
                readers.setdefault(maker, []).append(number)
        return readers

    @cached_property
    def _ops(self) -> dict[int, Operation]:
        return {number_of(op): op for op in walk(self.root)}

    @cached_property
    def _gone(self) -> set[int]:
        return self.before.reads.keys() - self._ops.keys()

    def _is_new(self, number: int) -> bool:
        return number not in self.before.reads

    @cached_property
    def _direct(self) -> dict[int, set[int]]:
        """Op -> the old ops in whose place it is: what ops read that stay, and what those read that took a place."""
        direct: dict[int, set[int]] = {}
        waiting: list[tuple[int, int]] = []
        for number in self._ops:
            if number in self.before.reads:
                waiting.append((number, number))
        waiting += self._in_gaps()
        while waiting:
            old, new = waiting.pop()
            if old != new:
                if old in direct.setdefault(new, set()):
                    continue
                direct[new].add(old)
                if not old or not self._is_new(new):
                    continue
            were, now = self.before.reads[old], tuple(map(_maker, self._ops[new].operands))
            if len(were) == len(now):
                pairs = [(was, is_) for was, is_ in zip(were, now, strict=True) if was != is_]
            else:
                came = {is_ for is_ in now if is_ not in were}
                # Ops that read others of these were unfolded from the reader.
                first = [is_ for is_ in came if is_ and not self._reads(is_, came)]
                pairs = [(was, is_) for was in were if was not in now for is_ in first]
            # For a new op, only removed ops may be in the same place.
            waiting += [
                (was, is_) for was, is_ in pairs if is_ and (old == new or (was in self._gone and self._is_new(is_)))
            ]
        return direct

    def _in_gaps(self) -> Iterator[tuple[int, int]]:
        """New ops that give no results, with such as went from between the same ops that stay."""
        for number, children in self.before.inside.items():
            if number not in self._ops:
                continue
            gap: list[int] = []
            gone: dict[int, list[int]] = {}
            """Op that stays, or 0 for the end -> those that went from before it."""
            for child in (*children, 0):
                if child in self._gone:
                    gap += [child] if child in self.before.silent else []
                else:
                    gone[child], gap = gap, []
            new: list[int] = []
            for child in (*map(number_of, _children(self._ops[number])), 0):
                if child and self._is_new(child):
                    new += [child] if not self._ops[child].results else []
                else:
                    yield from ((old, inserted) for inserted in new for old in gone.get(child, ()))
                    new = []

    @cached_property
    def _serves(self) -> dict[int, set[int]]:
        """Op -> the old ops that it, or what it feeds, is in the place of."""
        serves = {number: set(old) for number, old in self._direct.items()}
        waiting = list(self._ops)
        functions = {
            name.data: number
            for number, op in self._ops.items()
            if isinstance(name := op.properties.get("sym_name", op.attributes.get("sym_name")), StringAttr)
        }
        while waiting:
            number = waiting.pop()
            mine = serves.get(number, set[int]())
            for feeding in self._feeding(number, functions):
                if not self._gone.isdisjoint(self._direct.get(feeding, ())):
                    continue
                theirs = serves.setdefault(feeding, set())
                asked = mine if not self._asks(number, feeding) else mine | {number}
                if not theirs >= asked:
                    theirs |= asked
                    waiting.append(feeding)
        return serves

    def _feeding(self, number: int, functions: Mapping[str, int]) -> Iterator[int]:
        """The new ops that work for an op: it reads them, they stand in it, or in a function that it calls."""
        op = self._ops[number]
        for value in op.operands:
            if self._is_new(maker := _maker(value)) and maker:
                yield maker
        inside = list(_children(op))
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, SymbolRefAttr) and (name := attribute.string_value()) in functions:
                inside.append(self._ops[functions[name]])
        yield from (inner for inner in map(number_of, inside) if self._is_new(inner))

    def _asks(self, number: int, feeding: int) -> bool:
        """Return whether a new op was put between one that stays and what this read before."""
        between = self._direct.get(feeding, set[int]()) - self._gone
        return bool(between) and not self._is_new(number) and self._reads(feeding, between)

    def _reads(self, number: int, values: Container[int]) -> bool:
        """Return whether an op reads one of `values`, maybe through new ops."""
        met: set[int] = set()
        waiting = [number]
        while waiting:
            for maker in map(_maker, self._ops[waiting.pop()].operands):
                if maker in values:
                    return True
                if maker and maker not in met and self._is_new(maker):
                    met.add(maker)
                    waiting.append(maker)
        return False
