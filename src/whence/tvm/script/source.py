"""The text of a script, the mistakes in it, and the places of its parts."""

from __future__ import annotations

import ast
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects.builtin import LocationAttr

from whence.provenance.span import layer_location
from whence.support.errors import TextError, WhenceError
from whence.support.names import shortened, shown

_SHOWN = 20
"""The most mistakes of a text that its error names."""


class Mistake(Exception):
    """A part of a script that has no meaning, and is recorded already."""


@dataclass
class Source:
    """Text with its file, and the line and column of it at which the text begins, from 0 on.

    layer: what the ops of the part that is read are called, a function or a block.
    """

    text: str
    file: str
    line: int = 0
    column: int = 0
    layer: str = "main"
    mistakes: dict[tuple[int, int], str] = field(default_factory=lambda: dict[tuple[int, int], str]())

    def parsed(self) -> ast.Module:
        """Return the syntax tree; raises TextError for malformed text."""
        try:
            return ast.parse(self.text)
        except SyntaxError as error:
            self.record(error.lineno or 1, max(1, error.offset or 1), f"expected Python's syntax, got {error.msg}")
        except (ValueError, RecursionError, MemoryError) as error:
            # Null bytes, and what is nested too deeply.
            self.record(1, 1, f"expected Python's syntax, got a text that it refuses: {error or type(error).__name__}")
        self.check()
        raise AssertionError("a mistake raises")

    def record(self, line: int, column: int, text: str) -> None:
        """Note a mistake at a place of the text, both from 1 on; the first one there counts."""
        self.mistakes.setdefault((line, column), text)

    def refuse(self, node: ast.AST, text: str) -> NoReturn:
        """Note a mistake at a node, and leave what it is in."""
        self.record(*self._place(node), text)
        raise Mistake

    @contextmanager
    def judged(self, node: ast.AST) -> Generator[None]:
        """A scope in which what the language refuses is a mistake at `node`."""
        try:
            yield
        except WhenceError as error:
            self.refuse(node, str(error).removeprefix("te: "))

    def _place(self, node: ast.AST) -> tuple[int, int]:
        return getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1

    def location(self, node: ast.AST) -> LocationAttr:
        """Return the place of a node in its file, as that of the layer."""
        line, column = self._place(node)
        return layer_location(self.layer, self.file, line + self.line, column + self.column)

    def check(self) -> None:
        """Raise TextError if there are mistakes: for each its place, what is wrong, and the line with a mark."""
        if not self.mistakes:
            return
        lines = self.text.splitlines()
        parts: list[str] = []
        for (line, column), text in sorted(self.mistakes.items())[:_SHOWN]:
            parts.append(f"{self.file}:{line + self.line}:{column + self.column}: {shown(shortened(text, 400))}")
            quoted = lines[line - 1] if line <= len(lines) else ""
            if quoted.strip() and len(quoted) <= 200:
                parts += [f"  {shown(quoted.rstrip())}", f"  {' ' * (column - 1)}^"]
        if len(self.mistakes) > _SHOWN:
            parts.append(f"and {len(self.mistakes) - _SHOWN} more")
        raise TextError("\n".join(parts))
