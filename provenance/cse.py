"""Common subexpressions: equal ops become one, which is located at all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import ConstantLike, DefaultResource, IsolatedFromAbove, IsTerminator, MemoryEffectKind

from .effects import Known, effects_of
from .ledger import current_ledger
from .numbers import moves_of
from .span import fuse

Key: TypeAlias = Callable[[Operation], Hashable | None]
"""The key by which ops are equal; None for an op that is not merged."""


def eliminate_common_subexpressions(
    region: Region,
    skip: Iterable[type[Operation]] = (),
    *,
    key: Key | None = None,
    unless: Callable[[Operation], bool] | None = None,
) -> bool:
    """Merge each op of `region` that computes or reads what an earlier one of its block, or of a block around, does.

    An op without effects may go, and one that only reads if nothing between writes what it reads: effects are those of
    xDSL's traits. The survivor is located at all that it stands for.
    skip: the ops of these classes are not merged; constants among them count as equal operands.
    key: which ops are equal; by default those with class, operands, properties, attributes and result types in common.
    unless: asked about each other op whether it is not merged.
    Returns whether any merged.
    """
    skipped = tuple(skip)

    def value_number(op: Operation) -> Hashable | None:
        kept = isinstance(op, skipped) or (unless is not None and unless(op))
        return None if kept else _value_number(op, skipped)

    driver = _Driver(key or value_number)
    driver.region(region)
    for survivor, merged in driver.twins.items():
        _absorb(survivor, merged)
    return bool(driver.twins)


def _value_number(op: Operation, skipped: tuple[type[Operation], ...]) -> Hashable:
    operands: list[object] = []
    for operand in op.operands:
        owner = operand.owner
        # Constants that are not merged are still the same operand when they are equal.
        if isinstance(owner, skipped) and owner.has_trait(ConstantLike):
            operands.append(_value_number(owner, ()))
        else:
            operands.append(id(operand))
    properties: frozenset[tuple[str, Attribute]] = frozenset(op.properties.items())
    return type(op), tuple(operands), tuple(op.result_types), properties, frozenset(op.attributes.items())


class _Driver:
    """The ops seen so far in the current block and those around it, by what they compute."""

    def __init__(self, key: Key):
        self.key = key
        self.known: dict[Hashable, Operation] = {}
        self.twins: dict[Operation, list[Operation]] = {}
        self.writes: Counter[object] = Counter()
        """The number of writes to each value so far; under None those that may write anywhere."""
        self.effects: Known = {}

    def region(self, region: Region) -> None:
        for block in region.blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        mine: list[Hashable] = []
        for op in list(block.ops):
            if op.regions:
                self._inside(op)
            elif op.has_trait(IsTerminator) or (seen := self._reads(op)) is None:
                self._write(op)
            elif op.results and (key := self.key(op)) is not None:
                survivor = self.known.setdefault((key, seen), op)
                if survivor is op:
                    mine.append((key, seen))
                else:
                    self._merge(survivor, op)
        for entry in mine:
            del self.known[entry]

    def _inside(self, op: Operation) -> None:
        # A loop may read in one iteration what it wrote in the one before.
        self._write(op)
        outside = self.known
        if op.has_trait(IsolatedFromAbove):
            self.known = {}
        for region in op.regions:
            self.region(region)
        self.known = outside

    def _reads(self, op: Operation) -> Hashable | None:
        """The state of what an op reads; None if it does more than read values."""
        if (effects := effects_of(op, self.effects)) is None:
            return None
        if not effects:
            return ()
        read: list[Hashable] = []
        for effect in effects:
            if effect.kind is not MemoryEffectKind.READ or not isinstance(effect.value, SSAValue):
                return None
            read.append((effect.value, self.writes[effect.value], self.writes[None]))
        return tuple(read)

    def _write(self, op: Operation) -> None:
        """Count what an op, with all in it, writes."""
        if (effects := effects_of(op, self.effects)) is None:
            self.writes[None] += 1
            return
        for effect in effects:
            if effect.kind is MemoryEffectKind.WRITE and isinstance(effect.resource, DefaultResource):
                self.writes[effect.value] += 1

    def _merge(self, survivor: Operation, twin: Operation) -> None:
        for old, new in zip(twin.results, survivor.results, strict=True):
            old.replace_all_uses_with(new)
        self.twins.setdefault(survivor, []).append(twin)
        twin.detach()


def _absorb(survivor: Operation, merged: list[Operation]) -> None:
    before = (survivor.location, *(op.location for op in merged))
    survivor.location = fuse(before)
    if (ledger := current_ledger()) is not None:
        ledger.record(
            "CommonSubexpression",
            removed=merged,
            created=[survivor],
            before=before,
            moves=[move for op in merged for move in moves_of(op.results, survivor.results)],
            reason="equal ops merged",
        )
    for op in merged:
        op.erase()
