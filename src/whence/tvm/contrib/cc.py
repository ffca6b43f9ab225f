"""The system's compiler as a linker, by TVM's names."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from os import PathLike, environ
from pathlib import Path

from whence.planning.export import run_linker, seal_file

FilePath = str | PathLike[str]


def get_cc() -> str | None:
    """Return the command of the compiler: what CXX or CC says, else the first of g++, gcc, clang++ and cc; or None."""
    named = environ.get("CXX") or environ.get("CC")
    return named or next(filter(None, map(shutil.which, ("g++", "gcc", "clang++", "cc"))), None)


def create_shared(
    output: FilePath,
    objects: Sequence[FilePath] | FilePath,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link objects into a shared library, which `runtime.load_module` loads where they are of `export_library`.

    options: more for the compiler's command. cc: the compiler, by default `get_cc`. Raises PipelineError where it
    fails, with its first error.
    """
    files = [objects] if isinstance(objects, str | PathLike) else objects
    command = [cc or get_cc() or "cc"]
    path = Path(output)
    run_linker([*command, "-shared", "-fPIC", "-o", str(path), *map(str, files), *(options or ()), "-lm", "-pthread"])
    seal_file(path)


def cross_compiler(
    compile_func: str | Callable[..., object], options: Sequence[str] | None = None, output_format: str = "so"
) -> Callable[..., None]:
    """Return what `export_library` takes as `fcompile`: a compiler for another machine, by its command.

    compile_func: a command, or a function such as `create_shared`. options: more for each of its calls.
    """
    first = list(options or ())

    def link(output: FilePath, objects: Sequence[FilePath], options: Sequence[str] | None = None) -> None:
        given = [*first, *(options or ())]
        if isinstance(compile_func, str):
            create_shared(output, objects, given, cc=compile_func)
        else:
            compile_func(output, objects, options=given)

    link.output_format = output_format  # pyright: ignore[reportFunctionMemberAccess]
    return link
