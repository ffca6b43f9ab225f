"""The ops of layers in an order in which no layer needs a later one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from xdsl.ir import Operation


def groups_in_order(ops: Sequence[Operation], layer_of: Mapping[Operation, Hashable]) -> list[list[Operation]]:
    """Return the ops of each layer together, in an order in which values flow forwards; an op of none is alone.

    ops: in an order in which they can run. Layers that need one another, as what another layer does lies between their
    parts, are taken apart: each op of them is alone. Time is that of sorting.
    """
    key: dict[Operation, Hashable] = {op: op if layer_of[op] is None else layer_of[op] for op in ops}
    groups, order = _sorted(ops, key)
    if len(order) < len(groups):
        for group in _tangled(ops, key, groups):
            key.update((op, op) for op in groups[group])
        groups, order = _sorted(ops, key)
    return [groups[group] for group in order]


def _reads(ops: Sequence[Operation], key: Mapping[Operation, Hashable]) -> dict[Hashable, set[Hashable]]:
    """Group -> the groups whose values it reads."""
    reads: dict[Hashable, set[Hashable]] = {}
    for op in ops:
        behind = reads.setdefault(key[op], set())
        for value in op.operands:
            source = key.get(value.owner) if isinstance(value.owner, Operation) else None
            if source is not None and source != key[op]:
                behind.add(source)
    return reads


def _turned(reads: Mapping[Hashable, set[Hashable]]) -> dict[Hashable, set[Hashable]]:
    turned: dict[Hashable, set[Hashable]] = {group: set() for group in reads}
    for group, behind in reads.items():
        for source in behind:
            turned[source].add(group)
    return turned


def _sorted(
    ops: Sequence[Operation], key: Mapping[Operation, Hashable]
) -> tuple[dict[Hashable, list[Operation]], list[Hashable]]:
    """The groups, and those that can be put in order: as they begin in the source, where their values allow it."""
    groups: dict[Hashable, list[Operation]] = {}
    for op in ops:
        groups.setdefault(key[op], []).append(op)
    return groups, _freed(_reads(ops, key), list(groups))


def _freed(reads: Mapping[Hashable, set[Hashable]], groups: Sequence[Hashable]) -> list[Hashable]:
    """Groups in order, each when all that it reads is there: not those that wait for one another."""
    number = {group: index for index, group in enumerate(groups)}
    readers, waits = _turned(reads), {group: len(reads[group]) for group in groups}
    ready = [number[group] for group in groups if not waits[group]]
    heapify(ready)
    order: list[Hashable] = []
    while ready:
        group = groups[heappop(ready)]
        order.append(group)
        for reader in readers[group]:
            waits[reader] -= 1
            if not waits[reader]:
                heappush(ready, number[reader])
    return order


def _tangled(
    ops: Sequence[Operation], key: Mapping[Operation, Hashable], groups: Mapping[Hashable, Sequence[Operation]]
) -> set[Hashable]:
    """The groups that are on a way from one of them back to it, or between two such ways."""
    reads = _reads(ops, key)
    forwards, backwards = _freed(reads, list(groups)), _freed(_turned(reads), list(groups))
    return set(groups) - {*forwards, *backwards}
