"""Text for people: tables, short lists, percentages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..support.names import shown


def table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), *, indent: str = "  ") -> str:
    """Lines of aligned columns, two spaces apart: numbers (and cells that are empty) to the right, text to the left."""
    given = [tuple(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in given]
    if header:
        cells.insert(0, list(header))
    if not cells:
        return ""
    columns = max(map(len, cells))
    widths = [max((len(row[i]) for row in cells if i < len(row)), default=0) for i in range(columns)]
    right = [_right([row[i] for row in given if i < len(row)]) for i in range(columns)]
    lines: list[str] = []
    for row in cells:
        padded = [text.rjust(widths[i]) if right[i] else text.ljust(widths[i]) for i, text in enumerate(row)]
        lines.append(f"{indent}{'  '.join(padded)}".rstrip())
    return "\n".join(lines)


def _right(column: Sequence[object]) -> bool:
    """Whether all cells that say something are numbers."""
    said = [value for value in column if value != ""]
    return bool(said) and all(isinstance(value, int | float) or _numeric(_cell(value)) for value in said)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else shown(str(value))


def _numeric(text: str) -> bool:
    return bool(text) and text[0].isdigit() and text.rstrip(" %msuk").replace(".", "", 1).replace(",", "").isdigit()


def percent(fraction: float) -> str:
    """`100 %` only where it is all, `0 %` only where it is nothing."""
    text = f"{100 * fraction:.1f}"
    if text == "100.0":
        text = "100" if fraction == 1 else "99.9"
    elif text == "0.0":
        text = "0" if fraction == 0 else "0.1"
    return f"{text} %"


def count(number: int, noun: str) -> str:
    """`1 layer`, `2 layers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(names: Iterable[str], limit: int = 6) -> str:
    """The first names, and how many more there are."""
    found = [shown(name) for name in names]
    if len(found) <= limit:
        return ", ".join(found)
    return f"{', '.join(found[:limit])} and {len(found) - limit} more"


def tally(names: Iterable[str]) -> str:
    """`add, multiply x2`: each name once, in order, with how often it was there."""
    return ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(map(shown, names)).items())


def seconds(value: float) -> str:
    """`1.23 s`, `4.56 ms`, `7.8 us`."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} us"
