"""Renderers of the diagnostics of texts, as TVM has them at `tvm.ir.diagnostics`."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from whence.syntax.text.diagnostics import Diagnostic as Diagnostic
from whence.syntax.text.diagnostics import DiagnosticContext as DiagnosticContext
from whence.syntax.text.diagnostics import Renderer
from whence.syntax.text.diagnostics import override_renderer as override_renderer


def _show(context: DiagnosticContext) -> None:
    print(context.spelled(), file=sys.stderr)


@dataclass(frozen=True)
class DiagnosticRenderer:
    """Shows the diagnostics of a context."""

    render_func: Renderer

    def render(self, ctx: DiagnosticContext) -> None:
        """Show them."""
        self.render_func(ctx)


def get_renderer() -> DiagnosticRenderer:
    """Return the renderer that writes diagnostics to stderr."""
    return DiagnosticRenderer(_show)
