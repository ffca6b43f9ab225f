"""An artifact as a file: an archive of objects, a shared library, or one object, each with everything to run it.

All hold the kernels, the main program, the thread pool, the C interface (whence.h) and, as a section of bytes, the
package: program, graph, parameters, and where everything came from. Whatever the form, the file ends with a seal
(runtime/loading/sealed.py).
"""

from __future__ import annotations

import io
import mmap
import os
import platform
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from ..lowering.external.kernel import ExternalKernel
from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.thread_pool import pool_object, system_of
from ..provenance.diagnostics import message
from ..runtime.loading.elf import MACHINES, Elf
from ..runtime.loading.exported import Exported, GraphKernel
from ..runtime.loading.package import SECTION, packed, param_places
from ..runtime.loading.sealed import seal
from ..runtime.program.factory import Origin
from ..runtime.values.tensors import TensorSpec, aligned
from ..support.codec import JSON
from ..support.errors import PipelineError, expectation
from ..support.files import replacing, scratch_folder
from .artifact import Artifact
from .c_interface import HEADER, PACKAGE, interface_text
from .c_source import FORMATS as C_FORMATS
from .c_source import export_c
from .elf_writer import bytes_object
from .ffi_interface import MAIN, ffi_text
from .graph import GraphPlan
from .user_lines import kernel_object

FORMATS = (".tar", ".so", ".o")
Link: TypeAlias = Callable[..., object]
"""Called with the file to write, the paths of objects, and options; makes a shared library."""
PACKAGE_OBJECT, POOL_OBJECT = "whence_package.o", "whence_pool.o"


@dataclass(frozen=True)
class Contents:
    """The parts of an export beside the code."""

    plan: GraphPlan
    name: str
    """The module's, as `relay.build` got it."""
    origins: Mapping[str, Origin]
    """Node -> the layers behind it, and their parts of its work."""
    parts: Mapping[str, bytes]
    """The other contents of the package: provenance, schedules."""
    params: bool = True
    """True if the parameters are in it."""
    entry: Sequence[int] | None = None
    """For a function: the position of each argument of the program among those of a call."""


def export(
    artifact: Artifact,
    contents: Contents,
    path: Path,
    link: Link | None = None,
    addons: Sequence[str | Path] = (),
    options: Sequence[str] = (),
) -> None:
    """Write the model to `path`, whole or not at all; its suffix says in which form, C source among them.

    link: what makes the shared library, instead of the system's compiler; TVM's False is that as well. addons: more
    objects that go into it. options: for the compiler. Raises PipelineError for a suffix that is none of FORMATS, for
    kernels that others run, where the compiler fails, and when the file cannot be written.
    """
    if path.suffix not in (*FORMATS, *C_FORMATS):
        formats = ", ".join((*FORMATS, *C_FORMATS))
        raise PipelineError(expectation(f"export to {path}", f"a file in {formats}", path.suffix or "none"))
    check_exportable(artifact)
    if path.suffix in C_FORMATS:
        export_c(artifact, contents.plan, contents.name, path, params=contents.params)
        return
    objects = _objects(artifact, contents)
    if path.suffix == ".so" and contents.params:
        text = ffi_text(artifact.program, MAIN if contents.entry is None else contents.name, contents.entry)
        objects.append(("whence_ffi.o", [compile_text(text, artifact.target).object]))
    with replacing(path) as stream:
        if path.suffix == ".tar":
            write_archive(objects, addons, stream)
        else:
            with scratch_folder("whence-link-") as folder:
                compiler = [] if link else _compiler(artifact.target.triple, path.suffix)
                linked = _linked(objects, folder, path.suffix, link or compiler, addons, options)
                with open(linked, "rb") as source:
                    while block := source.read(1 << 24):
                        stream.write(block)
        seal_stream(stream)


def check_exportable(artifact: Artifact) -> None:
    """Raises PipelineError for an artifact that cannot leave this process, in the name of the layers behind it."""
    for index, kernel in enumerate(artifact.kernels):
        if isinstance(kernel, ExternalKernel):
            call = next(call for call in artifact.calls if call.kernel == index)
            actual = f"'{kernel.symbol}', which {kernel.compiler} runs"
            raise PipelineError(message("export", "kernels of machine code", actual, call.location))
    if artifact.program.checked:
        raise PipelineError(expectation("export", "a model without bound checkers", "one that reports to this process"))
    machine = Elf.of(artifact.main, "main").machine if artifact.main[:5] == b"\x7fELF\x02" else 0
    if machine not in MACHINES:
        *some, last = MACHINES.values()
        expected = f"ELF objects for {', '.join(some)} or {last}"
        raise PipelineError(expectation("export", expected, f"code for {artifact.target.triple}"))


Object: TypeAlias = tuple[str, Sequence[bytes | memoryview]]
"""A file name, and the bytes in pieces."""


