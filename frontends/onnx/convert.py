"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from collections.abc import Iterator

from ..importing.converter import Converter
from ..importing.tables import Rows
from .context import Context

CONVERTERS: Rows[Converter[Context]] = Rows(__name__)
"""Operators of the default domain."""

MICROSOFT: Rows[Converter[Context]] = Rows(__name__, "MICROSOFT")
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

MACHINE_LEARNING: Rows[Converter[Context]] = Rows(__name__, "MACHINE_LEARNING")
"""Operators of ai.onnx.ml."""

DOMAINS = {
    "": CONVERTERS,
    "ai.onnx": CONVERTERS,
    "com.microsoft": MICROSOFT,
    "ai.onnx.ml": MACHINE_LEARNING,
}
"""Domain -> operator -> how it is imported."""


def add_converter(domain: str, op_type: str, converter: Converter[Context]) -> None:
    """Import an operator from outside the tree, of any domain, by a row; it comes before a row of the tree."""
    DOMAINS.setdefault(domain, Rows(__name__, only="$")).add(op_type, converter)


def remove_converter(domain: str, op_type: str) -> None:
    """Take out an added row; raises KeyError if there is none."""
    DOMAINS[domain].remove(op_type)


def spelled(domain: str, op_type: str) -> str:
    """Return the name of an operator with its domain, if that is not ONNX's own: `com.microsoft.Gelu`."""
    return f"{domain}.{op_type}" if domain else op_type


def operator_names(domain: str, op_type: str) -> tuple[str, str]:
    """Return the names that the user may call an operator by."""
    return spelled(domain, op_type), op_type


def supported() -> Iterator[str]:
    """The names of all operators, with their domains."""
    yield from (spelled(domain, name) for domain, table in DOMAINS.items() for name in table if domain != "ai.onnx")


def converter_of(domain: str, op_type: str) -> Converter[Context] | None:
    """The row of an operator, if there is one."""
    return DOMAINS[domain].get(op_type) if domain in DOMAINS else None
