"""Programs for certain sizes, compiled by another process, so that calls never wait for a compiler's Python.

The module and the program travel as packages (runtime/loading/package.py) in files without names, so that a killed
process leaves nothing behind. The process ends with its work, or with the process that started it.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import IO, Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from whence.dialects.relay.constants import ConstantPool, pool_of, set_pool
from whence.executables.executable import Executable
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategies import outside_fingerprint
from whence.planning.artifact import Artifact
from whence.planning.build import Building
from whence.planning.loading import load_objects
from whence.provenance.ledger import Ledger
from whence.provenance.numbers import number_of
from whence.provenance.walk import walk
from whence.runtime.loading.exported import Compiled
from whence.runtime.loading.package import Package, packed
from whence.runtime.program.program import Program
from whence.runtime.values.tensors import TensorSpec
from whence.support.context import PassContext

SOURCE, MAIN, KERNEL = "source", "main", "kernel "
"""Parts of packages: the text of a module; objects of the main program, and, with their numbers, of kernels."""

NO_START = 75
"""The exit code of a process that could not import the compiler."""
_START = f"""
import sys
sys.path[:] = sys.argv[4:]
try:
    from whence.executables.apart_process import main
except BaseException:
    sys.exit({NO_START})
main(*sys.argv[1:4])
"""
_PAUSE = 0.0002
"""The seconds for which a background thread releases the interpreter, so that waiting threads run first."""
_WRITES = 256
"""After how many writes of a printer, which take some 0.3 ms."""


@dataclass(frozen=True)
class Options:
    """The parts of a PassContext that another process can have."""

    opt_level: int
    required_pass: tuple[str, ...]
    disabled_pass: tuple[str, ...]
    config: dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The parts of a `Building` that another process can have."""

    target: Target
    options: Options
    audit: bool
    desired_layouts: str
    precision: str
    seed: int | None
    tuned: list[str] | None
    """Lines of the records of tuning."""


class Weight(NamedTuple):
    """A constant of a module, and the number of the parameter that holds its value."""

    name: str
    param: int


@dataclass(frozen=True)
class CompiledHere(Compiled):
    """A program that a process compiled for another one of this machine."""

    weights: tuple[Weight, ...]


class CannotStart(Exception):
    """There is no process that could compile."""


class _Yielding(StringIO):
    """Text written by a thread that lets others have the interpreter every now and then."""

    _count = 0

    def write(self, text: str, /) -> int:
        self._count += 1
        if not self._count % _WRITES:
            time.sleep(_PAUSE)
        return super().write(text)


def portable(build: Callable[[ModuleOp, Ledger], Artifact]) -> Building | None:
    """Return the settings for the same compilation in another process; None if the current options prevent that.

    Functions of this process, such as strategies, passes, instruments and external compilers, stay in it.
    """
    context = PassContext.current()
    if not isinstance(build, Building) or build.external or build.workspace_memory_pools or build.snapshots:
        return None
    if context.instruments or build.pipeline is not None:
        return None
    if outside_fingerprint() or context.option("tir.instrument_bound_checkers") or not _plain(context.config):
        return None
    # Frozen and embedded interpreters are other programs.
    return build if os.path.basename(sys.executable or "").startswith("python") else None


def _plain(config: Mapping[str, object]) -> bool:
    return all(isinstance(value, bool | int | str) for value in config.values())


def write_source(module: ModuleOp, building: Building, context: PassContext) -> IO[bytes]:
    """A module, its weights and how to compile it, as a file without a name. Raises OSError."""
    text = _Yielding()
    Printer(text, print_debuginfo=True).print_op(module)
    pool = pool_of(module)
    arrays = {name: pool[name] for name in pool}
    specs = [TensorSpec(name, array.shape, array.dtype) for name, array in arrays.items()]
    settings = Settings(
        target=building.target,
        options=Options(
            opt_level=building.opt_level,
            required_pass=tuple(context.required_pass),
            disabled_pass=tuple(context.disabled_pass),
            config=dict(context.config),
        ),
        audit=building.audit,
        desired_layouts=building.desired_layouts,
        precision=building.precision,
        seed=building.seed,
        tuned=building.tuned.lines() if building.tuned is not None else None,
    )
    parts = {SOURCE: text.getvalue().encode()}
    with ExitStack() as opened:
        file = opened.enter_context(tempfile.TemporaryFile(prefix="whence"))
        file.writelines(packed(settings, parts, specs, [np.ascontiguousarray(array) for array in arrays.values()]))
        file.flush()
        opened.pop_all()
    return file


