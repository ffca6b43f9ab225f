"""The external compilers by name, loaded when asked for; this is read at every start, and imports little."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...runtime.program.external import FALLBACK, ExternalFunction
from ...support.errors import PipelineError

if TYPE_CHECKING:
    from ...passes.relay.pattern_table import Table

Build = Callable[[ModuleOp], ExternalFunction]
"""Makes of a module with a function `@main`, and the composite functions that it calls, what runs it."""


def _onnxruntime() -> Build:
    # Its module registers patterns.
    from .onnxruntime import build

    return build


def _python() -> Build:
    from .python import build

    return build


PYTHON = "python"
"""The compiler of functions that a Python function of the user's computes; imports make these, no target does."""
_SHIPPED = {"onnxruntime": _onnxruntime, PYTHON: _python}
"""Compilers that come with Whence, each loaded when it is first asked for."""
_builders: dict[str, Build] = {}


def register_external_codegen(name: str, build: Build | None = None, *, patterns: Table | None = None) -> Any:
    """Make an external compiler known by its name; without `build`, a decorator.

    build: given a module whose `@main` is the function to compile, returns what computes it: called with a numpy array
    for each parameter, it returns the result, or several in a list. `evaluate_module` is one that does it in numpy.
    patterns: what it takes together, as `register_pattern_table` says.
    """

    def register(given: Build) -> Build:
        _builders[name] = given
        if (table := patterns) is not None:
            from ...passes.relay.pattern_table import register_pattern_table

            register_pattern_table(name, lambda: table)
        return given

    return register if build is None else register(build)


def external_compilers() -> tuple[str, ...]:
    """The names of the external compilers that take operators, those that were not asked for yet included."""
    return tuple(sorted({*_builders, *_SHIPPED} - {PYTHON}))


def external_codegen(name: str) -> Build:
    """The code generator of an external compiler.

    Raises PipelineError for one that there is none of, or that lacks what it runs on.
    """
    if name.endswith(f" {FALLBACK}"):
        return _python()
    if name not in _builders and name in _SHIPPED:
        register_external_codegen(name, _SHIPPED[name]())
    if name not in _builders:
        names = ", ".join(external_compilers())
        raise PipelineError(f"external compiler: expected one among {names}, got '{name}'")
    return _builders[name]


def split_target(text: str) -> tuple[tuple[str, ...], str]:
    """The external compilers that a target names before its own part, `native` if that is left out.

    >>> split_target("onnxruntime, llvm -mcpu=skylake -mattr=+avx2,+fma")
    (('onnxruntime',), 'llvm -mcpu=skylake -mattr=+avx2,+fma')
    """
    compilers: list[str] = []
    rest = text
    while (name := rest.partition(",")[0].strip()) in external_compilers():
        compilers.append(name)
        rest = rest.partition(",")[2].strip()
    return tuple(dict.fromkeys(compilers)), rest if (compilers and rest) or not compilers else "native"
