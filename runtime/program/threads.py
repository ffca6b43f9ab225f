"""The thread pool: native workers that kernels reach through `whence_parallel_for`.

Kernels call it from native code, so a parallel loop costs well under a microsecond and never enters Python. The code
of the pool is compiled elsewhere; this module controls its life (start, stop, fork, exit) and its size.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from ...support.errors import PipelineError, expectation
from ..values.tensors import address, aligned_empty
from .cpus import available_cpus
from .program import ALLOC_REFUSED, NEED_TILES, PARALLEL_FOR, REFUSED, TILES_ALLOWED, Code
from .tiles import tiles_allowed

MAX_THREADS = 1024
_SPIN_SECONDS = 40e-6
WORKER_SYMBOLS = "whence_pool_start", "whence_pool_stop", "whence_pool_spin"
"""The functions of the pool's code beside `whence_parallel_for`, on systems with workers."""
MEMORY_SYMBOLS = ALLOC_REFUSED, REFUSED
"""The symbols of the record of memory that kernels did not get."""
TILE_SYMBOLS = (NEED_TILES, TILES_ALLOWED)
"""The functions of machines that may have tiles."""


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads to use: `threads`, else the variable WHENCE_NUM_THREADS, else all usable CPUs.

    Raises PipelineError when that is not a whole number from 1 to 1024.
    """
    expected = f"a whole number from 1 to {MAX_THREADS}"
    if threads is not None:
        if not 1 <= threads <= MAX_THREADS:
            raise PipelineError(expectation("threads", expected, str(threads)))
        return threads
    text = os.environ.get("WHENCE_NUM_THREADS", "").strip()
    if not text:
        return min(available_cpus(), MAX_THREADS)
    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise PipelineError(expectation("WHENCE_NUM_THREADS", expected, repr(text)))
    return int(text)


def num_threads() -> int:
    """Return the number of threads that models use by default."""
    return thread_count()


class Layout:
    """The pool's memory, in 64-bit words; words that different threads write lie on different cache lines."""

    STATE, NEXT, BODY, CONTEXT, EXTENT, LEAST, PIECES, SPIN, SLEEPERS, WORDS = 0, 8, 16, 17, 18, 19, 24, 25, 32, 40
    WORKERS = 26
    """The number of workers in a program in C, where nobody else counts them."""
    TIMED = 27
    """The number of callers that are measuring loops."""
    HELPED = 33
    """CPU nanoseconds that workers worked, less those that callers waited for them, while callers measured."""
    # Parts of the word STATE.
    ACTIVE, OPEN, BUSY, STOPPED = 0xFFFF, 1 << 16, 1 << 17, 1 << 18


@dataclass(frozen=True)
class PoolCode:
    """The addresses of the pool's functions; without `start` every loop runs serially."""

    parallel_for: int
    """`void (ptr pool, ptr body, ptr context, i64 n)`: runs `body(context, begin, end)` for parts of 0..n."""
    start: int = 0
    """`i64 (ptr pool, i64 threads)`: starts threads - 1 workers; returns how many the system allowed."""
    stop: int = 0
    """`void (ptr pool, i64 workers)`: waits for the loop that runs, then joins the workers."""
    spin: int = 0
    """`void (i64 turns)`: the idle loop."""
    alloc_refused: int = 0
    """`void (i64 bytes)`: counts memory that a kernel did not get, in two i64 at `refused`."""
    refused: int = 0
    need_tiles: int = 0
    """`void ()`: ends a process that may not use tiles."""
    tiles_allowed: int = 0
    """`i32 ()`: 1 if the process may use tiles, else 0."""
    alive: object = field(default=None, compare=False)
    """The object that keeps the code mapped."""

    @staticmethod
    def of(code: Code) -> PoolCode:
        """Return the pool in linked code."""
        start, stop, spin = (code.addresses.get(symbol, 0) for symbol in WORKER_SYMBOLS)
        rest = (code.addresses.get(symbol, 0) for symbol in (*MEMORY_SYMBOLS, *TILE_SYMBOLS))
        return PoolCode(code[PARALLEL_FOR], start, stop, spin, *rest, alive=code)

    @property
    def imports(self) -> dict[str, int]:
        """The addresses of the functions that kernels call, by name."""
        tiles = {NEED_TILES: self.need_tiles, TILES_ALLOWED: self.tiles_allowed} if self.need_tiles else {}
        return {PARALLEL_FOR: self.parallel_for, ALLOC_REFUSED: self.alloc_refused, **tiles}

    def apart(self) -> PoolCode:
        """Return the same addresses, without the object that keeps the code mapped."""
        return replace(self, alive=None)

    def drop(self) -> None:
        """Stop the workers that run this code and forget them, because the code is about to be unmapped."""
        _pools.drop(self.apart())


@cache
def _spins(code: PoolCode) -> int:
    """Return the turns of the idle loop that last `_SPIN_SECONDS`: the cost of a pause differs 40-fold between CPUs."""
    turns = 1000
    spin: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.spin)
    start = time.perf_counter()
    spin(turns)
    return max(100, int(turns * _SPIN_SECONDS / max(time.perf_counter() - start, 1e-9)))


