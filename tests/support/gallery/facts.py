"""Facts about a session that tours speak of: its slowest layers, and what they need."""

from __future__ import annotations

from collections.abc import Container

from whence.explorer.report import seconds
from whence.explorer.session.document import Session
from whence.explorer.session.leads import serving
from whence.explorer.session.text import calls_of


def layers(session: Session, *types: str) -> list[str]:
    """Return the names of layers of some types, of any without one, in the order of the source."""
    rows = [row for row, kind in enumerate(session.layers.kind) if kind == "layer"]
    rows = [row for row in rows if not types or session.layers.type[row] in types]
    return [session.layers.name[row] for row in sorted(rows, key=lambda row: session.layers.ordinal[row])]


def slowest(session: Session, among: Container[str] | None = None) -> list[str]:
    """Return the names of measured layers, the slowest first."""
    spent: dict[int, float] = {}
    for times in session.times:
        for row, taken, _ in times.layers:
            spent[row] = spent.get(row, 0.0) + taken
    names = [session.layers.name[row] for row in sorted(spent, key=lambda row: -spent[row]) if row >= 0]
    return [name for name in names if among is None or name in among]


def time_of(session: Session, name: str) -> str:
    """Return the time of a layer in a run, and its part of it: `0.56 ms (5.7 %)`."""
    row = session.layers.name.index(name)
    own = sum(taken for times in session.times for layer, taken, _ in times.layers if layer == row)
    return f"{seconds(own)} ({100 * own / total(session):.1f} %)"


def total(session: Session) -> float:
    """Return the CPU seconds of a run."""
    return sum(sum(times.calls) for times in session.times) or 1.0


def needs(session: Session, name: str) -> tuple[float, float]:
    """Return the percentages of the time of a layer's main call that its products, and its bytes, need at least."""
    row = session.layers.name.index(name)
    main = serving(session.leads, {row})[0]
    for times in session.times:
        for call, taken, roof in zip(calls_of(session, times.program), times.calls, times.roofs, strict=True):
            if call == main and taken:
                bytes_ = sum(term.seconds for term in roof.bytes)
                return 100 * roof.operations.seconds / taken, 100 * bytes_ / taken
    return 0.0, 0.0
