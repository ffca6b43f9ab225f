"""Exported models, loaded into this process without a compiler and without copies of parameters in the file."""

from __future__ import annotations

import json
import struct
import tarfile
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy as np

from ...support.codec import JSON
from ...support.doors import door, doors
from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ..program.calls import Calls
from ..program.cpus import check_machine
from ..program.entries import ENTRY_NAME, LoadedFunction
from ..program.executor import Runner
from ..program.factory import GraphExecutorFactory, Origin
from ..program.library import GraphFunction, Library
from ..program.program import ENTRY, REFUSED, SIZES_ENTRY, Program
from ..program.threads import ThreadPool
from ..values.tensors import TensorSpec, address
from .elf import Elf
from .exported import Exported
from .link import link
from .opened import POOL_OBJECT, POOL_SYMBOLS, Linked, kept, linked_pool, open_library
from .package import SECTION, Package
from .sealed import open_sealed

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    tarfile.TarError,
)
"""Errors of reading bytes or JSON that we did not write."""
PROGRAM = "whence_program"
"""The name, in an archive, of the package of a program in which values decide (`programs.py`)."""
_INTERFACE_OBJECTS = ("whence_interface.o", "whence_package.o")


@doors()
class LoadedModule(Calls, GraphExecutorFactory):
    """An exported model, ready to run: `module["default"](whence.cpu())`, or `module.run({..})` in one native call.

    Its code and parameters stay in memory as long as it, or any object from it, is in use.
    """

    def __init__(self, package: Package, model: Exported, linked: Linked, threads: int | None = None):
        self.package = package
        self.program: Program = model.program
        self._model = model
        self.arrays: tuple[Array, ...] = package.params()
        self._linked = linked
        self._pool = ThreadPool(linked.pool, threads)
        self._runner: Runner | None = None
        named = zip(package.names, self.arrays, strict=False)
        pool = self._pool
        super().__init__(
            bytes(package.part("graph")).decode(),
            # Not methods: a module that refers to itself would not be freed with its last user.
            lambda: _functions(model, linked, pool),
            {name: array for name, array in named if name},
            model.name,
            lambda: _origins(package),
        )

    def __reduce__(self) -> NoReturn:
        """Raise PipelineError: send or copy the file that the module came from instead."""
        expected = "the file that export_library wrote, for load_module to read"
        raise PipelineError(expectation("pickle, copy", expected, "a loaded module"))

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each input."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each output."""
        return self.program.outputs

    @property
    def runner(self) -> Runner:
        """The runner of the program. Raises PipelineError for a model that was exported without its parameters."""
        if self._runner is None:
            self._runner = Runner(self.program, self.arrays, self._linked.code)
        return self._runner

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        return self.runner.run(inputs, self._pool)

    def reset(self) -> None:
        """Restart the random numbers of the model, if it draws any."""
        if self.runner.random is not None:
            self.runner.random.reset()

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Call the model, as a compiled one is called, or the exported function."""
        if self._model.entry is not None:
            return self[ENTRY_NAME](*arrays)
        return super().__call__(*arrays, out=out, **named)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function as a build does, or the exported one by name. Raises PipelineError for unknown names."""
        model = self._model
        if model.entry is not None and name in (model.name, ENTRY_NAME):
            return LoadedFunction(model.name, self.runner, self._pool, model.entry)
        return super().__getitem__(name)

    def get_node_schedule(self, index: int) -> NoReturn:
        """Raise PipelineError: only the compiler can read the schedules in the file."""
        expected = "the module that whence.executables.restoring.read_library reads, where the compiler is installed"
        raise PipelineError(expectation("get_node_schedule", expected, "a module loaded without it"))


def _functions(model: Exported, linked: Linked, pool: ThreadPool) -> Library:
    functions = {
        name: GraphFunction(linked.code[kernel.symbol], kernel.workspace) for name, kernel in model.functions.items()
    }
    return Library(functions, pool, linked)


def _origins(package: Package) -> dict[str, Origin]:
    return JSON.decode(dict[str, Origin], json.loads(bytes(package.part("origins"))), package.name)


@door()
def load_module(path: str | PathLike[str], fmt: str = "", threads: int | None = None) -> LoadedModule:
    """Load the model that `export_library` wrote to a .tar, .so or .o file.

    fmt: "tar", "so" or "o", if the suffix does not say so. threads: the number of threads, as in `whence.compile`.
    The whole file is verified before any of it is used, then linked in a few milliseconds, without a compiler or a
    linker. Raises FrontendError when it is damaged or no such file, PipelineError when its code is for another
    machine.
    """
    name = fspath(path)
    kind = (fmt or Path(name).suffix).lstrip(".")
    if kind not in _LOADERS:
        raise PipelineError(expectation(f"load_module {name}", f"a file in {', '.join(_LOADERS)}", kind or "no suffix"))
    content = open_sealed(path)
    try:
        package, model, linked = _LOADERS[kind](content, name)
        return LoadedModule(package, model, linked, threads)
    except UNREADABLE as error:
        raise FrontendError(expectation(name, f"a model as a .{kind} file", f"another kind ({error})")) from error


