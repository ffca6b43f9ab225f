"""The spans of statements, collected and filled in, as `SIBuilder` does for other code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import LocationAttr

from whence.provenance.span import SequentialSpan
from whence.te.language.statements import Stmt, stmts_in


def _up_to(entry: Stmt, inputs: Iterable[object]) -> Iterator[tuple[Stmt, bool]]:
    """A statement and those in it, in order, each with whether it is one of `inputs`, which are not looked into."""
    ends = set(map(id, inputs))
    waiting = [entry]
    while waiting:
        stmt = waiting.pop()
        ended = id(stmt) in ends
        yield stmt, ended
        if not ended:
            waiting += reversed(list(stmts_in(stmt)))


def collect(entry: Stmt, inputs: Iterable[object]) -> SequentialSpan:
    """The spans of a statement and of those in it, up to `inputs` and including theirs."""
    return SequentialSpan([stmt.location for stmt, _ in _up_to(entry, inputs)])


def fill(entry: Stmt, inputs: Iterable[object], location: LocationAttr) -> None:
    """Locate a statement and those in it, up to but without `inputs`."""
    for stmt, ended in _up_to(entry, inputs):
        if not ended:
            stmt.location = location
