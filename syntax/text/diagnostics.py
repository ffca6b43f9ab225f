"""Diagnostics of a text: collected, shown with the line they are about, and raised together."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from ...provenance.span import SourceName, Span
from ...support.errors import TextError

SHOWN = 20
"""The largest number of diagnostics that an error shows."""


class DiagnosticError(TextError):
    """The text is bad; `diagnostics` say where and how."""

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...]):
        super().__init__(text)
        self.diagnostics = diagnostics


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong (`error`), or what may be done about it (`help`)."""

    message: str
    span: Span
    level: str = "error"


@dataclass
class DiagnosticContext:
    """The diagnostics of one text, called `file`."""

    file: str
    text: str
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def emit(self, message: str, span: Span, help: str = "") -> None:
        self.diagnostics.append(Diagnostic(message, span))
        if help:
            self.diagnostics.append(Diagnostic(help, span, "help"))

    def at(self, line: int, column: int, end_line: int = 0, end_column: int = 0) -> Span:
        """A span of this text; without an end, of one character."""
        return Span(SourceName(self.file), line, end_line or line, column, end_column or column + 1)

    def render(self) -> None:
        """Raise DiagnosticError if there are diagnostics."""
        if self.diagnostics:
            self.fail()

    def fail(self) -> NoReturn:
        """Raise DiagnosticError with all diagnostics, in the order of their places."""
        if (render := _renderer.get()) is not None:
            render(self)
        raise DiagnosticError(self.spelled(), tuple(self._in_order()))

    def _in_order(self) -> list[Diagnostic]:
        return sorted(self.diagnostics, key=lambda d: (d.span.line, d.span.column))

    def spelled(self) -> str:
        """The diagnostics with the lines that they are about."""
        found = self._in_order()
        lines = self.text.split("\n")
        shown = [_rendered(diagnostic, lines) for diagnostic in found[:SHOWN]]
        if len(found) > SHOWN:
            shown.append(f"and {len(found) - SHOWN} more")
        shown.append(f"{self.file}: one or more error diagnostics were emitted, please check them above")
        return "\n".join(shown)


Renderer: TypeAlias = Callable[[DiagnosticContext], object]
_renderer: ContextVar[Renderer | None] = ContextVar("renderer", default=None)


def override_renderer(render_func: Renderer | None) -> None:
    """Have a function see diagnostics before they are raised; None: nobody does."""
    _renderer.set(render_func)


def _rendered(diagnostic: Diagnostic, lines: list[str]) -> str:
    """As TVM shows it: the message, the place, the line, and carets below what is meant."""
    span = diagnostic.span
    name = span.source_name.name if span.source_name else ""
    head = f"{diagnostic.level}: {diagnostic.message}\n --> {name}:{span.line}:{span.column}"
    if not 1 <= span.line <= len(lines):
        return head
    line = lines[span.line - 1]
    end = span.end_column if span.end_line == span.line else len(line) + 1
    carets = " " * (span.column - 1) + "^" * max(1, end - span.column)
    margin = " " * len(str(span.line))
    return f"{head}\n {margin} |  \n {span.line} |  {line}\n {margin} |  {carets}"
