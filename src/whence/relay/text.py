"""Relay text, as TVM's functions of these names read and write it."""

from __future__ import annotations

from typing import Any

from whence.frontends import relay_text
from whence.frontends.relay.expr import Expr
from whence.relay.module import IRModule


def parse(
    source: str, source_name: str = "from_string", init_module: Any = None, init_meta_table: Any = None
) -> IRModule:
    """The module of a text; raises DiagnosticError with all that is wrong in it."""
    around = init_module.program if isinstance(init_module, IRModule) else init_module
    return IRModule.of(relay_text.parse(source, source_name, around, init_meta_table))


def fromtext(data: str, source_name: str | None = None) -> IRModule:
    """As `parse`."""
    return parse(data, source_name or "from_string")


def parse_expr(source: str) -> Expr:
    """The expression of a text."""
    return relay_text.parse_expr(source)


def astext(node: IRModule | Expr, show_meta_data: bool = True, annotate: Any = None) -> str:
    """The text of a module or an expression."""
    if isinstance(node, IRModule):
        return node.astext(show_meta_data, annotate)
    return relay_text.astext(node, show_meta_data=show_meta_data, annotate=annotate)
