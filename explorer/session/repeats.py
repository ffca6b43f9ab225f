"""Repeated blocks of a graph whose nodes have no name scopes, found by their structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

_REACH = 64
"""The farthest reader of a tensor that joins nodes to blocks; a mask that all layers read joins none."""
_FEWEST = 3
"""The number of nodes of a block."""
_LARGE = 4
"""The number of nodes of a block that is a group although none like it stands beside it."""
_LONGEST = 200
"""The largest number of segments of a block."""
_NAMED = 3
"""The number of operators that a block is named by."""


class _Run(NamedTuple):
    """Equal blocks, one behind the other."""

    first: int
    """The first segment."""
    length: int
    """The segments of a block."""
    times: int

    @property
    def end(self) -> int:
        """The first segment behind it."""
        return self.first + self.length * self.times


def repeated_blocks(
    labels: Sequence[str], inputs: Sequence[Sequence[int]], work: Sequence[int] | None = None
) -> list[str]:
    """Return a scope for each node of a repeated block, `12 x Conv, Add/Conv, Add 3`, and "" for other nodes.

    labels: the operators of nodes. inputs: of each node the nodes that it reads, all of which stand before it. work:
    of each node; a block is named by the operators with the most. The graph is cut where one tensor alone leads on.
    Blocks are segments whose operators and edges are the same.
    """
    bounds = _bounds(inputs)
    shapes = _shapes(labels, inputs, bounds)
    scopes = [""] * len(labels)
    names = Counter[str]()
    runs = _runs(shapes, bounds)
    for run in sorted(runs):
        block = range(bounds[run.first], bounds[run.first + run.length])
        name = _name(block, labels, work)
        outer = f"{run.times} x {name}"
        names[outer] += 1
        outer = outer if names[outer] == 1 else f"{outer} #{names[outer]}"
        for turn in range(run.times):
            at = run.first + turn * run.length
            for node in range(bounds[at], bounds[at + run.length]):
                scopes[node] = f"{outer}/{name} {turn + 1}"
    taken = {segment for run in runs for segment in range(run.first, run.end)}
    alone = [segment for segment in range(len(shapes)) if segment not in taken]
    _single(alone, shapes, bounds, labels, work, scopes)
    return scopes


def _single(
    alone: Sequence[int],
    shapes: Sequence[int],
    bounds: Sequence[int],
    labels: Sequence[str],
    work: Sequence[int] | None,
    scopes: list[str],
) -> None:
    """Give scopes to large segments that others are equal to, wherever these stand."""
    times = Counter(shapes)
    met = Counter[str]()
    for segment in sorted(alone):
        block = range(bounds[segment], bounds[segment + 1])
        if len(block) >= _LARGE and times[shapes[segment]] > 1:
            name = _name(block, labels, work)
            met[name] += 1
            for node in block:
                scopes[node] = f"{name} #{met[name]}"


def _bounds(inputs: Sequence[Sequence[int]]) -> list[int]:
    """The first nodes of segments, and the number of nodes: one tensor leads from a segment to the next."""
    count = len(inputs)
    last = list(range(count))
    for node, sources in enumerate(inputs):
        for source in sources:
            last[source] = max(last[source], node)
    change = [0] * (count + 2)
    for source, reader in enumerate(last):
        if reader - source > _REACH:
            continue
        # The tensor leads over the cuts before the nodes from `source + 1` to `reader`.
        change[source + 1] += 1
        change[reader + 1] -= 1
    alive = list(accumulate(change))
    return [0, *(node for node in range(1, count) if alive[node] <= 1), *([count] if count else [])]


def _shapes(labels: Sequence[str], inputs: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[int]:
    """A number for each segment; equal ones have the same operators and edges."""
    numbers: dict[Hashable, int] = {}
    shapes: list[int] = []
    for begin, end in pairwise(bounds):
        key = tuple(
            (labels[node], tuple(source - begin if source >= begin else -1 for source in inputs[node]))
            for node in range(begin, end)
        )
        shapes.append(numbers.setdefault(key, len(numbers)))
    return shapes


def _runs(shapes: Sequence[int], bounds: Sequence[int]) -> list[_Run]:
    """Runs of equal blocks that do not overlap: those of the most nodes first, and of the shortest blocks.

    A run in which shorter blocks repeat is none: the shorter ones are what repeats.
    """
    taken = np.zeros(len(shapes), np.bool_)
    heap = [(-_nodes(run, bounds), run.length, run) for run in _candidates(shapes, bounds)]
    heapify(heap)
    runs: list[_Run] = []
    while heap:
        *_, run = heappop(heap)
        if not taken[run.first : run.end].any():
            taken[run.first : run.end] = True
            runs.append(run)
            continue
        free = np.concatenate(([False], ~taken[run.first : run.end], [False]))
        edges = np.flatnonzero(free[1:] != free[:-1])
        for begin, end in zip(map(int, edges[::2]), map(int, edges[1::2]), strict=True):
            part = _Run(run.first + begin, run.length, (end - begin) // run.length)
            if part.times > 1:
                heappush(heap, (-_nodes(part, bounds), part.length, part))
    return runs


def _candidates(shapes: Sequence[int], bounds: Sequence[int]) -> Iterator[_Run]:
    """All runs of equal blocks, but those in which shorter blocks repeat."""
    ids, starts = np.asarray(shapes), np.asarray(bounds)
    # Segment -> the end of the shortest pair of equal blocks that begins there.
    pairs = np.full(len(ids), len(ids) + 1)
    for length in range(1, min(len(ids) // 2, _LONGEST) + 1):
        same = np.concatenate(([False], ids[:-length] == ids[length:], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        shorter = pairs.copy()
        for begin, end in zip(map(int, edges[::2]), map(int, edges[1::2]), strict=True):
            run = _Run(begin, length, (end - begin) // length + 1)
            if run.times < 2:
                continue
            if _nodes(run, bounds) >= _FEWEST * run.times and shorter[begin : run.end].min() > run.end:
                yield run
            first = np.arange(begin, end - length + 1)
            large = first[starts[first + length] - starts[first] >= _FEWEST]
            pairs[large] = np.minimum(pairs[large], large + 2 * length)


def _nodes(run: _Run, bounds: Sequence[int]) -> int:
    return bounds[run.end] - bounds[run.first]


def _name(block: Sequence[int], labels: Sequence[str], work: Sequence[int] | None) -> str:
    """The operators of a block with the most work, in their order."""
    total = Counter[str]()
    for node in block:
        total[labels[node].replace("/", " ")] += work[node] if work is not None else 1
    order = {label: position for position, label in enumerate(total)}
    main = sorted(total, key=lambda label: (-total[label], order[label]))[:_NAMED]
    return ", ".join(sorted(main, key=order.__getitem__))
