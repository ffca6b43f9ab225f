"""Tables of rows in parts: each family of operators has its rows in a module, which is loaded for a row that it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from typing import Generic, TypeVar

RowT = TypeVar("RowT")
_PART = re.compile(r"[A-Za-z_]+")
_LEAST = 3
"""The letters of a part of a name that tells one from others."""


class Rows(Mapping[str, RowT], Generic[RowT]):
    """The rows that modules of a package have in their tables of one name.

    A row is found by the text of the modules: that with its name in quotes is loaded first, then those with parts of
    its name, which the name may be made of; the others only for a name that none of these has.
    """

    def __init__(self, beside: str, table: str = "TABLE", own: Mapping[str, RowT] | None = None, only: str = ""):
        """Note where the rows are: in modules of the package of one that is called `beside`.

        own: rows that no module has; only: the pattern of the names of modules.
        """
        self._package, _, self._beside = beside.rpartition(".")
        self._table, self._only = table, re.compile(only)
        self._own: Mapping[str, RowT] = own or {}
        self._homes: dict[str, str | None] = {}

    def other(self, name: str) -> RowT | None:
        """Return a row that stands in no table; None where there is none."""
        return None

    def others(self, names: Iterable[str]) -> Iterable[str]:
        """The names of the rows that stand in no table, by those that do."""
        return ()

    def __getitem__(self, name: str) -> RowT:
        home = self.module_of(name)
        row = self._own.get(name) if home is None else self.rows_of(home)[name]
        row = self.other(name) if row is None else row
        if row is None:
            raise KeyError(name)
        return row

    def __iter__(self) -> Iterator[str]:
        names = [*self._own, *(name for module in self._texts for name in self.rows_of(module))]
        yield from dict.fromkeys([*names, *self.others(names)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of_operators(self) -> Iterator[tuple[str, RowT]]:
        """The rows of operators that a model can have, by name: all but those that no module has."""
        return ((name, row) for name, row in self.items() if name not in self._own)

    def module_of(self, name: str) -> str | None:
        """Return the module whose table has a row, by its name in the package; None where none has."""
        if name not in self._homes and name not in self._own:
            homes = (module for module in self._candidates(name) if name in self.rows_of(module))
            self._homes[name] = next(homes, None)
        return self._homes.get(name)

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The text of each module that has a table, or may have one as its source is not there, by its name."""
        texts: dict[str, str] = {}
        folder = files(self._package)
        for module in iter_modules(import_module(self._package).__path__):
            source = folder / f"{module.name}.py"
            text = source.read_text("utf-8") if source.is_file() else ""
            has_table = not text or re.search(rf"^{self._table}\b", text, re.MULTILINE)
            if has_table and module.name != self._beside and self._only.match(module.name):
                texts[module.name] = text
        return texts

    def modules(self) -> Iterable[str]:
        """The modules that have a part of the table, by their names in the package."""
        return self._texts.keys()

    def rows_of(self, module: str) -> Mapping[str, RowT]:
        """Return the part of the table that a module has."""
        return getattr(import_module(f"{self._package}.{module}"), self._table, {})

    def _candidates(self, name: str) -> list[str]:
        """The modules, the likeliest first."""
        parts = [part for part in _PART.findall(name) if len(part) >= _LEAST]

        def unlikely(module: str) -> int:
            text = self._texts[module]
            if f'"{name}":' in text:
                return 0
            return 1 + sum(f'"{part}"' not in text and f"{part}{{" not in text for part in parts)

        return sorted(self._texts, key=unlikely)
