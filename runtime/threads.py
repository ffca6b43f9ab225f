"""The thread pool: native workers that kernels reach through `whence_parallel_for`.

Kernels call it from native code, so a parallel loop costs well under a microsecond and never enters Python. The code
of the pool is in threads_ir.py; here are its life (start, stop, fork, exit) and its size.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.target import Target
from ..provenance.diagnostics import message
from ..support.errors import PipelineError
from .cache import KernelCache
from .jit import Library, link
from .tensors import address, aligned_empty
from .threads_ir import SPIN, STATE, STOPPED, WORDS, has_workers, pool_text

MAX_THREADS = 1024
_SPIN_SECONDS = 40e-6


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: `threads`, else the environment's WHENCE_NUM_THREADS, else the number of CPUs.

    Raises PipelineError when that is not a whole number from 1 to 1024.
    """
    expected = f"a whole number from 1 to {MAX_THREADS}"
    if threads is not None:
        if not 1 <= threads <= MAX_THREADS:
            raise PipelineError(message("threads", expected, str(threads)))
        return threads
    text = os.environ.get("WHENCE_NUM_THREADS", "").strip()
    if not text:
        return min(os.cpu_count() or 1, MAX_THREADS)
    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise PipelineError(message("WHENCE_NUM_THREADS", expected, repr(text)))
    return int(text)


@cache
def _library() -> Library:
    text, target, store = pool_text(), Target.native(), KernelCache()
    key = hashlib.sha256(f"{target.key}\n{text}".encode()).hexdigest()
    code = store.get(key)
    if code is None:
        code = compile_text(text, target).object
        store.put(key, code)
    exports = ("whence_parallel_for", *(("whence_pool_start", "whence_pool_stop") if has_workers() else ()))
    return link([code], (*exports, "whence_pool_spin"))


def pool_library() -> Library:
    """The native pool of this process; it exports `whence_parallel_for`. Compiled once per machine, then cached."""
    with _pools.lock:
        return _library()


@cache
def _spins() -> int:
    """How many turns of the idle loop last `_SPIN_SECONDS`: the cost of a pause differs 40-fold between CPUs."""
    turns = 1000
    spin: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64)(pool_library()["whence_pool_spin"])
    start = time.perf_counter()
    spin(turns)
    return max(100, int(turns * _SPIN_SECONDS / max(time.perf_counter() - start, 1e-9)))


class _Workers:
    """The native side of a pool of one size: its memory, which outlives its workers, and their count."""

    def __init__(self, threads: int):
        self.threads = threads
        self.workers = 0
        self.memory = aligned_empty((WORDS + threads,), np.dtype(np.int64))
        self.memory[:] = 0
        self.memory[STATE] = STOPPED
        self.handle = address(self.memory)

    def start(self) -> None:
        """Start the workers unless they run. Where the system allows fewer threads, the pool is smaller."""
        if self.workers:
            return
        self.memory[STATE] = 0
        self.memory[SPIN] = _spins()
        # Signals are for Python's threads: a worker inherits this mask and is never interrupted by one.
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _FAULTS)
        try:
            start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(
                pool_library()["whence_pool_start"]
            )
            self.workers = int(start(self.handle, self.threads))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)

    def stop(self) -> None:
        """Wait for the loop that runs, if any, and join the workers. Later loops on this handle run serially."""
        if self.workers:
            stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(pool_library()["whence_pool_stop"])
            stop(self.handle, self.workers)
            self.workers = 0

    def forget(self) -> None:
        """After a fork: the workers are in the parent only."""
        self.workers = 0
        self.memory[STATE] = STOPPED


# Faults of the thread itself: blocked, they would end the process before a handler (faulthandler) can speak.
_FAULT_NAMES = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT")
_FAULTS = {getattr(signal, name) for name in _FAULT_NAMES if hasattr(signal, name)}


class _Pools:
    """The pools of this process, one per size."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by_size: dict[int, _Workers] = {}
        self.exiting = False

    def running(self, threads: int) -> _Workers:
        with self.lock:
            workers = self.by_size.get(threads)
            if workers is None:
                workers = self.by_size[threads] = _Workers(threads)
            if not self.exiting:
                workers.start()
            return workers

    def stop(self, threads: int | None = None) -> None:
        with self.lock:
            for size, workers in self.by_size.items():
                if threads is None or size == threads:
                    workers.stop()

    def exit(self) -> None:
        """Stop for good: a worker must not outlive its code, which goes when the interpreter ends."""
        with self.lock:
            self.exiting = True
            self.stop()

    def after_fork(self) -> None:
        self.lock = threading.RLock()  # another thread of the parent may have held it
        for workers in self.by_size.values():
            workers.forget()


_pools = _Pools()
atexit.register(_pools.exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.after_fork)


class ThreadPool:
    """`threads` threads for the loops of kernels, the caller's own among them.

    Pools of one size share their workers. The first use of `handle` starts them, also after `close` and in a forked
    child. Only one loop runs in parallel at a time: a nested one, or one from another thread, runs serially.

    Raises PipelineError for a bad size (see `thread_count`).
    """

    threads: int

    def __init__(self, threads: int | None = None):
        self.threads = thread_count(threads)

    @property
    def handle(self) -> int:
        """The `pool` argument of kernels: an address, 0 for one thread. Read it anew for every run."""
        if self.threads == 1 or not has_workers():
            return 0
        return _pools.running(self.threads).handle

    def close(self) -> None:
        """Stop and join the workers of this size."""
        _pools.stop(self.threads)

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads})"
