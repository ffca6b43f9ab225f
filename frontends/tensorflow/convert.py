"""The table of TensorFlow's operators: each family has its rows in its own module."""

from __future__ import annotations

from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tables import Rows
from . import elementwise
from .context import Context
from .scopes import IS_NUMBER, SAME, TRUTH

_OWN: dict[str, Converter[Context]] = {
    **dict.fromkeys(SAME, row(elementwise.same, "input:tensor")),
    IS_NUMBER: row(elementwise.is_number, "branch"),
    TRUTH: row(elementwise.truth, "condition:tensor"),
}
CONVERTERS: Rows[Converter[Context]] = Rows(__name__, own=_OWN)
"""Operator -> how it is imported."""
