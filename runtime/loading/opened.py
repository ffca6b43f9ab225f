"""Code with a thread pool of its own, and shared libraries, each opened once and closed after its last use."""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import os
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from ...support.errors import FrontendError, PipelineError, expectation
from ..program.program import PARALLEL_FOR, Code
from ..program.threads import MEMORY_SYMBOLS, TILE_SYMBOLS, WORKER_SYMBOLS, PoolCode
from .elf import Elf
from .link import link

_OPTIONAL = *MEMORY_SYMBOLS, *WORKER_SYMBOLS, *TILE_SYMBOLS
POOL_SYMBOLS = PARALLEL_FOR, *_OPTIONAL
POOL_OBJECT = "whence_pool.o"


class Linked(NamedTuple):
    """Code, and the pool on which its loops run."""

    code: Code
    pool: PoolCode


class _Alive:
    """An object that keeps code mapped; when it is freed, the workers that run the code end first."""

    def __init__(self, code: Code, *held: object, close: Callable[[], None] | None = None):
        self.code = code
        self.held = held
        # There is one finalizer, because the finalizers of several objects in a cycle run in any order.
        weakref.finalize(self, _end, PoolCode.of(code).apart(), close).atexit = False

    @property
    def linked(self) -> Linked:
        """The code, which keeps this object."""
        code = Code(self.code.addresses, self)
        return Linked(code, PoolCode.of(code))


def _end(pool: PoolCode, close: Callable[[], None] | None) -> None:
    pool.drop()
    if close is not None:
        close()


def kept(code: Code, *held: object) -> Linked:
    """Return code that contains a pool; `held` lives as long as the code is used."""
    return _Alive(code, *held).linked


_lock = RLock()
_open: weakref.WeakValueDictionary[tuple[int, int], _Alive] = weakref.WeakValueDictionary()
"""Device and inode of a file -> its library; a library opened twice would have one pool with two owners."""
_pools: dict[bytes, PoolCode] = {}
_names: set[str] = set()
"""The names under which the system knows the open libraries."""


def linked_pool(data: bytes | memoryview) -> PoolCode:
    """Return the pool of an object file, one for all equal files and the life of the process; raises as `link` does."""
    key = hashlib.sha256(data).digest()
    with _lock:
        if key not in _pools:
            elf = Elf.of(bytes(data), POOL_OBJECT)
            names = {symbol.name for symbol in elf.symbols}
            _pools[key] = PoolCode.of(link([elf], [symbol for symbol in POOL_SYMBOLS if symbol in names], {}))
        return _pools[key]


def open_library(name: str, symbols: Iterable[str]) -> Linked:
    """Return the code of a shared library: `symbols`, and its pool.

    Raises PipelineError when the system does not load it, FrontendError when it lacks a symbol.
    """
    with _lock:
        status = os.stat(name)
        key = status.st_dev, status.st_ino
        if (alive := _open.get(key)) is None:
            alive = _open[key] = _opened(name, symbols)
        return alive.linked


def _opened(name: str, symbols: Iterable[str]) -> _Alive:
    library = _Library(name)
    addresses: dict[str, int] = {}
    for symbol in (*symbols, *POOL_SYMBOLS):
        try:
            addresses[symbol] = ctypes.cast(library.library[symbol], ctypes.c_void_p).value or 0
        except AttributeError:
            if symbol not in _OPTIONAL:
                library.close()
                raise FrontendError(expectation(name, f"a library that defines '{symbol}'", "none")) from None
    return _Alive(Code(addresses, library), close=library.close)


class _Library:
    """An open library."""

    def __init__(self, name: str):
        path = Path(name).resolve()
        # The system identifies an open library by its name, even if another file has that name by now.
        unique, dots = str(path), ""
        while unique in _names:
            dots += "/."
            unique = f"{path.parent}{dots}/{path.name}"
        try:
            self.library = ctypes.CDLL(unique)
        except OSError as error:
            raise PipelineError(expectation(name, "a library that this system loads", str(error))) from error
        _names.add(unique)
        self._name = unique

    def close(self) -> None:
        """Close the library. At exit the system does so itself, when no code runs any more."""
        handle: int = self.library._handle  # pyright: ignore[reportPrivateUsage]
        with _lock:
            _ctypes.dlclose(handle)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            _names.discard(self._name)
