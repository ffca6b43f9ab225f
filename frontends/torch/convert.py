"""The table of operators: each family has its rows in its own module, one for each overload."""

from __future__ import annotations

from collections.abc import Iterable

from ..importing.converter import Converter
from ..importing.tables import Rows
from .aliases import aliases_of, original_of
from .context import Context
from .program import RENAMING


class _Overloads(Rows[Converter[Context]]):
    def other(self, name: str) -> Converter[Context] | None:
        original = original_of(name)
        return None if original is None else self.get(original)

    def others(self, names: Iterable[str]) -> Iterable[str]:
        return aliases_of(names)


CONVERTERS = _Overloads(__name__, own={RENAMING: Converter(lambda ctx: ctx.input_tensor("self"))})
"""Overload, without `torch.ops.` -> how it is imported."""
