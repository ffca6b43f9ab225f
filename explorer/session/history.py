"""Histories of ops and layers out of the ledger of a session document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .document import Session


def history_of_op(session: Session, op: int) -> list[int]:
    """Return the events that an op came of, in order: those that made it, and what they made it from.

    Of an op that was copied the events count that had made it by then.
    """
    makers: dict[int, list[int]] = defaultdict(list)
    for event, targets in enumerate(session.events.targets):
        for target in targets:
            makers[target].append(event)
    events: set[int] = set()
    seen: dict[int, int] = {}
    waiting = [(op, len(session.events.run))]
    while waiting:
        row, before = waiting.pop()
        if seen.get(row, -1) >= before:
            continue
        seen[row] = before
        earlier = [event for event in makers[row] if event < before and event not in events]
        events.update(earlier)
        waiting += [(source, event) for event in earlier for source in session.events.sources[event]]
        if (original := session.ops.copied_from[row]) >= 0:
            waiting.append((original, session.ops.copied_at[row]))
    return sorted(events)


def history_of_layer(session: Session, rows: Iterable[int]) -> list[int]:
    """Return the events that met these layers, in order."""
    layers = set(rows)
    touched = [not layers.isdisjoint(behind) for behind in session.sets]
    both = zip(session.events.before, session.events.after, strict=True)
    return [event for event, sets in enumerate(both) if any(number >= 0 and touched[number] for number in sets)]
