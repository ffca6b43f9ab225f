"""The complete text of a program or an expression: version line, program, metadata section."""

from __future__ import annotations

from ...support.garbage import fewer_collections
from ..relay.expr import Expr, Program
from .actions import VERSION
from .layout import METADATA
from .metadata import MetadataWriter
from .printer import Annotate, Printer
from .source_map import SOURCE_MAP, written

_OMITTED = """/* The metadata section is not shown: tensors and other things that `meta[..][..]` refers to.
 * `astext` with `show_meta_data=True` shows it, and what it gives then can be read back.
 */"""


def astext(node: Expr | Program, show_meta_data: bool = True, annotate: Annotate | None = None) -> str:
    """Return the text in TVM's format 0.0.5; it is read back as an equal program with equal spans.

    show_meta_data: include the metadata section, with tensors and the source map; otherwise a comment stands for it.
    annotate: returns a text to put after an expression instead of its type and span.

    Raises FrontendError for anything but an expression of Relay.
    """
    printer = Printer(annotate, marks=show_meta_data and annotate is None)
    text = f"{VERSION}\n{_printed(printer, node)}"
    if printer.marks:
        text, nodes = printer.unmarked(text)
        if printer.lossy:
            section = f"{text}\n"
            printer.meta.reference(SOURCE_MAP, written(section, nodes, printer.names), SOURCE_MAP)
    return text + _metadata(printer.meta, show_meta_data)


def pretty_print(node: Expr | Program) -> str:
    """Return a readable text, without version line and metadata, as `str` of a module does."""
    return _printed(Printer(None, marks=False), node)


def _printed(printer: Printer, node: Expr | Program) -> str:
    with fewer_collections():
        return printer.program(node) if isinstance(node, Program) else printer.expression(node)


def _metadata(meta: MetadataWriter, shown: bool) -> str:
    if not meta.table:
        return ""
    return f"\n{METADATA}\n{meta.section()}" if shown else f"\n{_OMITTED}"
