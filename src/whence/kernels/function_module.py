"""The uses that TVM has for a built function besides calling it: its source, and files to load elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from whence.lowering.llvm_to_native.target import Target
from whence.runtime.program.entries import ENTRY_NAME, NamedFunctions
from whence.runtime.program.library import Compile
from whence.support.errors import PipelineError, expectation
from whence.support.files import write_text

_SOURCES = {"ll": "llvm", "opt.ll": "optimized_llvm", "s": "assembly", "asm": "assembly", "tir": "tir", "c": "c_source"}
"""Format -> the text of a function."""


class FunctionModule(NamedFunctions):
    """A function by the names of TVM's modules."""

    name: str
    target: Target

    @property
    def type_key(self) -> str:
        """The kind of the target: "llvm" or "c"."""
        return self.target.kind.name

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return this function, by its name; raises PipelineError for another name."""
        if name not in (self.name, ENTRY_NAME):
            raise PipelineError(expectation("module", f"the function {self.name}", repr(name)))
        return cast("Callable[..., Any]", self)

    def get_source(self, fmt: str = "") -> str:
        """The code as text: "ll", "opt.ll" after LLVM's passes, "asm" or "s", "tir", "c"; "" is the target's language.

        Raises PipelineError for another format.
        """
        kind = fmt or {"llvm": "ll"}.get(self.type_key, self.type_key)
        if kind not in _SOURCES:
            raise PipelineError(expectation("get_source", f"a format among {', '.join(_SOURCES)}", repr(fmt)))
        return getattr(self, _SOURCES[kind])

    @property
    def _code_for_files(self) -> FunctionModule:
        """The function whose code files get."""
        return self

    def save(self, file_name: str | PathLike[str], fmt: str = "") -> None:
        """Write a file in the format of the suffix or `fmt`: code from `get_source`, or a file for `load_module`."""
        path = Path(file_name)
        if (kind := fmt or path.suffix.lstrip(".")) in _SOURCES:
            write_text(path, self.get_source(kind))
        elif fmt and path.suffix != f".{fmt}":
            raise PipelineError(expectation("save", f"a file in .{fmt}", str(path)))
        else:
            self.export_library(path)

    def export_library(
        self,
        file_name: str | PathLike[str],
        fcompile: Compile = None,
        addons: Sequence[str | PathLike[str]] | None = None,
        *,
        options: Sequence[str] = (),
    ) -> str:
        """Write the function to a .tar, .so or .o file, whole or not at all, or as C (.c, .zip); returns the path.

        `whence.runtime.load_module` loads it, without the compiler: `module["add"](a, b, c)`. Arguments as those of
        `relay.build`'s result. Open sizes are read off the inputs of a call. Raises PipelineError for sizes that
        no input tells, and where it cannot be written.
        """
        from whence.kernels.function_files import Exported, export_function

        export_function(cast(Exported, self._code_for_files), Path(file_name), fcompile or None, addons or (), options)
        return str(file_name)
