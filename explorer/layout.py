"""Layered layout of graphs: rows by the longest way from the inputs, few crossings, boxes near what they are joined to.

Time is linear in the numbers of nodes and edges, but for sorting; nothing nests by the depth of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT, STEP, GAP, LETTER = 34.0, 74.0, 24.0, 6.6
"""Pixels: height of a box, from the top of a row to that of the next, between boxes, of a letter."""
LONGEST = 46
"""Letters of a line in a box."""
_SWEEPS = 4
_BENDS = 3
"""The number of bends per node, on average, that edges over several rows may take up."""


@dataclass(frozen=True)
class Layout:
    """Places of the nodes of a graph."""

    x: list[float]
    """The middle of each node."""
    row: list[int]
    """The row of each node, from 0 at the top."""
    bends: dict[tuple[int, int], list[float]]
    """Edge, as source and target -> its x in each of the rows between, where it goes round what is in them."""
    width: float
    rows: int

    def top(self, node: int) -> float:
        """Return the upper edge of a box."""
        return self.row[node] * STEP

    def way(self, source: int, target: int) -> list[tuple[float, float]]:
        """Return the points that an edge goes through: curves between rows, and straight down in a row, in turn."""
        points = [(self.x[source], self.top(source) + HEIGHT)]
        for row, x in enumerate(self.bends.get((source, target), ()), self.row[source] + 1):
            points += [(x, row * STEP), (x, row * STEP + HEIGHT)]
        return [*points, (self.x[target], self.top(target))]


def cut(text: str) -> str:
    """Return a text as a box shows it."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def box_width(*lines: str) -> float:
    """Return the width of a box with these lines."""
    return max(6, *(len(cut(line)) for line in lines)) * LETTER + 12


def layered(inputs: Sequence[Sequence[int]], widths: Sequence[float], loose: Sequence[bool] = ()) -> Layout:
    """Lay out a graph.

    inputs: of each node the nodes that it reads, all of which stand before it. widths: of each box, in pixels. loose:
    true of nodes that stand just above their first readers, whatever they read; none by default.
    """
    row = _row_of(inputs, loose)
    above: list[list[int]] = [[] for _ in inputs]
    level, sizes = list(row), list(widths)
    chains: dict[tuple[int, int], list[int]] = {}
    edges = dict.fromkeys((source, target) for target, sources in enumerate(inputs) for source in sources)
    room = _BENDS * len(row)
    for source, target in sorted(edges, key=lambda edge: row[edge[1]] - row[edge[0]]):
        last, between = source, range(row[source] + 1, row[target])
        if len(between) <= room:
            for number in between:
                chains.setdefault((source, target), []).append(len(level))
                level.append(number)
                sizes.append(0.0)
                above.append([last])
                last = len(level) - 1
            room -= len(between)
        above[target].append(last)
    below: list[list[int]] = [[] for _ in level]
    for target, sources in enumerate(above):
        for source in sources:
            below[source].append(target)
    rows: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, number in enumerate(level):
        rows[number].append(node)
    _sort(rows, above, below)
    x = _placed(rows, above, below, sizes)
    left = min((x[node] - sizes[node] / 2 for node in range(len(x))), default=0.0) - GAP
    x = [middle - left for middle in x]
    width = max((x[node] + sizes[node] / 2 for node in range(len(x))), default=200.0) + GAP
    bends = {edge: [x[node] for node in chain] for edge, chain in chains.items()}
    return Layout(x[: len(row)], row, bends, width, len(rows))


def _row_of(inputs: Sequence[Sequence[int]], loose: Sequence[bool]) -> list[int]:
    """By the longest way; what reads nothing, and what is loose, stands just above the first that reads it."""
    rows: list[int] = []
    for sources in inputs:
        rows.append(1 + max((rows[source] for source in sources), default=-1))
    first: list[int] = [0] * len(rows)
    """The row of the first reader; 0: there is none."""
    for node in range(len(rows) - 1, -1, -1):
        if first[node] and (not inputs[node] or (loose and loose[node])):
            rows[node] = first[node] - 1
        for source in inputs[node]:
            first[source] = min(first[source] or rows[node], rows[node])
    return rows


def _sort(rows: list[list[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> None:
    """Order the nodes of each row by the mean place of those that they are joined to, a few times."""
    at = {node: index / len(row) for row in rows for index, node in enumerate(row)}
    for sweep in range(_SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            if len(row) > 1:
                row.sort(key=lambda node: _mean([at[other] for other in near[node]], at[node]))
                at.update((node, index / len(row)) for index, node in enumerate(row))


def _placed(
    rows: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    widths: Sequence[float],
) -> list[float]:
    """Place each row as near as possible to the means of the rows beside it, from above and from below in turn."""
    x = [0.0] * len(widths)
    for sweep in range(_SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = [_mean([x[other] for other in near[node]], x[node]) for node in row]
            for node, middle in zip(row, _apart(wanted, [widths[node] for node in row]), strict=True):
                x[node] = middle
    return x


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return places in this order that do not overlap, with the least sum of squares of the ways from those wanted.

    Neighbours that come too near become a block, which goes where the mean of its members would be.
    """
    offsets: list[float] = []
    end = 0.0
    for width in widths:
        offsets.append(end + width / 2)
        end += width + GAP
    blocks: list[tuple[float, int]] = []
    for middle, offset in zip(wanted, offsets, strict=True):
        total, count = middle - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