def _objects(artifact: Artifact, contents: Contents) -> list[Object]:
    """The objects that a model is linked of."""
    program, target, plan = artifact.program, artifact.target, contents.plan
    arrays = [aligned(array) for array in artifact.params]
    named = {id(array): name for name, array in plan.params.items()}
    # A parameter that no kernel reads has no name in the graph.
    names = [named.get(id(array), "") for array in artifact.params]
    specs = [TensorSpec(name, array.shape, array.dtype) for name, array in zip(names, arrays, strict=True)]
    kernels = artifact.kernels
    model = Exported(
        triple=target.triple,
        cpu=target.cpu,
        features=target.features,
        program=program,
        name=contents.name,
        vector_bits=target.vector_bits,
        functions={name: GraphKernel(kernels[k].symbol, kernels[k].workspace) for name, k in plan.functions.items()},
        entry=None if contents.entry is None else tuple(contents.entry),
    )
    parts = {
        "graph": plan.graph.to_json().encode(),
        "origins": JSON.text(contents.origins).encode(),
        **contents.parts,
    }
    pieces = list(packed(model, parts, specs, arrays if contents.params else ()))
    offsets = param_places(pieces[0]) if contents.params else None
    text = interface_text(program, specs, offsets, *system_of(target))
    return [
        *((f"{kernel.symbol}.o", [kernel_object(artifact, number)]) for number, kernel in enumerate(kernels)),
        ("whence_main.o", [artifact.main]),
        (POOL_OBJECT, [pool_object(target)]),
        ("whence_interface.o", [compile_text(text, target).object]),
        (PACKAGE_OBJECT, bytes_object(artifact.main, SECTION, PACKAGE, pieces)),
    ]


def write_archive(objects: Sequence[Object], addons: Sequence[str | Path], stream: IO[bytes]) -> None:
    """A tar of the objects and the header, without times and owners: equal models give equal files."""
    header = (HEADER.name, [HEADER.read_bytes()])
    more = [(Path(path).name, [Path(path).read_bytes()]) for path in addons]
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, pieces in (*objects, *more, header):
            member = tarfile.TarInfo(name)
            member.size = sum(map(len, pieces))
            archive.addfile(member, _Pieces(pieces))


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file to read from."""

    def __init__(self, pieces: Iterable[bytes | memoryview]):
        self._rest = [memoryview(piece) for piece in pieces if len(piece)]
        self._rest.reverse()

    def read(self, size: int = -1) -> bytes:
        pieces: list[memoryview] = []
        while self._rest and size:
            piece = self._rest.pop()
            if 0 <= size < len(piece):
                self._rest.append(piece[size:])
                piece = piece[:size]
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def _linked(
    objects: Sequence[Object],
    folder: Path,
    suffix: str,
    link: Link | Sequence[str],
    addons: Sequence[str | Path],
    options: Sequence[str],
) -> Path:
    """The file that a function, or the command of a compiler, makes of objects."""
    paths: list[str] = []
    for name, pieces in objects:
        with open(folder / name, "wb") as stream:
            stream.writelines(pieces)
        paths.append(str(folder / name))
    paths += map(str, addons)
    out = folder / f"linked{suffix}"
    if callable(link):
        link(str(out), paths, list(options))
    else:
        how = ["-shared", "-Wl,-z,noexecstack"] if suffix == ".so" else ["-r", "-nostdlib"]
        libraries = ["-lm", "-pthread"] if suffix == ".so" else []
        run_linker([*link, *how, "-o", str(out), *paths, *options, *libraries], suffix)
    if not out.is_file():
        raise PipelineError(expectation("export", f"the linker to write {out}", "nothing"))
    return out


def _compiler(triple: str, suffix: str) -> list[str]:
    """The command that links code for a machine: what CC says, else the system's compiler, or one for the machine.

    Raises PipelineError where there is none.
    """
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    machine = triple.partition("-")[0]
    if machine == platform.machine():
        return ["cc"]
    names = [f"{machine}-linux-gnu-gcc", f"{triple}-gcc"]
    if (compiler := next(filter(None, map(shutil.which, names)), None)) is None:
        expected = f"a compiler that links a {suffix} file for {machine} (CC names it, or {names[0]} is there)"
        raise PipelineError(expectation("export", expected, "none; a .tar needs none"))
    return [compiler]


def run_linker(command: Sequence[str], suffix: str = ".so") -> None:
    """Run the command of a compiler that links a file; raises PipelineError, with its first error, where it fails."""
    expected = f"a compiler that links a {suffix} file (CC names it)"
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        actual = f"{command[0]}: {error.strerror}; a .tar needs none"
        raise PipelineError(expectation("export", expected, actual)) from error
    if done.returncode:
        said = _complaint(done.stderr) or f"exit code {done.returncode}"
        raise PipelineError(expectation("export", expected, f"{command[0]}: {said}"))


def _complaint(text: str) -> str:
    """Return the line of a compiler's output that says what is wrong: its first error, else its last line."""
    lines = text.strip().splitlines()
    errors = (line for line in lines if "error" in line or "cannot" in line or "incompatible" in line)
    return next(errors, lines[-1] if lines else "")


def seal_file(path: Path) -> None:
    """Append the seal to a file that a linker wrote, as `load_module` asks for it."""
    with open(path, "r+b") as stream:
        stream.seek(0, os.SEEK_END)
        seal_stream(stream)


def seal_stream(stream: IO[bytes]) -> None:
    """Append the seal of what was written."""
    stream.flush()
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content, memoryview(content) as view:
        sealed = seal(view)
    stream.write(sealed)
