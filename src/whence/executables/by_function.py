"""The functions of a module without `@main`, each a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from whence.passes.relay.analysis.traversal import functions_of
from whence.passes.transform.passes import HoldsModule
from whence.provenance.numbers import same_module
from whence.support.errors import PipelineError
from whence.support.names import did_you_mean


class FunctionExecutables:
    """The functions of a module, each compiled when it is first asked for.

    compile: makes a program of a module with `@main`.
    """

    def __init__(self, mod: ModuleOp | HoldsModule, compile: Callable[[ModuleOp], Any]):
        self.mod = mod
        self._module = mod.module if isinstance(mod, HoldsModule) else mod
        self._compile = compile
        self._compiled: dict[str, Any] = {}

    @property
    def names(self) -> list[str]:
        """The functions that can be called."""
        return [name for name, func in functions_of(self._module).items() if func.primitive is None]

    def function(self, name: str) -> Any:
        """Return the program whose `@main` is a function; raises PipelineError for an unknown name."""
        if name not in self._compiled:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                expected = ", ".join(self.names) or "none"
                raise PipelineError(f"expected a function among {expected}, got {name}{hint}")
            held = same_module(self._module)
            if name != "main":
                # The function stays under its name, too, as it may call itself.
                main = functions_of(held)[name].clone()
                main.properties["sym_name"] = StringAttr("main")
                held.body.block.add_op(main)
            self._compiled[name] = self._compile(held)
        return self._compiled[name]

    def export_library(self, file_name: str | PathLike[str], name: str = "main") -> None:
        """Write the program of a function to a file, which `whence.load_module` opens."""
        self.function(name).export_library(file_name)
