"""The origin of a session: the model, and how it was compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from whence.explorer.session.document import MadeBy
from whence.lowering.llvm_to_native.target import Target
from whence.runtime.program.threads import thread_count

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
    """The kind of a model in memory, like `Source.kind`."""

    def made_by(self, threads: int | None = None) -> MadeBy:
        """Return the entry of the document; threads: the threads of the model, None for the default number."""
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