@door()
def read_package(path: str | PathLike[str]) -> Package:
    """Return the package of an exported model, for any kind of file and machine; raises the errors of `load_module`."""
    content, name = open_sealed(path), fspath(path)
    try:
        if bytes(content[:4]) == b"\x7fELF":
            return _package_of(Elf.of(content, name), name)[0]
        members = members_of(content)
        if PROGRAM in members:
            raise FrontendError(expectation(name, "a model that is one native call", "one in which values decide"))
        return package_of(content, name)
    except UNREADABLE as error:
        raise FrontendError(expectation(name, "a model that export_library wrote", str(error))) from error


def package_of(content: memoryview, name: str) -> Package:
    """Return the package in an archive of a model; raises FrontendError, or one of UNREADABLE, for other bytes."""
    return _package_of(Elf.of(members_of(content)["whence_package.o"], name), name)[0]


def load_archive(content: memoryview, name: str) -> tuple[Package, Exported, Linked]:
    """Return the package, the model and the linked code of an archive; raises the errors of `load_module`."""
    members = members_of(content)
    if PROGRAM in members:
        expected = "a model that is one native call"
        actual = "one in which values decide, which whence.runtime.load_program loads"
        raise PipelineError(expectation(name, expected, actual))
    package, _ = _package_of(Elf.of(members["whence_package.o"], name), name)
    objects = [
        Elf.of(data, f"{name}: {member}")
        for member, data in members.items()
        if member.endswith(".o") and member not in (POOL_OBJECT, *_INTERFACE_OBJECTS)
    ]
    model = _model(package, name)
    pool = linked_pool(members[POOL_OBJECT])
    code = link(objects, _symbols(model), pool.imports)
    code.addresses[REFUSED] = pool.refused
    return package, model, Linked(code, pool)


def _load_object(content: memoryview, name: str) -> tuple[Package, Exported, Linked]:
    elf = Elf.of(content, name)
    package, at = _package_of(elf, name)
    model = _model(package, name)
    # The parameters stay in the file's mapping.
    parameters = address(np.frombuffer(content, np.uint8)) + at
    names = {symbol.name for symbol in elf.symbols}
    pool = [symbol for symbol in POOL_SYMBOLS if symbol in names]
    code = link([elf], [*_symbols(model), *pool], {}, {SECTION: parameters})
    return package, model, kept(code, content)


def _load_library(content: memoryview, name: str) -> tuple[Package, Exported, Linked]:
    elf = Elf.of(content, name)
    package, _ = _package_of(elf, name)
    model = _model(package, name)
    return package, model, open_library(name, _symbols(model))


def members_of(content: memoryview) -> dict[str, memoryview]:
    """Return the files of an archive by name."""
    with tarfile.open(fileobj=cast("IO[bytes]", _View(content)), mode="r:") as archive:
        return {
            member.name: content[member.offset_data : member.offset_data + member.size]
            for member in archive
            if member.isfile()
        }


class _View:
    """A file over bytes in memory, which are not copied as a whole."""

    def __init__(self, data: memoryview):
        self._data = data
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        chunk = bytes(self._data[self._at : end])
        self._at += len(chunk)
        return chunk

    def seek(self, at: int) -> int:
        self._at = at
        return at

    def tell(self) -> int:
        return self._at


def _package_of(elf: Elf, name: str) -> tuple[Package, int]:
    """Return the package of an object or library, and its offset in the file."""
    section = elf.find(SECTION)
    if section is None:
        raise FrontendError(expectation(name, "a model that export_library wrote", "a file without one"))
    return Package.of(elf.content(section), name), section.offset


def _model(package: Package, name: str) -> Exported:
    """Return the model of a package. Raises PipelineError for code that this machine cannot run."""
    model = package.about(Exported)
    check_machine(name, model.triple, model.cpu, model.features, model.vector_bits, tiles=model.program.tiles)
    return model


def _symbols(model: Exported) -> Sequence[str]:
    entries = [ENTRY] if model.program.sizes is None else [ENTRY, SIZES_ENTRY]
    return [*entries, *dict.fromkeys(kernel.symbol for kernel in model.program.kernels)]


_LOADERS = {"tar": load_archive, "so": _load_library, "o": _load_object}
