"""The native code of the thread pool, compiled for this machine and linked once per process."""

from __future__ import annotations

from functools import cache
from threading import Lock

from ...runtime.program.program import PARALLEL_FOR
from ...runtime.program.threads import MEMORY_SYMBOLS, TILE_SYMBOLS, WORKER_SYMBOLS, PoolCode, ThreadPool
from ..cache import KernelCache
from ..fingerprint import native_key
from .compile import compile_text
from .link import link
from .target import Target
from .thread_pool_text import has_tiles, has_workers, pool_text

_lock = Lock()


def system_of(target: Target) -> tuple[str, str]:
    """The system and the machine that code is for, by Python's names."""
    machine, _, rest = target.triple.partition("-")
    return "linux" if "linux" in rest else rest, machine


def pool_object(target: Target) -> bytes:
    """The object file of the pool; from the cache, if it was compiled for such a machine before."""
    text, store = pool_text(*system_of(target)), KernelCache()
    key = native_key(target.key, text)
    code = store.get(key)
    if code is None:
        code = compile_text(text, target).object
        store.put(key, code)
    return code


@cache
def _linked() -> PoolCode:
    target = Target.native()
    system = system_of(target)
    workers = WORKER_SYMBOLS if has_workers(*system) else ()
    tiles = TILE_SYMBOLS if has_tiles(*system) else ()
    return PoolCode.of(link([pool_object(target)], (PARALLEL_FOR, *MEMORY_SYMBOLS, *workers, *tiles)))


def pool_code() -> PoolCode:
    """The native pool of this process."""
    with _lock:
        return _linked()


def thread_pool(threads: int | None = None) -> ThreadPool:
    """A pool of `threads` threads that run this process's pool code; None: as many as `thread_count` says.

    Raises PipelineError for a bad size.
    """
    return ThreadPool(pool_code(), threads)
