"""A model compiled, and all of that as a session document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whence.compiler.compile import compile as compile_model
from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.sized import SizedExecutable
from whence.explorer.session.builder import Builder
from whence.explorer.session.document import MadeBy, Session
from whence.explorer.session.record import record_program
from whence.explorer.session.watching import Watch
from whence.lowering.llvm_to_native.target import Target
from whence.reading.models import model_path
from whence.support.context import PassContext

_LIBRARIES = ("xdsl", "llvmlite", "numpy", "onnx")


def record(model: Any, **options: Any) -> Session:
    """Compile a model, and take down all that became of it.

    model, options: as `whence.compile` has them. Raises what that raises.
    """
    watch = Watch()
    context = PassContext.current()
    start = time.perf_counter()
    with context.at_level(context.opt_level, [watch]):
        executable = compile_model(model, **options)
    seconds = time.perf_counter() - start - watch.seconds
    return session_of(executable, watch, made_by(model, executable, seconds, options))


def session_of(executable: Executable, watch: Watch, origin: MadeBy) -> Session:
    """The session of a compiled model."""
    builder = Builder(origin)
    for program, name, kind, about in programs(executable):
        record_program(builder, program.artifact, watch.of(program.artifact.ledger), name, kind, about)
    return builder.finish()


def programs(executable: Executable) -> Iterator[tuple[Executable, str, str, str]]:
    """The programs of a compiled model: each with its name, its kind, and the reason for it or its sizes."""
    if isinstance(executable, InterpretedExecutable):
        for number, part in enumerate(executable.specializations):
            about = ", ".join(map(str, part.inputs))
            yield part, f"stretch {number}", "stretch", about
        return
    kind = "sized" if isinstance(executable, SizedExecutable) else "static"
    yield executable, "main", kind, str(executable.choice)
    if isinstance(executable, SizedExecutable):
        for number, part in enumerate(executable.specializations):
            about = ", ".join(map(str, part.inputs))
            yield part, f"specialised {number}", "specialised", about


def made_by(model: Any, executable: Executable, seconds: float, options: dict[str, Any]) -> MadeBy:
    """The origin of a session."""
    path = model_path(str(model)) if isinstance(model, str | Path) else None
    data = path.read_bytes() if path is not None else model if isinstance(model, bytes) else b""
    name = path.name if path is not None else type(model).__name__
    libraries: dict[str, str] = {}
    for library in _LIBRARIES:
        try:
            libraries[library] = version(library)
        except PackageNotFoundError:
            continue
    return MadeBy(
        version("whence-compiler"),
        f"whence explore {model if path is not None else name}",
        name,
        hashlib.sha256(data).hexdigest() if data else "",
        str(options.get("target", "native")),
        int(options.get("opt_level", 3)),
        int(options.get("threads") or 0),
        Target.native().cpu,
        libraries,
        seconds,
        [],
    )
