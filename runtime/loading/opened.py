"""Code with a thread pool of its own, and shared libraries, each open once, and closed when nobody uses it."""

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
from ..program.threads import MEMORY_SYMBOLS, WORKER_SYMBOLS, PoolCode
from .elf import Elf
from .link import link

POOL_SYMBOLS = PARALLEL_FOR, *MEMORY_SYMBOLS, *WORKER_SYMBOLS
POOL_OBJECT = "whence_pool.o"


class Linked(NamedTuple):
    """Code, and the pool that its loops run on."""

    code: Code
    pool: PoolCode


class _Alive:
    """An object that keeps code; before it goes, the workers that run the code end."""

    def __init__(self, code: Code, *held: object, close: Callable[[], None] | None = None):
        self.code = code
        self.held = held
        # One finalizer: of garbage that refers to itself, several objects' run in any order.
        weakref.finalize(self, _end, PoolCode.of(code).apart(), close).atexit = False

    @property
    def linked(self) -> Linked:
        """The code, which keeps this."""
        code = Code(self.code.addresses, self)
        return Linked(code, PoolCode.of(code))


def _end(pool: PoolCode, close: Callable[[], None] | None) -> None:
    pool.drop()
    if close is not None:
        close()


def kept(code: Code, *held: object) -> Linked:
    """Code that has a pool in it, and what it needs; all go when nobody uses the code."""
    return _Alive(code, *held).linked


_lock = RLock()
_open: weakref.WeakValueDictionary[tuple[int, int], _Alive] = weakref.WeakValueDictionary()
"""Device and number of a file -> its library: opened twice it would have one pool with two owners."""
_pools: dict[bytes, PoolCode] = {}
_names: set[str] = set()
"""The names of open libraries, by which the system knows them."""


def linked_pool(data: bytes | memoryview) -> PoolCode:
    """The pool of an object file; who has the same one shares it, for the life of the process. Errors as of `link`."""
    key = hashlib.sha256(data).digest()
    with _lock:
        if key not in _pools:
            elf = Elf.of(bytes(data), POOL_OBJECT)
            names = {symbol.name for symbol in elf.symbols}
            _pools[key] = PoolCode.of(link([elf], [symbol for symbol in POOL_SYMBOLS if symbol in names], {}))
        return _pools[key]


def open_library(name: str, symbols: Iterable[str]) -> Linked:
    """The code of a shared library: `symbols`, and its pool.

    Raises PipelineError where the system does not load it, FrontendError when it lacks a symbol.
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
            if symbol not in (*MEMORY_SYMBOLS, *WORKER_SYMBOLS):
                library.close()
                raise FrontendError(expectation(name, f"a library that defines '{symbol}'", "none")) from None
    return _Alive(Code(addresses, library), close=library.close)


class _Library:
    """An open library."""

    def __init__(self, name: str):
        path = Path(name).resolve()
        # To the system an open library is its name, even where another file has taken that since.
        spelled, dots = str(path), ""
        while spelled in _names:
            dots += "/."
            spelled = f"{path.parent}{dots}/{path.name}"
        try:
            self.library = ctypes.CDLL(spelled)
        except OSError as error:
            raise PipelineError(expectation(name, "a library that this system loads", str(error))) from error
        _names.add(spelled)
        self._spelled = spelled

    def close(self) -> None:
        """Have the system forget it. At exit that does so itself, when nothing runs any more."""
        handle: int = self.library._handle  # pyright: ignore[reportPrivateUsage]
        with _lock:
            _ctypes.dlclose(handle)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            _names.discard(self._spelled)