class _Workers:
    """The native side of a pool of one size: its memory, which outlives its workers, and their count."""

    def __init__(self, code: PoolCode, threads: int):
        self.code = code
        self.threads = threads
        self.workers = 0
        self.memory = aligned_empty((Layout.WORDS + threads,), np.dtype(np.int64))
        self.memory[:] = 0
        self.memory[Layout.STATE] = Layout.STOPPED
        self.handle = address(self.memory)

    def start(self) -> None:
        """Start the workers unless they run. If the system allows fewer threads, the pool is smaller."""
        if self.workers:
            return
        self.memory[Layout.STATE] = 0
        self.memory[Layout.SPIN] = _spins(self.code)
        # Signals are for Python's threads: a worker inherits this mask, so no signal interrupts it.
        previous = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - _FAULTS - _PROFILING)
        try:
            start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self.code.start)
            self.workers = int(start(self.handle, self.threads))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)

    def stop(self) -> None:
        """Wait for the running loop, if any, and join the workers. Later loops on this handle run serially."""
        if self.workers:
            stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.code.stop)
            stop(self.handle, self.workers)
            self.workers = 0

    def numbers(self) -> list[int]:
        """Return the system's numbers of the workers."""
        libc, numbers = ctypes.CDLL(None), list[int]()
        for thread in self.memory[Layout.WORDS : Layout.WORDS + self.workers].tolist():
            clock = ctypes.c_int()
            libc.pthread_getcpuclockid(ctypes.c_ulong(thread), ctypes.byref(clock))
            # On Linux, the id of a thread's clock is the thread's number, inverted, and three bits for its kind.
            numbers.append(~(clock.value >> 3))
        return numbers

    @contextmanager
    def timed(self) -> Generator[Callable[[], int]]:
        """Context in which workers measure their time; its value reads `Layout.HELPED`."""
        with _pools.lock:
            self.memory[Layout.TIMED] += 1
        try:
            yield lambda: int(self.memory[Layout.HELPED])
        finally:
            with _pools.lock:
                self.memory[Layout.TIMED] -= 1

    def forget(self) -> None:
        """Forget the workers after a fork: they are in the parent only."""
        self.workers = 0
        self.memory[Layout.STATE] = Layout.STOPPED


# Faults of the thread itself: if they were blocked, they would end the process before faulthandler can report them.
_FAULT_NAMES = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT")
_FAULTS = {getattr(signal, name) for name in _FAULT_NAMES if hasattr(signal, name)}
_PROFILING = {getattr(signal, name) for name in ("SIGPROF",) if hasattr(signal, name)}
"""The signals that a profiler sends to a thread to interrupt it."""


class _Pools:
    """The pools of this process, one per code and size."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.known: dict[tuple[PoolCode, int], _Workers] = {}
        self.exiting = False

    def running(self, code: PoolCode, threads: int) -> _Workers:
        """Return the workers of a size, started. They do not keep their code mapped; their user has to."""
        with self.lock:
            workers = self.known.get((code, threads))
            if workers is None:
                workers = self.known[code, threads] = _Workers(code, threads)
            if not self.exiting:
                workers.start()
            return workers

    def stop(self, code: PoolCode, threads: int) -> None:
        with self.lock:
            if (workers := self.known.get((code, threads))) is not None:
                workers.stop()

    def drop(self, code: PoolCode) -> None:
        with self.lock:
            for key in [key for key in self.known if key[0] == code]:
                self.known.pop(key).stop()

    def exit(self) -> None:
        """Stop for good: a worker must not outlive its code, which is unmapped when the interpreter ends."""
        with self.lock:
            self.exiting = True
            for workers in list(self.known.values()):
                workers.stop()

    def after_fork(self) -> None:
        self.lock = threading.RLock()  # another thread of the parent may have held it
        for workers in self.known.values():
            workers.forget()


_pools = _Pools()
atexit.register(_pools.exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.after_fork)


class ThreadPool:
    """`threads` threads for the loops of kernels, including the caller's own.

    Pools of the same size share workers. The first use of `handle` starts them, also after `close` and in a forked
    child. Only one loop runs in parallel at a time: a nested one, or one from another thread, runs serially.

    Raises PipelineError for a bad size (see `thread_count`).
    """

    threads: int

    def __init__(self, code: PoolCode, threads: int | None = None):
        # Kernels that are called one by one do not ask.
        tiles_allowed()
        self.code = code
        self._key = code.apart()
        self.threads = thread_count(threads)

    @property
    def handle(self) -> int:
        """The `pool` argument of kernels: an address, 0 for one thread. Read it anew for every run."""
        if self.threads == 1 or not self.code.start:
            return 0
        return _pools.running(self._key, self.threads).handle

    def workers(self) -> list[int]:
        """Start the workers, and return the numbers that Linux has given them."""
        return _pools.running(self._key, self.threads).numbers() if self.handle else []

    @contextmanager
    def clock(self, own: Callable[[], float] = time.thread_time) -> Generator[Callable[[], float]]:
        """Context of a clock of the CPU seconds that the calling thread and the workers of its loops take.

        The clock excludes time in which a thread sleeps, waits for others of the pool, or has no processor, and all
        time of other libraries' threads. It includes loops that other callers run on the same workers meanwhile.

        own: the CPU seconds of the calling thread.
        """
        if not self.handle:
            yield own
            return
        with _pools.running(self._key, self.threads).timed() as helped:
            yield lambda: own() + helped() * 1e-9

    def close(self) -> None:
        """Stop and join the workers of this size."""
        _pools.stop(self._key, self.threads)

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads})"
