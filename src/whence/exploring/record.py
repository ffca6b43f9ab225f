"""A model compiled, and all of that as a session document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from whence.compiler.compile import compile as compile_model
from whence.compiler.formats import format_name
from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.restoring import read_artifact
from whence.executables.sized import SizedExecutable
from whence.executables.virtual_machine import VirtualExecutable
from whence.explorer.session.builder import Builder
from whence.explorer.session.document import MadeBy, Session
from whence.explorer.session.record import record_program, record_steps
from whence.explorer.session.schedules import add_schedules
from whence.explorer.session.watching import Watch
from whence.exploring.measuring import NOTHING, Wishes, measure
from whence.lowering.llvm_to_native.target import Target
from whence.passes.transform.passes import HoldsModule
from whence.reading.arrays import default_inputs
from whence.reading.models import EXPORTED, model_path
from whence.runtime.program.threads import thread_count
from whence.support.context import PassContext
from whence.support.errors import WhenceError

_LIBRARIES = ("xdsl", "llvmlite", "numpy", "onnx")


@dataclass
class Origin:
    """The model of a session, and how it was compiled."""

    model: str
    """A file, or the name of a shipped model."""
    command: str
    target: str = "native"
    opt_level: int = 3
    sha256: str = ""
    seconds: float = 0.0
    """Seconds of the compilation."""
    notes: list[str] = field(default_factory=list[str])
    kind: str = "relay"
    """Of a model in memory, as `Source.kind` has it."""

    def made_by(self, threads: int | None = None) -> MadeBy:
        """As the document has it; threads: that the model runs on, the default number for None."""
        libraries: dict[str, str] = {}
        for library in _LIBRARIES:
            try:
                libraries[library] = version(library)
            except PackageNotFoundError:
                continue
        return MadeBy(
            whence=version("whence-compiler"),
            command=self.command,
            model=self.model,
            sha256=self.sha256,
            target=self.target,
            opt_level=self.opt_level,
            threads=thread_count(threads),
            cpu=Target.native().cpu,
            libraries=libraries,
            compile_seconds=self.seconds,
            notes=self.notes,
        )


def record(model: Any, inputs: Mapping[str, Any] | None = None, wishes: Wishes = NOTHING, **options: Any) -> Session:
    """Compile a model, and take down all that became of it.

    model: as `whence.compile` has it, or a .tar, .so or .o file of `export_library`. inputs: by name, of a call, for a
    model of which only calls say what is compiled, and to be measured with; made up where that is possible. wishes: the
    measurements and films. options: as `whence.compile` has them. Raises what that raises.
    """
    path = model_path(str(model)) if isinstance(model, str | Path) else None
    name = path.name if path is not None else type(model).__name__
    data = path.read_bytes() if path is not None else model if isinstance(model, bytes) else b""
    origin = Origin(
        name,
        f"whence explore {model if path is not None else name}",
        str(options.get("target", "native")),
        int(options.get("opt_level", 3)),
        sha256=hashlib.sha256(data).hexdigest() if data else "",
        kind=_kind(model),
    )
    watch, context = Watch(), PassContext.current()
    if path is not None and path.suffix in EXPORTED:
        return session_of(Executable(read_artifact(path)), watch, origin, inputs, wishes)
    start = time.perf_counter()
    with context.at_level(context.opt_level, [watch]):
        executable = compile_model(model, **options)
    origin.seconds = time.perf_counter() - start - watch.seconds
    return session_of(executable, watch, origin, inputs, wishes)


def _kind(model: Any) -> str:
    if isinstance(model, ModuleOp | HoldsModule):
        return "relay"
    return format_name(model)


def session_of(
    executable: Executable,
    watch: Watch,
    origin: Origin,
    inputs: Mapping[str, Any] | None = None,
    wishes: Wishes = NOTHING,
) -> Session:
    """Return the session of a model that was compiled under a watch.

    inputs, wishes: as `record` has them.
    """
    if isinstance(executable, InterpretedExecutable) and not executable.specializations:
        _call(executable, inputs, origin)
    builder = Builder(origin.made_by(executable.threads), origin.kind)
    if isinstance(executable, VirtualExecutable):
        record_steps(builder, executable.module, "main", str(executable.choice))
    recorded: list[tuple[int, Executable]] = []
    for program, name, kind, about in programs(executable, origin):
        artifact = program.artifact
        row = record_program(builder, artifact, watch.of(artifact.ledger), name, kind, about, wishes.sizes)
        add_schedules(builder.session, artifact, row.kernels, wishes.films)
        recorded.append((row.program, program))
    if wishes.measured:
        measure(builder, recorded, inputs, wishes, whole=not isinstance(executable, InterpretedExecutable))
    return builder.finish()


def _call(executable: InterpretedExecutable, inputs: Mapping[str, Any] | None, origin: Origin) -> None:
    """Call a model that only calls compile; note where that is not possible."""
    try:
        executable.run(inputs if inputs is not None else default_inputs(executable.inputs))
    except WhenceError as error:
        if inputs is not None:
            raise
        origin.notes.append(f"nothing was compiled, as only calls of the model say what is, and none came: {error}")


def programs(executable: Executable, origin: Origin) -> Iterator[tuple[Executable, str, str, str]]:
    """The programs of a compiled model: each with its name, its kind, and the reason for it or its sizes."""
    if isinstance(executable, InterpretedExecutable):
        if not isinstance(executable, VirtualExecutable):
            origin.notes.append(str(executable.choice))
        for number, part in enumerate(executable.specializations):
            yield part, f"stretch {number}", "stretch", _inputs(part)
            yield from _specialised(part, f"stretch {number}, ")
        return
    exported = Path(origin.model).suffix in EXPORTED
    kind = "exported" if exported else "sized" if isinstance(executable, SizedExecutable) else "static"
    yield executable, "main", kind, str(executable.choice)
    yield from _specialised(executable, "")


def _specialised(executable: Executable, before: str) -> Iterator[tuple[Executable, str, str, str]]:
    if isinstance(executable, SizedExecutable):
        for number, part in enumerate(executable.specializations):
            yield part, f"{before}specialised {number}", "specialised", _inputs(part)


def _inputs(program: Executable) -> str:
    return ", ".join(map(str, program.inputs))
