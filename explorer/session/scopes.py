"""Name scopes of a graph that can be folded: whichever are folded, the graph that is left has no cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from .ordered_groups import groups_in_order

_DEEPEST = 40
"""The number of parts of a scope that are groups of their own; the last one has all that follow."""


def foldable_scopes(scopes: Sequence[str], inputs: Sequence[Sequence[int]]) -> list[str]:
    """Return the scopes of nodes, those split that nodes outside them lie between: `block1 (1)` and `block1 (2)`.

    inputs: of each node the nodes that it reads, all of which stand before it. Among the groups and nodes in each
    scope, values then flow forwards, so a cycle of folded groups is not possible, whichever are folded.
    """
    paths = [_parts(scope) for scope in scopes]
    names: list[list[str]] = [[] for _ in scopes]
    todo = [(list(range(len(scopes))), 0)]
    local = [-1] * len(scopes)
    while todo:
        nodes, depth = todo.pop()
        keys: list[Hashable] = [paths[node][depth] if depth < len(paths[node]) else None for node in nodes]
        for position, node in enumerate(nodes):
            local[node] = position
        within = [[local[source] for source in inputs[node] if local[source] >= 0] for node in nodes]
        groups = groups_in_order(within, keys)
        times = Counter(keys[group[0]] for group in groups)
        met = Counter[Hashable]()
        for node in nodes:
            local[node] = -1
        for group in groups:
            if (key := keys[group[0]]) is None:
                continue
            met[key] += 1
            inside = [nodes[position] for position in group]
            for node in inside:
                names[node].append(f"{key} ({met[key]})" if times[key] > 1 else str(key))
            if any(len(paths[node]) > depth + 1 for node in inside):
                todo.append((inside, depth + 1))
    return ["/".join(parts) for parts in names]


def _parts(scope: str) -> list[str]:
    parts = [part for part in scope.split("/") if part]
    return [*parts[: _DEEPEST - 1], "/".join(parts[_DEEPEST - 1 :])] if len(parts) > _DEEPEST else parts
