"""The module, and each kernel, after every pass: what a compilation keeps on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..provenance.numbers import same_module
from ..support.errors import PipelineError
from ..support.files import write_text
from ..support.instrument import PassInfo, PassInstrument
from .artifact import Snapshot

INPUT = "input"
"""The stage before the first pass."""


def kernel_in(mod: Operation) -> str:
    """Return the symbol of the kernel that a pass runs on; "" for a module of relay."""
    from ..dialects.tir import PrimFuncOp

    first = mod.body.block.first_op if isinstance(mod, ModuleOp) else mod
    return first.sym_name.data if isinstance(first, PrimFuncOp) else ""


@dataclass
class PassSnapshots(PassInstrument):
    """Keeps what passes run on, before the first of them and after each; ops of one number are the same op."""

    every_kernel = True
    kept: list[Snapshot] = field(default_factory=lambda: list[Snapshot]())
    _begun: set[str] = field(default_factory=lambda: set[str]())

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        if self.kernel(mod) not in self._begun:
            self._begun.add(self.kernel(mod))
            self._keep(INPUT, mod)

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        self._keep(info.name, mod)

    def kernel(self, mod: Operation) -> str:
        """Return the result of `kernel_in`."""
        return kernel_in(mod)

    def keep(self, snapshot: Snapshot) -> None:
        """Take the next snapshot."""
        self.kept.append(snapshot)

    def _keep(self, stage: str, mod: Operation) -> None:
        copy = same_module(mod)
        self.keep(Snapshot(stage, copy if isinstance(copy, ModuleOp) else ModuleOp([copy]), self.kernel(mod)))


@dataclass
class SnapshotFolder:
    """A folder of `00-input.mlir`, `01-<pass>.mlir`, .. with locations; those of a kernel are in one of its name."""

    folder: Path
    written: list[Path] = field(default_factory=lambda: list[Path]())
    _counts: dict[str, int] = field(default_factory=lambda: dict[str, int]())

    def write(self, snapshot: Snapshot) -> None:
        """Write the next file; raises PipelineError where that is impossible."""
        number = self._counts.get(snapshot.kernel, 0)
        self._counts[snapshot.kernel] = number + 1
        path = self.folder / snapshot.kernel / f"{number:02}-{snapshot.stage}.mlir"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PipelineError(f"--snapshot-dir: {path}: {error.strerror}") from error
        write_text(path, f"{snapshot.text}\n")
        self.written.append(path)
