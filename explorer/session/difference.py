"""Differences between any two stages, by the identity of their ops."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .document import Session
from .text import column, text_of_stage


@dataclass(frozen=True)
class Pair:
    """Lines of two texts that stand side by side, from 0; -1 where a side has none."""

    left: int
    right: int
    kind: str
    """same, changed, new, gone or moved."""


@dataclass(frozen=True)
class Difference:
    """Two texts and their lines side by side."""

    left: Sequence[str]
    right: Sequence[str]
    pairs: Sequence[Pair]


def difference(session: Session, first: int, second: int) -> Difference:
    """Return what differs between two stages.

    A line is that of its op, and the same where names of values alone differ: the stages between say of which ops more
    does. Lines of no op are the same where their text is.
    """
    left, right = text_of_stage(session, first), text_of_stage(session, second)
    before, after = (column(session.stages[k].body.ops) for k in (first, second))
    changed = _changed(session, first, second)
    both = set(before) & set(after)
    pairs: list[Pair] = []
    for a, b in _aligned(line_keys(left, before), line_keys(right, after)):
        if min(a, b) < 0:
            op = before[a] if b < 0 else after[b]
            pairs.append(Pair(a, b, "moved" if op >= 0 and op in both else "gone" if b < 0 else "new"))
        else:
            differs = left[a] != right[b] if changed is None else before[a] in changed
            pairs.append(Pair(a, b, "changed" if differs else "same"))
    return Difference(left, right, pairs)


def _changed(session: Session, first: int, second: int) -> set[int] | None:
    """Return the ops that change between two stages of which one came of the other; None for others."""
    low, high = sorted((first, second))
    changed: set[int] = set()
    while high > low:
        diff = session.stages[high].diff
        changed |= set(diff.changed if diff is not None else ())
        high = session.stages[high].before
    return changed if high == low else None


def line_keys(lines: Sequence[str], ops: Sequence[int]) -> dict[tuple[int | str, int], int]:
    """Return a key for each line that is the same in every stage: op or text, and how often there was that before."""
    times: Counter[int | str] = Counter()
    keys: dict[tuple[int | str, int], int] = {}
    for line, (text, op) in enumerate(zip(lines, ops, strict=True)):
        name = op if op >= 0 else text
        keys[name, times[name]] = line
        times[name] += 1
    return keys


def _aligned(
    left: dict[tuple[int | str, int], int], right: dict[tuple[int | str, int], int]
) -> Iterator[tuple[int, int]]:
    """Lines side by side: of those that both have the longest run that kept its order, others alone."""
    both = [(line, right[key]) for key, line in left.items() if key in right]
    a = b = 0
    for x, y in [*_increasing(both), (len(left), len(right))]:
        yield from ((line, -1) for line in range(a, x))
        yield from ((-1, line) for line in range(b, y))
        if x < len(left):
            yield x, y
        a, b = x + 1, y + 1


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs, in order of their firsts, in which the seconds increase, too."""
    ends: list[int] = []
    rows: list[int] = []
    previous: list[int] = []
    for row, (_, value) in enumerate(pairs):
        at = bisect_left(ends, value)
        previous.append(rows[at - 1] if at else -1)
        ends[at : at + 1] = [value]
        rows[at : at + 1] = [row]
    kept: list[tuple[int, int]] = []
    row = rows[-1] if rows else -1
    while row >= 0:
        kept.append(pairs[row])
        row = previous[row]
    return kept[::-1]
