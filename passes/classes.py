"""The classes of passes, each loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass

from .registry import Row


def pass_class(row: Row) -> type[ModulePass]:
    """Return the class of a pass, from the module that its row names."""
    module, _, name = row.home.partition(":")
    return cast(type[ModulePass], getattr(import_module(f"whence.{module}"), name))
