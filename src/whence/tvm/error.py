"""Errors by TVM's names."""

from whence.support.errors import TVMError as TVMError
from whence.syntax.text.diagnostics import DiagnosticError as DiagnosticError

__all__ = ["DiagnosticError", "TVMError"]
