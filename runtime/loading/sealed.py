"""Files that end with a checksum of all that comes before: an exported model is read whole, or not at all.

The last 64 bytes are `WHENCE-SEAL-1`, zeros up to 16 bytes, the number of bytes before them (u64, little endian), 8
zeros, and 32 bytes of checksum: the sha256 of the sha256 of each MiB. Other readers of archives and ELF files ignore
such bytes at the end.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, fspath

from ...support.errors import FrontendError, expectation
from ..program.cpus import available_cpus

_SEAL = struct.Struct("<16sQ8x32s")
_MAGIC = b"WHENCE-SEAL-1"
_CHUNK = 1 << 20


def seal(content: memoryview) -> bytes:
    """Return the seal that follows `content`."""
    return _SEAL.pack(_MAGIC, len(content), _digest(content))


def open_sealed(path: str | PathLike[str]) -> memoryview:
    """Return the contents of a sealed file without the seal, memory-mapped, read-only.

    The mapping stays the same if somebody replaces the file. Raises FrontendError when the file cannot be read, has no
    seal, or differs from the contents that were sealed.
    """
    name = fspath(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    except (OSError, ValueError) as error:
        raise FrontendError(
            expectation(name, "a readable file", getattr(error, "strerror", "") or str(error))
        ) from error
    return unsealed(data, name)


def unsealed(data: memoryview, name: str, what: str = "a model that export_library wrote") -> memoryview:
    """Return the contents that the seal of `data` covers. Raises FrontendError, about `name`, unless it fits them.

    what: the kind of contents that the error expects.
    """
    if len(data) < _SEAL.size:
        raise FrontendError(expectation(name, what, f"a file of {len(data)} bytes"))
    content = data[: -_SEAL.size]
    magic, length, digest = _SEAL.unpack(data[-_SEAL.size :])
    if magic != _MAGIC.ljust(16, b"\0") or any(data[-40:-32]):
        raise FrontendError(expectation(name, what, "a file without its checksum at the end: cut, damaged or stripped"))
    if length != len(content) or digest != _digest(content):
        raise FrontendError(expectation(name, what, "a damaged one: its checksum does not fit"))
    return content


def _digest(content: memoryview) -> bytes:
    chunks = [content[at : at + _CHUNK] for at in range(0, len(content), _CHUNK)]
    return hashlib.sha256(b"".join(_digests(chunks))).digest()


def _digests(chunks: list[memoryview]) -> Iterable[bytes]:
    # hashlib releases the interpreter's lock.
    if len(chunks) < 8 or (cpus := available_cpus()) == 1:
        return map(_sha256, chunks)
    with ThreadPoolExecutor(min(cpus, 8)) as workers:
        return list(workers.map(_sha256, chunks))


def _sha256(chunk: memoryview) -> bytes:
    return hashlib.sha256(chunk).digest()
