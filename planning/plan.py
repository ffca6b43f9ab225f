"""The memory plan: where in one arena every intermediate tensor and workspace lies, reusing what is dead.

Four greedy heuristics, tried until one reaches the lower bound; the best one wins. Two place buffers in the order of
execution, best fit over a free list: with low and high end of the free block by turns, which is optimal for chains, and
always low. The others place a buffer at the lowest offset free during its whole life, the largest first ("greedy by
size" of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020) or that which meets most
others; they are left out where very many buffers live at once, since their time grows with their square. Whoever wants
one algorithm, or pools of a given size, asks `pools.plan_in_pools`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence, Set

from .lifetimes import Lifetimes, Plan, Step
from .pools import place

_MOST_COMPARISONS = 4_000_000


def plan(steps: Sequence[Step[int]], outside: Set[int] = frozenset()) -> Plan:
    """The best plan of the heuristics for what `steps` write, except the buffers `outside` the arena.

    Raises ValueError when a buffer is written twice.
    """
    return plan_lifetimes(Lifetimes.of(steps, outside))


def plan_lifetimes(lifetimes: Lifetimes) -> Plan:
    """The best plan of the heuristics."""
    peak = max(lifetimes.live(), default=0)
    best = _in_order(lifetimes, peak)
    if best.arena_bytes > peak:
        best = min(best, _in_order(lifetimes, 0), key=_arena_bytes)
    for algorithm in ("greedy_by_size", "greedy_by_conflicts"):
        if best.arena_bytes > peak and lifetimes.comparisons() <= _MOST_COMPARISONS:
            best = min(best, place(lifetimes, algorithm), key=_arena_bytes)
    return best


def _arena_bytes(result: Plan) -> int:
    return result.arena_bytes


def _in_order(lifetimes: Lifetimes, start: int) -> Plan:
    """Best fit in the order of execution: by turns at both ends of an arena of `start` bytes, or always low."""
    arena = _Arena(start)
    offsets: list[int] = []
    dying: list[list[tuple[int, int]]] = [[] for _ in lifetimes.steps]
    before = 0
    for life in lifetimes.lives:
        for step in range(before, life.first):
            for offset, size in dying[step]:
                arena.give(offset, size)
        before = life.first
        offset = arena.take(life.size, bool(start and life.first % 2))
        offsets.append(offset)
        dying[life.last].append((offset, life.size))
    return Plan.of(lifetimes, offsets, "in_order")


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
        room, start = self.by_size[at]
        self._drop(start, room)
        rest = room - size
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