def read_package(file: int, name: str) -> Package:
    """Return the package in an open file, whose bytes stay there. Raises FrontendError for any other file."""
    size = os.fstat(file).st_size
    data = mmap.mmap(file, 0, access=mmap.ACCESS_READ) if size else b""
    return Package.of(memoryview(data), name)


class Source:
    """A module for all sizes, in a file for processes that compile it for certain sizes; the first use writes it."""

    def __init__(self, known: Artifact, building: Building, threads: int | None):
        """known: the artifact for all sizes. threads: how many its programs run on."""
        self._known, self._building, self._threads = known, building, threads
        self._file: IO[bytes] | None = None

    def compiled(self, sizes: Mapping[str, int]) -> CompiledApart | None:
        """Return the program for some sizes, ready to run; None if there is none.

        Raises CannotStart, and OSError where files cannot be written.
        """
        if self._file is None:
            self._file = write_source(self._known.snapshots[0].module, self._building, PassContext.current())
        with tempfile.TemporaryFile(prefix="whence") as result:
            code = _run(self._file.fileno(), result.fileno(), json.dumps(sizes))
            if code == NO_START:
                raise CannotStart
            return (
                CompiledApart(read_package(result.fileno(), "program"), self._known, self._threads)
                if not code
                else None
            )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _run(source: int, result: int, sizes: str) -> int:
    """Return the exit code of a process that compiles; below 0, the signal that ended it. Raises CannotStart."""
    try:
        # In a session of its own: who interrupts this process from a terminal does not interrupt that one, which ends
        # as its standard input does.
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(source), str(result), sizes, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(source, result),
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart from error
    with process:
        return process.wait()


def imported(ledger: Ledger) -> Ledger:
    """Return the part of a ledger that holds for every program of a model: the import, and the names of layers."""
    entries = [entry for entry in ledger.entries if entry.pass_name == "import"]
    names = {name: dict(leaves) for name, leaves in ledger.aliases.items()}
    return Ledger(
        entries,
        op_types=dict(ledger.op_types),
        modules=dict(ledger.modules),
        facts=dict(ledger.facts),
        gives=dict(ledger.gives),
        aliases=names,
    )


def copied_pool(module: ModuleOp) -> ConstantPool:
    """Return a copy of the weights of a module, to which a compilation may add others."""
    pool, copied = pool_of(module), ConstantPool()
    for name in pool:
        copied.add(name, pool[name])
    return copied


class CompiledApart(Executable):
    """A compiled model that another process made. Its origins are read on the first question about them."""

    def __init__(self, package: Package, known: Artifact, threads: int | None):
        """known: the artifact for all sizes, whose import and weights are those of the package, too.

        Linked here, not in the first call.
        """
        super().__init__(None, threads)
        self._package, self._known = package, known
        self._program: Program = package.about(CompiledHere).program
        time.sleep(_PAUSE)
        parts = [MAIN, *(f"{KERNEL}{number}" for number in range(len(self._program.kernels)))]
        self.runner = load_objects(self._program, package.params(), [bytes(package.part(name)) for name in parts])

    @cached_property
    def _restored(self) -> Artifact:
        from whence.executables.unpacking import artifact_of

        artifact = artifact_of(self._package, "program")
        ledger = imported(self._known.ledger)
        ledger.go_on(artifact.ledger)
        # Both begin with the same ops, whose numbers differ.
        sources = (known.snapshots[0].module for known in (self._known, artifact))
        numbers = dict(zip(*(map(number_of, walk(module)) for module in sources), strict=True))
        ledger.gives = {layer: (numbers[op], index) for layer, (op, index) in ledger.gives.items()}
        pool = copied_pool(self._known.snapshots[0].module)
        for weight in self._package.about(CompiledHere).weights:
            if weight.name not in pool:
                pool.add(weight.name, artifact.params[weight.param])
        for snapshot in artifact.snapshots:
            set_pool(snapshot.module, pool)
        return replace(artifact, ledger=ledger)

    @classmethod
    def of_artifact(cls, artifact: Artifact, threads: int | None) -> Executable:
        return Executable(artifact, threads)

    @property
    def artifact(self) -> Artifact:
        return self._restored

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._program.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._program.outputs

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(call.name for call in self._program.calls)
