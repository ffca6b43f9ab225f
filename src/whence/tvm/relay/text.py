"""Relay text, as TVM's functions of these names read and write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from whence.provenance.span import SequentialSpan, Span
from whence.relay.module import IRModule
from whence.support.doors import door
from whence.support.errors import FrontendError, TextError
from whence.syntax import text as relay_text
from whence.syntax.relay.expr import Expr, Program
from whence.syntax.relay.nodes import post_order
from whence.syntax.text.diagnostics import DiagnosticContext


@door()
def parse(
    source: str, source_name: str = "from_string", init_module: Any = None, init_meta_table: Any = None
) -> IRModule:
    """Return the module of a text, with its types; raises DiagnosticError with the text's errors.

    init_module: functions, types and kernels that the text may use, and that the result has, too.
    """
    around = init_module.program if isinstance(init_module, IRModule) else init_module
    module = IRModule.of(relay_text.parse(source, source_name, around, init_meta_table))
    if isinstance(init_module, IRModule):
        for name, kernel in init_module.kernels.items():
            module[name] = kernel
    try:
        module.typed()
    except TextError:
        raise
    except FrontendError as error:
        _diagnose(str(error), DiagnosticContext(source_name, source), module.program)
        raise
    return module


def _diagnose(text: str, context: DiagnosticContext, program: Program) -> None:
    """Raise an error of types as DiagnosticError, if it has a place in the text."""
    match = re.search(rf" \({re.escape(context.file)}:(\d+):(\d+)\)$", text)
    if match is None:
        return
    line, column = int(match[1]), int(match[2])
    spans = [span for span in _spans(program) if (span.line, span.column) == (line, column)]
    enclosing = max(spans, key=lambda span: (span.end_line, span.end_column), default=context.at(line, column))
    context.emit(text[: match.start()], enclosing)
    context.render()


def _spans(program: Program) -> Iterator[Span]:
    for function in program.functions.values():
        for node in post_order(function):
            if isinstance(node.span, Span) and not isinstance(node.span, SequentialSpan):
                yield node.span


@door()
def fromtext(data: str, source_name: str | None = None) -> IRModule:
    """Return the result of `parse`."""
    return parse(data, source_name or "from_string")


@door()
def parse_expr(source: str) -> Expr:
    """The expression of a text."""
    return relay_text.parse_expr(source)


def astext(node: IRModule | Expr, show_meta_data: bool = True, annotate: Any = None) -> str:
    """The text of a module or an expression."""
    if isinstance(node, IRModule):
        return node.astext(show_meta_data, annotate)
    return relay_text.astext(node, show_meta_data=show_meta_data, annotate=annotate)
