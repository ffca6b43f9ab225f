"""Tables in parts: what the modules say that a file imports by name, so that it lists each once."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def modules_in(package: str, names: Mapping[str, object]) -> list[ModuleType]:
    """Return the modules of a package among the names of a file, in the order of their imports."""
    modules = [value for value in names.values() if isinstance(value, ModuleType)]
    return [module for module in modules if module.__name__.rpartition(".")[0] == package]


def joined_tables(package: str, names: Mapping[str, object], table_name: str = "TABLE") -> dict[Any, Any]:
    """Return one table of those that these modules have by a name; raises ValueError for a key that two have."""
    joined: dict[Any, Any] = {}
    for module in modules_in(package, names):
        table: Mapping[Any, Any] = getattr(module, table_name, {})
        if twice := joined.keys() & table.keys():
            raise ValueError(f"{module.__name__}: expected keys of its own, got {sorted(map(str, twice))}")
        joined |= table
    return joined
