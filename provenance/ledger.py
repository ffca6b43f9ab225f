"""The ledger: per pass, what was created, changed and removed, by which pattern and why.

It answers "why is this here?" (`Ledger.why`) and "where did it go?" (`Ledger.fate`). Whoever wants one opens
a `recording` scope around the passes; the rewrite driver writes into the innermost open one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr

from ..support.names import shown
from .span import leaves


class Entry(NamedTuple):
    """One event: `pattern` of `pass_name` turned ops that came from `before` into ops that have `after`."""

    pass_name: str
    pattern: str
    reason: str
    removed: tuple[str, ...]
    """Names of the ops that went."""
    created: tuple[str, ...]
    """Names of the ops that came."""
    before: tuple[LocationAttr, ...]
    after: tuple[LocationAttr, ...]

    def __str__(self) -> str:
        gone = ", ".join(self.removed) or "nothing"
        came = ", ".join(self.created)
        if came:
            what = f"{gone} -> {came}"
        elif not self.removed:
            what = "changed in place"
        else:
            what = f"{gone} absorbed" if self.after else f"{gone} removed"
        text = f"{self.pass_name}: {self.pattern}: {what}" + (f" ({self.reason})" if self.reason else "")
        return shown(text)


class _Index:
    """Layer -> entries, so that a question costs what its answer costs. Layers are numbered, locations read once."""

    def __init__(self) -> None:
        self.size = 0
        """The number of entries that are indexed."""
        self.numbers: dict[LocationAttr, int] = {}
        self.known: dict[int, tuple[LocationAttr, tuple[int, ...]]] = {}
        self.before: dict[int, list[int]] = {}
        self.after: dict[int, list[int]] = {}
        self.explained: set[int] = set()

    def layers(self, location: LocationAttr) -> tuple[int, ...]:
        """The numbers of the leaves of a location."""
        hit = self.known.get(id(location))
        if hit is None:
            numbers = tuple(self.numbers.setdefault(leaf, len(self.numbers)) for leaf in leaves(location))
            # Holding the location keeps its identity from being reused.
            hit = self.known[id(location)] = (location, numbers)
        return hit[1]

    def extend(self, entries: list[Entry]) -> None:
        for position in range(self.size, len(entries)):
            entry = entries[position]
            gone = {layer for location in entry.before for layer in self.layers(location)}
            for layer in gone:
                self.before.setdefault(layer, []).append(position)
            if entry.removed:
                self.explained |= gone
            for layer in {layer for location in entry.after for layer in self.layers(location)}:
                self.after.setdefault(layer, []).append(position)
        self.size = len(entries)


def _no_entries() -> list[Entry]:
    return []


@dataclass
class Ledger:
    """The entries of one compilation, in order; they are only ever added."""

    entries: list[Entry] = field(default_factory=_no_entries)
    pass_name: str = ""
    """The pass that runs now."""
    op_types: dict[LocationAttr, str] = field(default_factory=lambda: dict[LocationAttr, str]())
    """Leaf of a layer -> what its source calls the operator: `Conv`. Text says nothing of the kind."""
    _lookup: _Index = field(default_factory=_Index, init=False, repr=False, compare=False)

    def record(
        self,
        pattern: str,
        *,
        removed: Iterable[str] = (),
        created: Iterable[str] = (),
        before: Iterable[LocationAttr] = (),
        after: Iterable[LocationAttr] = (),
        reason: str = "",
    ) -> None:
        """Add the event that `pattern` of the pass that runs now brought about."""
        self.entries.append(
            Entry(self.pass_name, pattern, reason, tuple(removed), tuple(created), tuple(before), tuple(after))
        )

    def why(self, location: LocationAttr) -> list[Entry]:
        """The events that made ops with exactly these leaves, or a part of them, in order."""
        index = self._index()
        wanted = set(index.layers(location))
        places = sorted({position for layer in wanted for position in index.after.get(layer, ())})
        return [
            self.entries[position]
            for position in places
            if any(
                numbers and wanted.issuperset(numbers) for numbers in map(index.layers, self.entries[position].after)
            )
        ]

    def fate(self, leaf: LocationAttr) -> list[Entry]:
        """The events that touched a layer, in order: what was folded, merged or dropped, and into what."""
        index = self._index()
        places = sorted({position for layer in index.layers(leaf) for position in index.before.get(layer, ())})
        return [self.entries[position] for position in places]

    def explained(self) -> set[LocationAttr]:
        """The leaves whose ops some entry removed."""
        index = self._index()
        return {leaf for leaf, number in index.numbers.items() if number in index.explained}

    def _index(self) -> _Index:
        self._lookup.extend(self.entries)
        return self._lookup


_current: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


def current_ledger() -> Ledger | None:
    """The ledger of the innermost `recording` scope."""
    return _current.get()


@contextmanager
def recording(ledger: Ledger, pass_name: str) -> Generator[Ledger]:
    """Within this scope the driver records into `ledger` under the name `pass_name`."""
    previous, ledger.pass_name = ledger.pass_name, pass_name
    token = _current.set(ledger)
    try:
        yield ledger
    finally:
        _current.reset(token)
        ledger.pass_name = previous
