"""Tables of rows in parts: each family of operators has a module with its rows, loaded when one of them is needed."""

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
"""The minimal letters of a part of a name that distinguishes it from others."""


class Rows(Mapping[str, RowT], Generic[RowT]):
    """The rows in the tables with one name in the modules of a package.

    The texts of the modules tell where a row may be: the module with its name in quotes is loaded first, then those
    with parts of its name, from which code may build it; the others only if it is in none of these.
    """

    def __init__(self, beside: str, table: str = "TABLE", own: Mapping[str, RowT] | None = None, only: str = ""):
        """beside: the name of a module in the package. own: rows of no module. only: the pattern of modules' names."""
        self._package, _, self._beside = beside.rpartition(".")
        self._table, self._only = table, re.compile(only)
        self._own: Mapping[str, RowT] = own or {}
        self._added: dict[str, RowT] = {}
        self._homes: dict[str, str | None] = {}

    def other(self, name: str) -> RowT | None:
        """Return a row that is in no table, or None."""
        return None

    def others(self, names: Iterable[str]) -> Iterable[str]:
        """Return the names of rows that are in no table, given the names of those that are."""
        return ()

    def add(self, name: str, row: RowT) -> None:
        """Add a row of an operator from outside the tree, which replaces that of the tree, if there is one."""
        self._added[name] = row

    def remove(self, name: str) -> None:
        """Take out an added row; raises KeyError if there is none of this name."""
        del self._added[name]

    def __getitem__(self, name: str) -> RowT:
        if name in self._added:
            return self._added[name]
        home = self.module_of(name)
        row = self._own.get(name) if home is None else self.rows_of(home)[name]
        row = self.other(name) if row is None else row
        if row is None:
            raise KeyError(name)
        return row

    def __iter__(self) -> Iterator[str]:
        names = [*self._own, *self._added, *(name for module in self._texts for name in self.rows_of(module))]
        yield from dict.fromkeys([*names, *self.others(names)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of_operators(self) -> Iterator[tuple[str, RowT]]:
        """The rows of operators that a model can have, by name: all but those that no module has."""
        return ((name, row) for name, row in self.items() if name in self._added or name not in self._own)

    def module_of(self, name: str) -> str | None:
        """Return the name, in the package, of the module whose table has a row; None if there is none."""
        if name not in self._homes and name not in self._own:
            homes = (module for module in self._candidates(name) if name in self.rows_of(module))
            self._homes[name] = next(homes, None)
        return self._homes.get(name)

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The texts of modules with a table, by name; a module without source may have one, and its text is empty."""
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
        """Return the names, in the package, of the modules that have a part of the table."""
        return self._texts.keys()

    def rows_of(self, module: str) -> Mapping[str, RowT]:
        """Return the part of the table in a module."""
        return getattr(import_module(f"{self._package}.{module}"), self._table, {})

    def _candidates(self, name: str) -> list[str]:
        """Return the modules, the likeliest first."""
        parts = [part for part in _PART.findall(name) if len(part) >= _LEAST]

        def unlikely(module: str) -> int:
            text = self._texts[module]
            if f'"{name}":' in text:
                return 0
            return 1 + sum(f'"{part}"' not in text and f"{part}{{" not in text for part in parts)

        return sorted(self._texts, key=unlikely)
