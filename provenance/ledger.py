"""The ledger: per pass, what was created, changed and removed, by which pattern and why.

It answers "why is this here?" (`Ledger.why`) and "where did it go?" (`Ledger.fate`). Whoever wants one opens
a `recording` scope around the passes; the rewrite driver writes into the innermost open one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr

from .span import leaves


@dataclass(frozen=True)
class Entry:
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
        what = f"{gone} -> {came}" if came else f"{gone} removed"
        return f"{self.pass_name}: {self.pattern}: {what}" + (f" ({self.reason})" if self.reason else "")


def _none() -> list[Entry]:
    return []


@dataclass
class Ledger:
    """The entries of one compilation, in order."""

    entries: list[Entry] = field(default_factory=_none)
    pass_name: str = ""
    """The pass that runs now."""

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
        self.entries.append(
            Entry(self.pass_name, pattern, reason, tuple(removed), tuple(created), tuple(before), tuple(after))
        )

    def why(self, location: LocationAttr) -> list[Entry]:
        """The events that made ops with exactly these leaves, or a part of them, in order."""
        wanted = set(leaves(location))
        return [
            entry
            for entry in self.entries
            if any(found and wanted.issuperset(found) for found in map(leaves, entry.after))
        ]

    def fate(self, leaf: LocationAttr) -> list[Entry]:
        """The events that touched a layer, in order: what was folded, merged or dropped, and into what."""
        return [entry for entry in self.entries if any(leaf in leaves(place) for place in entry.before)]

    def explained(self) -> set[LocationAttr]:
        """The leaves whose ops some entry removed."""
        return {leaf for entry in self.entries if entry.removed for place in entry.before for leaf in leaves(place)}


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
