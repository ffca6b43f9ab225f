"""The prelude: lists, options and trees, with the functions on them."""

from __future__ import annotations

from typing import Any

from whence.frontends.relay.expr import GlobalVar
from whence.relay.module import IRModule


class Prelude:
    """The prelude in a module: `p.map` and the like are its functions, `p.mod.get_type("List")` a type of it."""

    def __init__(self, mod: IRModule | None = None):
        self.mod = mod if mod is not None else IRModule()
        self.mod.import_from_std("prelude.rly")

    def get_type(self, name: str) -> tuple[Any, ...]:
        """The name of a data type and its constructors, as `IRModule.get_type`."""
        return self.mod.get_type(name)

    def __getattr__(self, name: str) -> GlobalVar:
        try:
            return self.mod.get_global_var(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None
