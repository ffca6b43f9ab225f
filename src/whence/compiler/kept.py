"""Whole models in the cache: a model that was compiled before is read as one file.

The key is made of the bytes of the model's file, the options, the machine and the sources of the compiler. Nothing
tells what a process has registered or replaced in the compiler, so a caller has to ask for this.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from whence.executables.executable import Executable
from whence.executables.unpacking import artifact_of
from whence.lowering.cache import KernelCache
from whence.lowering.cache_folder import limit_bytes
from whence.lowering.external.kernel import ExternalKernel
from whence.lowering.fingerprint import FOLDERS, fingerprint
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategies import outside_fingerprint
from whence.planning.archive import archived
from whence.runtime.loading.exported import Compiled
from whence.runtime.loading.package import Package, packed
from whence.runtime.program.model_facts import ModelMetadata
from whence.runtime.values.tensors import TensorSpec, lasting
from whence.support.context import PassContext
from whence.support.errors import FrontendError

_SUFFIXES = (".onnx", ".tflite")
"""The formats of files that say all about a model."""
_SHARE = 2
"""A model takes at most one part of so many of the cache."""
_BEFORE_RELAY = ("frontends", "planning", "compiler", "executables", "reading")
"""The folders that, beside those of lowering, decide what a model becomes."""


@dataclass(frozen=True)
class _About(Compiled):
    aliases: dict[str, str]
    metadata: ModelMetadata


def model_key(path: object, target: Target, options: Sequence[object]) -> str | None:
    """The key of a model's file with options; None where something else decides, too, what becomes of it."""
    context = PassContext.current()
    lists = any(isinstance(value, list) and value for value in context.config.values())
    if not isinstance(path, Path) or path.suffix not in _SUFFIXES or context.instruments or lists:
        return None
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if path.suffix == ".onnx" and content.find(b"location") >= 0:
                return None  # of weights in other files
            digest = hashlib.sha256(content).hexdigest()
    except (OSError, ValueError):
        return None
    passes = context.opt_level, context.required_pass, context.disabled_pass, sorted(context.config.items())
    words = [_sources(), outside_fingerprint(), target.key, str(path), digest, repr(passes), *map(repr, options)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


@cache
def _sources() -> str:
    """Return the hash of all sources between a file and its code, and of the libraries that read files."""
    from importlib.metadata import PackageNotFoundError, version

    versions: list[str] = []
    for library in ("onnx", "protobuf"):
        try:
            versions.append(version(library))
        except PackageNotFoundError:
            versions.append("")
    return " ".join([fingerprint(Path(__file__).parents[1], (*FOLDERS, *_BEFORE_RELAY)), *versions])


def find(key: str, path: Path, threads: int | None) -> Executable | None:
    """Return the model that is kept under a key."""
    if (data := KernelCache().get(key)) is None:
        return None
    try:
        package = Package.of(memoryview(data), str(path))
        artifact, about = artifact_of(package, str(path)), package.about(_About)
    except FrontendError:  # of another version's form
        return None
    # Their own memory, in which kernels expect them.
    executable = Executable(replace(artifact, params=tuple(map(lasting, artifact.params))), threads)
    executable.aliases, executable.metadata = about.aliases, about.metadata
    return executable


def keep(key: str, executable: Executable) -> None:
    """Keep a compiled model under a key, if all of it can be read again, and it is not too large."""
    if type(executable) is not Executable:
        return
    artifact = executable.artifact
    kernels = [kernel for kernel in artifact.kernels if isinstance(kernel, Kernel)]
    size, most = sum(array.nbytes for array in artifact.params), limit_bytes()
    if any(isinstance(kernel, ExternalKernel) for kernel in kernels) or artifact.program.checked:
        return
    if most and size > most // _SHARE:
        return
    target, specs = artifact.target, [TensorSpec("", array.shape, array.dtype) for array in artifact.params]
    about = _About(
        target.triple,
        target.cpu,
        target.features,
        artifact.program,
        dict(executable.aliases),
        executable.metadata,
    )
    KernelCache().put(key, b"".join(packed(about, archived(artifact), specs, artifact.params)))
