"""Effects of ops on memory, as xDSL's traits say them. What holds ops is not asked again by each op around it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cache
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, RecursiveMemoryEffect

Effects: TypeAlias = Set[EffectInstance]

Known: TypeAlias = dict[Operation, Effects | None]
"""The effects of ops with regions, as far as they were asked for."""


@cache
def _tellers(traits: frozenset[OpTrait]) -> tuple[MemoryEffect, ...]:
    return tuple(trait for trait in traits if isinstance(trait, MemoryEffect))


def effects_of(op: Operation, known: Known) -> Effects | None:
    """Return the effects on memory of an op and the ops in it; None where nothing tells."""
    if op in known:
        return known[op]
    tellers = _tellers(op.traits.traits)
    effects: Effects | None = frozenset() if tellers else None
    for teller in tellers:
        part = _of_contents(op, known) if isinstance(teller, RecursiveMemoryEffect) else teller.get_effects(op)
        if part is None or effects is None:
            effects = None
            break
        effects = effects | part if effects else part
    if op.regions:
        known[op] = effects
    return effects


def _of_contents(op: Operation, known: Known) -> Effects | None:
    collected: set[EffectInstance] = set()
    for inner in _contents(op):
        if (effects := effects_of(inner, known)) is None:
            return None
        collected |= effects
    return collected


def _contents(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def acts_on_nothing_else(root: Operation) -> bool:
    """Return whether an op, with all in it, does no more than read memory and allocate what it defines."""
    stack = [root]
    while stack:
        op = stack.pop()
        if not (tellers := _tellers(op.traits.traits)):
            return False
        for teller in tellers:
            if isinstance(teller, RecursiveMemoryEffect):
                # The last op of a block, which often writes, is asked first.
                stack.extend(_contents(op))
            elif (effects := teller.get_effects(op)) is None:
                return False
            elif not all(_is_own(effect, root) for effect in effects):
                return False
    return True


def _is_own(effect: EffectInstance, root: Operation) -> bool:
    if effect.kind is MemoryEffectKind.READ:
        return True
    value = effect.value
    return effect.kind is MemoryEffectKind.ALLOC and isinstance(value, SSAValue) and root.is_ancestor(value.owner)
