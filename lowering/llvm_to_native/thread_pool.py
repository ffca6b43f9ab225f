"""The native code of the thread pool, compiled for this machine and linked once per process."""

from __future__ import annotations

from functools import cache
from threading import Lock

from ...runtime.program import PARALLEL_FOR
from ...runtime.threads import PoolCode, ThreadPool
from ..cache import KernelCache
from ..fingerprint import native_key
from .compile import compile_text
from .link import link
from .target import Target
from .thread_pool_text import has_workers, pool_text

_lock = Lock()
_START, _STOP, _SPIN = "whence_pool_start", "whence_pool_stop", "whence_pool_spin"


def pool_object(target: Target) -> bytes:
    """The object file of the pool; from the cache, if it was compiled for such a machine before."""
    text, store = pool_text(), KernelCache()
    key = native_key(target, text)
    code = store.get(key)
    if code is None:
        code = compile_text(text, target).object
        store.put(key, code)
    return code


@cache
def _linked() -> PoolCode:
    workers = (_START, _STOP, _SPIN) if has_workers() else ()
    code = link([pool_object(Target.native())], (PARALLEL_FOR, *workers))
    if not workers:
        return PoolCode(code[PARALLEL_FOR], alive=code)
    return PoolCode(code[PARALLEL_FOR], code[_START], code[_STOP], code[_SPIN], alive=code)


def pool_code() -> PoolCode:
    """The native pool of this process."""
    with _lock:
        return _linked()


def thread_pool(threads: int | None = None) -> ThreadPool:
    """A pool of `threads` threads that run this process's pool code; None: as many as `thread_count` says.

    Raises PipelineError for a bad size.
    """
    return ThreadPool(pool_code(), threads)
