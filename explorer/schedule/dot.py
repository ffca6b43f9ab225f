"""DOT, the language of Graphviz: statements, tables as HTML labels, and drawing where Graphviz is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|-?\d+(\.\d+)?|<.*>", re.DOTALL)
_WRAP = 30
_SHORTEST = 12
"""A line is broken before its last place only where at least this many characters stay."""

NOT_INSTALLED = (
    "Graphviz is not installed: drawing needs its program `dot` (for example `apt-get install graphviz`); "
    "the DOT text can be written without it"
)


@dataclass(frozen=True)
class Cell:
    """A table cell; `html` is its content."""

    html: str
    color: str = ""
    port: str = ""
    span: int = 1

    def __str__(self) -> str:
        attributes = {
            "BGCOLOR": self.color,
            "COLSPAN": str(self.span) if self.span > 1 else "",
            "PORT": self.port,
        }
        listed = "".join(f' {key}="{value}"' for key, value in attributes.items() if value)
        return f"<TD{listed}>{self.html}</TD>"


def table(rows: Iterable[Sequence[Cell]], port: str = "") -> str:
    """An HTML label: a table of rows of cells; `port` is that of the whole table."""
    text = "".join(f"<TR>{''.join(map(str, row))}</TR>" for row in rows)
    attribute = f' PORT="{port}"' if port else ""
    return f'<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4"{attribute}>{text}</TABLE>>'


def wrapped(text: str, width: int = _WRAP) -> str:
    """`text` for a cell: escaped, lines of at most `width` characters with `<br/>` between.

    A line ends after a space if it can, else after a `.`, `,`, `(` or `[`, else anywhere.
    """
    lines: list[str] = []
    while len(text) > width:
        end = width
        for breaks in (" ", ".,(["):
            last = max(text.rfind(character, _SHORTEST, width) for character in breaks)
            if last >= 0:
                end = last + 1
                break
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return "<br/>".join(escape(line) for line in [*lines, text])


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace('"', '\\"') + '"'


def statement(subject: str, **attributes: str) -> str:
    """A node or, as `A -> B:port`, an edge."""
    listed = " ".join(f"{key}={_quoted(value)}" for key, value in sorted(attributes.items()))
    return f"{subject} [{listed}]" if attributes else subject


def _block(head: str, attributes: dict[str, str], statements: Iterable[str]) -> str:
    body = [f"{key}={_quoted(value)}" for key, value in attributes.items()] + list(statements)
    lines = [f"\t{line}" for entry in body for line in entry.splitlines()]
    return "\n".join([f"{head} {{", *lines, "}"])


def subgraph(name: str, statements: Iterable[str], **attributes: str) -> str:
    return _block(f"subgraph {_quoted(name)}", attributes, statements)


def digraph(name: str, statements: Iterable[str], **attributes: str) -> str:
    return _block(f"digraph {_quoted(name)}", attributes, statements) + "\n"


def draw(text: str, format: str) -> bytes | None:
    """The drawing of a DOT text as `svg`, `png` or `pdf`; None, after a message, without Graphviz."""
    program = shutil.which("dot")
    if program is None:
        print(NOT_INSTALLED)
        return None
    done = subprocess.run([program, f"-T{format}"], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        print(f"Graphviz failed: {done.stderr.decode(errors='replace').strip()}")
        return None
    return done.stdout
