"""Relay text: parser and printer of TVM's format 0.0.5."""

from .diagnostics import Diagnostic, DiagnosticError
from .parser import fromtext, parse, parse_expr
from .text import astext, pretty_print

__all__ = ["Diagnostic", "DiagnosticError", "astext", "fromtext", "parse", "parse_expr", "pretty_print"]
