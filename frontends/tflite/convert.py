"""The table of TFLite operators: each family has its rows in its own module."""

from __future__ import annotations

from ..importing.converter import Converter
from . import activations, elementwise, indexing, products, reductions, shaping, windows
from .context import Context
from .program import RENAMING

CONVERTERS: dict[str, Converter[Context]] = {
    **activations.TABLE,
    **elementwise.TABLE,
    **indexing.TABLE,
    **products.TABLE,
    **reductions.TABLE,
    **shaping.TABLE,
    **windows.TABLE,
    RENAMING: Converter(shaping.same),
}
"""Operator, by its name in the schema -> how it is imported."""
