"""The memory plan: where in one arena every intermediate tensor and workspace lies, reusing what is dead.

Three greedy heuristics, tried until one reaches the lower bound; the best one wins. Two place buffers in the order of
execution, best fit over a free list: with low and high end of the free block by turns, which is optimal for chains, and
always low. The third places the largest first, at the lowest offset free during its whole life ("greedy by size" of
Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020); it is left out where very many
buffers live at once, since its time grows with their square.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from .tensors import ALIGNMENT

_MOST_COMPARISONS = 4_000_000


@dataclass(frozen=True)
class Step:
    """One kernel call: the buffers it reads, the buffers it writes with their sizes, its scratch. Sizes in bytes."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]
    workspace: int = 0


@dataclass(frozen=True)
class Plan:
    """Byte offsets into an arena of `arena_bytes`, all multiples of 64."""

    offsets: dict[int, int]
    """Buffer id -> offset."""
    workspaces: tuple[int, ...]
    """Per step; -1 for a step without workspace."""
    arena_bytes: int
    peak_bytes: int
    """The most bytes that live at once: no plan can be smaller."""


def plan(steps: Sequence[Step], outside: Set[int] = frozenset()) -> Plan:
    """Plan the buffers that `steps` write, except those `outside` the arena (say, outputs of the program).

    A buffer lives from the step that writes it to the last step that reads it; one never read lives for its step.
    Inputs that no step writes are not planned. Raises ValueError when a buffer is written twice.
    """
    sizes: dict[int, int] = {}
    dies: dict[int, int] = {}
    for index, step in enumerate(steps):
        for buffer, size in step.outputs:
            if buffer in sizes:
                raise ValueError(f"plan: expected each buffer to be written once, got {buffer} again in step {index}")
            sizes[buffer] = _rounded(size)
            dies[buffer] = index
        for buffer in step.inputs:
            dies[buffer] = index
    dying: list[list[int]] = [[] for _ in steps]
    for buffer, index in dies.items():
        if buffer in sizes and buffer not in outside:
            dying[index].append(buffer)
    peak = _peak(steps, sizes, dying, outside)
    best = _in_order(steps, sizes, dying, outside, peak, turns=True)
    if best.arena_bytes > peak:
        best = min(best, _in_order(steps, sizes, dying, outside, peak, turns=False), key=_arena_bytes)
    if best.arena_bytes > peak and (by_size := _by_size(steps, sizes, dies, outside, peak)) is not None:
        best = min(best, by_size, key=_arena_bytes)
    return best


def _arena_bytes(result: Plan) -> int:
    return result.arena_bytes


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _peak(steps: Sequence[Step], sizes: dict[int, int], dying: list[list[int]], outside: Set[int]) -> int:
    live = peak = 0
    for step, dead in zip(steps, dying, strict=True):
        live += sum(sizes[buffer] for buffer, _ in step.outputs if buffer not in outside)
        peak = max(peak, live + _rounded(step.workspace))
        live -= sum(sizes[buffer] for buffer in dead)
    return peak


def _in_order(
    steps: Sequence[Step],
    sizes: dict[int, int],
    dying: list[list[int]],
    outside: Set[int],
    peak: int,
    turns: bool,
) -> Plan:
    arena = _Arena(peak if turns else 0)
    offsets: dict[int, int] = {}
    workspaces: list[int] = []
    for index, (step, dead) in enumerate(zip(steps, dying, strict=True)):
        high = turns and bool(index % 2)
        for buffer, _ in step.outputs:
            if buffer not in outside:
                offsets[buffer] = arena.take(sizes[buffer], high)
        scratch = _rounded(step.workspace)
        at = arena.take(scratch, high) if scratch else -1
        workspaces.append(at)
        if scratch:
            arena.give(at, scratch)
        for buffer in dead:
            arena.give(offsets[buffer], sizes[buffer])
    return Plan(offsets, tuple(workspaces), arena.size, peak)


def _by_size(
    steps: Sequence[Step], sizes: dict[int, int], dies: dict[int, int], outside: Set[int], peak: int
) -> Plan | None:
    """Largest first; None where that would take too long."""
    wanted: list[tuple[int, int, int, int]] = []  # (-size, first step, last step, item)
    buffers: list[int | None] = []
    for index, step in enumerate(steps):
        for buffer, _ in step.outputs:
            if buffer not in outside and sizes[buffer]:
                wanted.append((-sizes[buffer], index, dies[buffer], len(buffers)))
                buffers.append(buffer)
        if step.workspace:
            wanted.append((-_rounded(step.workspace), index, index, len(buffers)))
            buffers.append(None)
    width = [0] * (len(steps) + 1)
    for _, first, last, _ in wanted:
        width[first] += 1
        width[last + 1] -= 1
    if sum(count * count for count in accumulate(width)) > _MOST_COMPARISONS:
        return None
    placed: list[list[tuple[int, int]]] = [[] for _ in steps]  # per step: (offset, end) of what lives then
    offsets = {buffer: 0 for buffer in sizes if buffer not in outside}
    workspaces = [-1] * len(steps)
    size = 0
    for negative, first, last, item in sorted(wanted):
        offset, end = 0, -negative
        for low, high in sorted({taken for at in range(first, last + 1) for taken in placed[at]}):
            if end <= low:
                break
            offset = max(offset, high)
            end = offset - negative
        for at in range(first, last + 1):
            placed[at].append((offset, end))
        buffer = buffers[item]
        if buffer is None:
            workspaces[first] = offset
        else:
            offsets[buffer] = offset
        size = max(size, end)
    return Plan(offsets, tuple(workspaces), size, peak)


class _Arena:
    """A growing range of bytes with a free list: by size for the best fit, by both ends for merging."""

    def __init__(self, size: int):
        self.size = 0
        self.by_size: list[tuple[int, int]] = []
        self.by_start: dict[int, int] = {}
        self.by_end: dict[int, int] = {}
        if size:
            self.size = size
            self._add(0, size)

    def take(self, size: int, high: bool) -> int:
        """An offset with `size` free bytes, from the smallest block that has them, else by growing the arena."""
        if not size:
            return 0
        at = bisect_left(self.by_size, (size, -1))
        if at == len(self.by_size):
            last = self.size - self.by_end.get(self.size, self.size)
            if last:
                self._drop(self.size - last, last)
            offset = self.size - last
            self.size = offset + size
            return offset
        found, start = self.by_size[at]
        self._drop(start, found)
        rest = found - size
        if rest:
            self._add(start if high else start + size, rest)
        return start + rest if high else start

    def give(self, start: int, size: int) -> None:
        """Make a range free again, joined with its free neighbours."""
        if not size:
            return
        end = start + size
        if start in self.by_end:
            before = self.by_end[start]
            self._drop(before, start - before)
            start = before
        if end in self.by_start:
            after = self.by_start[end]
            self._drop(end, after - end)
            end = after
        self._add(start, end - start)

    def _add(self, start: int, size: int) -> None:
        insort(self.by_size, (size, start))
        self.by_start[start] = start + size
        self.by_end[start + size] = start

    def _drop(self, start: int, size: int) -> None:
        del self.by_size[bisect_left(self.by_size, (size, start))]
        del self.by_start[start]
        del self.by_end[start + size]
