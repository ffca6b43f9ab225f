"""Several compiled kernels as one of TVM's modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from whence.kernels.functions import Function
from whence.runtime.program.entries import ENTRY_NAME, NamedFunctions
from whence.support.errors import PipelineError, expectation


class FunctionTable(NamedFunctions):
    """Functions by name: `module["add"](a, b)`. The main function is the one called main, if there is one."""

    type_key = "llvm"

    def __init__(self, functions: Mapping[str, Function]):
        self.functions = dict(functions)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function; raises PipelineError for an unknown name."""
        found = self.functions.get("main" if name == ENTRY_NAME else name)
        if found is None:
            raise PipelineError(expectation("module", f"a function among {', '.join(self.functions)}", repr(name)))
        return cast("Callable[..., Any]", found)

    def __call__(self, *arguments: Any) -> Any:
        """Call the main function."""
        return self.entry_func(*arguments)

    def get_source(self, fmt: str = "") -> str:
        """The code of all functions as text, in a format of `Function.get_source`."""
        return "\n".join(function.get_source(fmt) for function in self.functions.values())
