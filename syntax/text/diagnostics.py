"""Diagnostics of a text: collected, shown with their lines, and raised together."""

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
    """An error in a text; `diagnostics` say where and what."""

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...]):
        super().__init__(text)
        self.diagnostics = diagnostics


@dataclass(frozen=True)
class Diagnostic:
    """An error in a text, or a hint on it (level `help`)."""

    message: str
    span: Span
    level: str = "error"


@dataclass
class DiagnosticContext:
    """The diagnostics of one text, whose name is `file`."""

    file: str
    text: str
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def emit(self, message: str, span: Span, help: str = "") -> None:
        self.diagnostics.append(Diagnostic(message, span))
        if help:
            self.diagnostics.append(Diagnostic(help, span, "help"))

    def at(self, line: int, column: int, end_line: int = 0, end_column: int = 0) -> Span:
        """Return a span of this text, by default of one character."""
        return Span(SourceName(self.file), line, end_line or line, column, end_column or column + 1)

    def render(self) -> None:
        """Raise DiagnosticError if there are diagnostics."""
        if self.diagnostics:
            self.fail()

    def fail(self) -> NoReturn:
        """Raise DiagnosticError with all diagnostics, in the order of their positions."""
        if (render := _renderer.get()) is not None:
            render(self)
        raise DiagnosticError(self.spelled(), tuple(self._in_order()))

    def _in_order(self) -> list[Diagnostic]:
        return sorted(self.diagnostics, key=lambda d: (d.span.line, d.span.column))

    def spelled(self) -> str:
        """Return the diagnostics as text, with their lines."""
        ordered = self._in_order()
        source_lines = self.text.split("\n")
        lines = [_rendered(diagnostic, source_lines) for diagnostic in ordered[:SHOWN]]
        if len(ordered) > SHOWN:
            lines.append(f"and {len(ordered) - SHOWN} more")
        lines.append(f"{self.file}: one or more error diagnostics were emitted, please check them above")
        return "\n".join(lines)


Renderer: TypeAlias = Callable[[DiagnosticContext], object]
_renderer: ContextVar[Renderer | None] = ContextVar("renderer", default=None)


def override_renderer(render_func: Renderer | None) -> None:
    """Set a function that sees diagnostics before they are raised; None removes it."""
    _renderer.set(render_func)


def _rendered(diagnostic: Diagnostic, lines: list[str]) -> str:
    """Return a diagnostic in TVM's form: the message, the position, the line, and carets below the span."""
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
