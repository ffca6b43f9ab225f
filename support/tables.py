"""The modules that a file imports by name, so that it lists each once."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType


def modules_in(package: str, names: Mapping[str, object]) -> list[ModuleType]:
    """Return the modules of a package among the names of a file, in the order of their imports."""
    modules = [value for value in names.values() if isinstance(value, ModuleType)]
    return [module for module in modules if module.__name__.rpartition(".")[0] == package]
