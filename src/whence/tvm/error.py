"""Errors by TVM's names."""

from whence.frontends.relay_text.diagnostics import DiagnosticError as DiagnosticError
from whence.support.errors import TVMError as TVMError

__all__ = ["DiagnosticError", "TVMError"]
