"""Linked kernels by the names under which a graph calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from ...support.errors import FrontendError, PipelineError, expectation
from .threads import PoolCode, ThreadPool


class GraphFunction(NamedTuple):
    """A kernel: `void (ptr inputs..., ptr outputs..., i64 sizes..., ptr workspace, ptr pool)`."""

    address: int
    workspace: int = 0
    """Bytes of scratch that a call needs."""
    sizes: tuple[int, ...] = ()
    """The sizes to call it with, if it is compiled for all sizes."""


Compile = Callable[..., object] | Literal[False] | None
"""A linker of objects: `fcompile(path, objects, options)`. None, or False as in TVM, is the default linker."""

Callee = GraphFunction | Callable[..., object]
"""A kernel, or a Python function that is called with the arrays of its inputs and then of its outputs."""


class Library:
    """The functions of a model, ready to be called.

    pool: the threads that they run on. alive: the object that keeps their code mapped.
    check: called with the name of the node after each call; raises the errors that the call reported.
    """

    def __init__(
        self,
        functions: Mapping[str, Callee],
        pool: ThreadPool,
        alive: object = None,
        check: Callable[[str], None] | None = None,
    ):
        self.functions: dict[str, Callee] = dict(functions)
        self.pool = pool
        self.check = check
        self.exporter: Callable[..., None] | None = None
        """A function that writes the model without its params, with the parameters of `planning.export.export`."""
        self._alive = alive

    def export_library(
        self,
        file_name: str | PathLike[str],
        fcompile: Compile = None,
        addons: Sequence[str | PathLike[str]] | None = None,
        *,
        options: Sequence[str] = (),
    ) -> str:
        """Write the `lib` of `graph, lib, params = relay.build(..)` to a file, as the build's `export_library` does.

        The file has no params; whoever loads it needs them separately. Raises PipelineError for a library of no build.
        """
        if self.exporter is None:
            raise PipelineError(expectation("export_library", "the library of a build", "one of functions in memory"))
        self.exporter(
            Path(file_name), link=fcompile or None, addons=[Path(addon) for addon in addons or ()], options=options
        )
        return str(file_name)

    @property
    def library(self) -> Library:
        return self

    def function(self, name: str, node: str) -> Callee:
        """Return the function that a node calls; raises FrontendError when there is none with that name."""
        if (function := self.functions.get(name)) is None:
            names = ", ".join(list(self.functions)[:5]) or "none"
            raise FrontendError(expectation(f"graph node '{node}'", f"a function of the library ({names})", repr(name)))
        return function


@runtime_checkable
class HasLibrary(Protocol):
    """An object that a graph can be run with."""

    @property
    def library(self) -> Library: ...


class FrontendTestModule:
    """A library of Python functions, for tests of graph executors: `module["name"] = function`."""

    def __init__(self) -> None:
        self._functions: dict[str, Callee] = {}

    def __setitem__(self, name: str, function: Callable[..., object]) -> None:
        self._functions[name] = function

    def __getitem__(self, name: str) -> Callee:
        return self._functions[name]

    @property
    def library(self) -> Library:
        """The library of the functions so far; kernels of other libraries in it run on one thread."""
        return Library(self._functions, ThreadPool(PoolCode(0), 1))
