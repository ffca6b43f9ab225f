"""The lines of a program in Python that asked for layers, with their text, and the calls that led there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr

from ..provenance.ledger import Ledger
from ..provenance.span import Caller, positions
from ..support.names import shown
from .report import table

_SHOWN = 12
"""The number of places that are printed."""
_WIDTH = 100


@dataclass(frozen=True)
class SourceLine:
    """A line of the program that was exported."""

    file: str
    line: int
    code: str
    """The text of the line; "" where the model does not say."""
    callers: tuple[SourceLine, ...] = ()
    """The calls that led there, the innermost first."""

    @property
    def origin(self) -> str:
        """`net.py:12`."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.origin}  {self.code}".rstrip()


def source_lines(ledger: Ledger, leaves: Iterable[LocationAttr]) -> tuple[SourceLine, ...]:
    """Return the lines at which layers were called, each way there once, in the order of the leaves.

    Layers of models that no exporter wrote lines into have none.
    """

    def at(call: Caller, callers: tuple[SourceLine, ...] = ()) -> SourceLine:
        return SourceLine(*call, ledger.code.get(call, ""), callers)

    ways = dict.fromkeys(tuple(at[:2] for at in positions(leaf)) for leaf in leaves)
    lines = [at(way[0], tuple(map(at, way[1:]))) for way in ways if way]
    return tuple(line for line in lines if line.code or line.callers)


def table_of_lines(lines: Iterable[SourceLine], indent: str = "  ") -> str:
    """Show lines with their text, those that called them further to the right; "" for none."""
    rows = [
        (("  from " if depth else "") + shown(line.origin), shown(line.code)[:_WIDTH])
        for first in lines
        for depth, line in enumerate((first, *first.callers))
    ]
    text = table(rows[:_SHOWN], indent=indent) if rows else ""
    return text + (f"\n{indent}and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
