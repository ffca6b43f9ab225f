"""Text for people: tables, short lists, percentages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from ..support.names import shortened, shown

WIDTH: ContextVar[int | None] = ContextVar("whence_width", default=None)
"""The number of letters in a line of a table: as many as the terminal shows; None for any number."""
_LEAST = 16
"""Cells of so many letters are left as they are."""


def table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), *, indent: str = "  ") -> str:
    """Lines of aligned columns, two spaces apart: numbers (and cells that are empty) to the right, text to the left.

    Lines are as long as they need; where `WIDTH` allows no more, long texts are shortened.
    """
    tuples = [tuple(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in tuples]
    if header:
        cells.insert(0, list(header))
    if not cells:
        return ""
    columns = max(map(len, cells))
    widths = [max((len(row[i]) for row in cells if i < len(row)), default=0) for i in range(columns)]
    right = [_right([row[i] for row in tuples if i < len(row)]) for i in range(columns)]
    if (width := WIDTH.get()) is not None:
        texts = [size for i, size in enumerate(widths) if not right[i]]
        most = _most(texts, width - len(indent) - 2 * (columns - 1) - (sum(widths) - sum(texts)))
        widths = [size if right[i] else min(size, most) for i, size in enumerate(widths)]
        cells = [[text if right[i] else shortened(text, most) for i, text in enumerate(row)] for row in cells]
    lines: list[str] = []
    for row in cells:
        padded = [text.rjust(widths[i]) if right[i] else text.ljust(widths[i]) for i, text in enumerate(row)]
        lines.append(f"{indent}{'  '.join(padded)}".rstrip())
    return "\n".join(lines)


def _most(sizes: Sequence[int], room: int) -> int:
    """The most letters that a cell may have if columns of these sizes are to share a room: large ones alike."""
    left = sorted(sizes)
    while left and left[0] * len(left) <= room:
        room -= left.pop(0)
    return max(room // len(left), _LEAST) if left else max(sizes, default=0)


def _right(column: Sequence[object]) -> bool:
    """Return whether all cells that say something are numbers."""
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
    texts = [shown(name) for name in names]
    if len(texts) <= limit:
        return ", ".join(texts)
    return f"{', '.join(texts[:limit])} and {len(texts) - limit} more"


def tally(names: Iterable[str]) -> str:
    """`add, multiply x2`: each name once, in order, with how often it was there."""
    return ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(map(shown, names)).items())


def seconds(value: float) -> str:
    """`1.23 s`, `4.56 ms`, `7.8 us`."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} us"
