"""The table of TensorFlow's operators: each family has its rows in its own module."""

from __future__ import annotations

from ..importing.converter import Converter
from ..importing.tables import Rows
from . import elementwise
from .context import Context
from .scopes import IS_NUMBER, SAME, TRUTH

_OWN = {
    **dict.fromkeys(SAME, Converter(elementwise.same)),
    IS_NUMBER: Converter(elementwise.is_number),
    TRUTH: Converter(elementwise.truth),
}
CONVERTERS: Rows[Converter[Context]] = Rows(__name__, own=_OWN)
"""Operator -> how it is imported."""
