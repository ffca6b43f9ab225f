"""Small pieces of HTML for notebooks: texts and tables, everything in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .names import shown


def html(text: str) -> str:
    """Return text as HTML shows it: what steers a terminal or the direction of writing is spelled out."""
    return escape("\n".join(map(shown, text.split("\n"))))


def preformatted(text: str) -> str:
    """Return lines of text as they stand."""
    return f"<pre>{html(text)}</pre>"


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    """Return a table."""
    head = "".join(f"<th>{html(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{html(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(title: str, body: str) -> str:
    """Return HTML that shows when its title is clicked."""
    return f"<details><summary>{html(title)}</summary>{body}</details>"
