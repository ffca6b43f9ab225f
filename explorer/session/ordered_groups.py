"""Groups of a graph's nodes in an order in which no group needs a later one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush

_Key = tuple[Hashable, int]
"""A group, and which part of it."""


def groups_in_order(inputs: Sequence[Sequence[int]], group: Sequence[Hashable]) -> list[list[int]]:
    """Return the nodes of each group together, in an order in which values flow forwards.

    inputs: of each node the nodes that it reads, all of which stand before it. group: of each node; None: it is alone.
    Groups that need one another, as what another one does lies between their parts, are split into parts. Time is that
    of sorting.
    """
    keys: list[_Key] = [(node if of is None else ("group", of), 0) for node, of in enumerate(group)]
    reads = _reads(inputs, keys)
    if len(order := _freed(reads)) < len(reads):
        _split(inputs, keys, reads.keys() - {*order, *_freed(_turned(reads))})
        order = _freed(_reads(inputs, keys))
    members: dict[_Key, list[int]] = {key: [] for key in order}
    for node, key in enumerate(keys):
        members[key].append(node)
    return list(members.values())


def _reads(inputs: Sequence[Sequence[int]], keys: Sequence[_Key]) -> dict[_Key, set[_Key]]:
    """Group -> the groups whose values it reads, in the order of their first nodes."""
    reads: dict[_Key, set[_Key]] = {}
    for key, sources in zip(keys, inputs, strict=True):
        reads.setdefault(key, set()).update(keys[source] for source in sources if keys[source] != key)
    return reads


def _turned(reads: Mapping[_Key, set[_Key]]) -> dict[_Key, set[_Key]]:
    turned: dict[_Key, set[_Key]] = {group: set() for group in reads}
    for group, behind in reads.items():
        for source in behind:
            turned[source].add(group)
    return turned


def _freed(reads: Mapping[_Key, set[_Key]]) -> list[_Key]:
    """Groups in order, each when all that it reads is there: not those that wait for one another."""
    groups = list(reads)
    number = {group: index for index, group in enumerate(groups)}
    readers, waits = _turned(reads), {group: len(behind) for group, behind in reads.items()}
    ready = [number[group] for group in groups if not waits[group]]
    heapify(ready)
    order: list[_Key] = []
    while ready:
        group = groups[heappop(ready)]
        order.append(group)
        for reader in readers[group]:
            waits[reader] -= 1
            if not waits[reader]:
                heappush(ready, number[reader])
    return order


def _split(inputs: Sequence[Sequence[int]], keys: list[_Key], tangled: set[_Key]) -> None:
    """Give each part of tangled groups a key of its own: nodes of one group that can run one after another.

    What needs no group split goes first, and then what stands first.
    """
    nodes = [node for node, key in enumerate(keys) if key in tangled]
    readers: dict[int, list[int]] = {node: [] for node in nodes}
    waits = dict.fromkeys(nodes, 0)
    left: dict[_Key, int] = {}
    for node in nodes:
        left[keys[node]] = left.get(keys[node], 0) + 1
        for source in inputs[node]:
            if source in readers:
                readers[source].append(node)
                waits[node] += 1
    ready: dict[_Key, list[int]] = {key: [] for key in left}
    order: list[tuple[bool, int, _Key]] = []
    """The groups with nodes that can run: those whose nodes all can first."""

    def free(node: int) -> None:
        key = keys[node]
        heappush(ready[key], node)
        heappush(order, (len(ready[key]) < left[key], node, key))

    own = list(keys)
    for node in nodes:
        if not waits[node]:
            free(node)
    parts: dict[_Key, int] = {}
    while order:
        *_, key = heappop(order)
        if not ready[key]:
            continue
        parts[key] = part = parts.get(key, -1) + 1
        while ready[key]:
            node = heappop(ready[key])
            left[key] -= 1
            own[node] = key[0], part
            for reader in readers[node]:
                waits[reader] -= 1
                if not waits[reader]:
                    free(reader)
    keys[:] = own
