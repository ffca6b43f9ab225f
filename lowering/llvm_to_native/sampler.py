"""A sampler of the program counter: timers interrupt threads, a native handler notes where they were.

The handler only writes to memory of the interrupted thread's own, so that it may run anywhere, within kernels, within
Python, within a lock. Beside the program counter it notes a tag, a number that the sampled program sets: the kernel
call that it is in. The thread that samples is interrupted, and those that are named: the workers of a pool.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.values.tensors import address, aligned_empty
from ...support.errors import PipelineError, expectation
from .compile import compile_text
from .link import link
from .target import Target

_COUNTER = {"x86_64": 168, "aarch64": 440}
"""Machine -> where the program counter is in a `ucontext_t` of Linux, in bytes."""
_COUNT, _CAPACITY, _TAG, _HEADER = 0, 1, 2, 8
"""Words of a thread's memory; pairs of tag and program counter follow. _TAG is the address of the tag, of all."""
_ROOM = 1 << 18
_OUTSIDE = -1

# void (int signal, siginfo_t*, ucontext_t*); si_code is at 8, si_value at 24.
_HANDLER = """
define void @whence_sample(i32 %signal, ptr %info, ptr %context) {
entry:
  %p.code = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %p.code
  %ours = icmp eq i32 %code, -2
  br i1 %ours, label %note, label %done
note:
  %p.memory = getelementptr i8, ptr %info, i64 24
  %memory = load ptr, ptr %p.memory
  %count = load i64, ptr %memory
  %p.capacity = getelementptr i64, ptr %memory, i64 $CAPACITY
  %capacity = load i64, ptr %p.capacity
  %room = icmp slt i64 %count, %capacity
  br i1 %room, label %store, label %done
store:
  %p.tag = getelementptr i64, ptr %memory, i64 $TAG
  %where = load ptr, ptr %p.tag
  %tag = load i64, ptr %where
  %p.counter = getelementptr i8, ptr %context, i64 $COUNTER
  %counter = load i64, ptr %p.counter
  %words = shl i64 %count, 1
  %at = add i64 %words, $HEADER
  %p.first = getelementptr i64, ptr %memory, i64 %at
  %p.second = getelementptr i64, ptr %p.first, i64 1
  store i64 %tag, ptr %p.first
  store i64 %counter, ptr %p.second
  %more = add i64 %count, 1
  store i64 %more, ptr %memory
  br label %done
done:
  ret void
}
"""


class _Event(ctypes.Structure):
    """`struct sigevent`."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_char * 44),
    )


class _Action(ctypes.Structure):
    """`struct sigaction` of glibc and musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_char * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_TO_THREAD = 4
_SIGINFO, _RESTART = 4, 0x10000000
_MONOTONIC = 1


def can_sample(system: str = sys.platform, machine: str = platform.machine()) -> bool:
    """Return whether such a system has what the sampler needs."""
    return system == "linux" and machine in _COUNTER


@cache
def _handler() -> tuple[int, object]:
    """The address of the handler, and what keeps it."""
    words = {"CAPACITY": _CAPACITY, "TAG": _TAG, "HEADER": _HEADER}
    text = _HANDLER.replace("$COUNTER", str(_COUNTER[platform.machine()]))
    for name, value in words.items():
        text = text.replace(f"${name}", str(value))
    code = link([compile_text(text, Target.native()).object], ["whence_sample"])
    return code["whence_sample"], code


_free: deque[tuple[float, npt.NDArray[np.int64]]] = deque()
"""Memory of samplers that ended, and when: oldest first. It is never given back to the system, and its tag and capacity
stay as they are: a thread that the system interrupted within the handler goes on whenever it gets a processor.
"""
_REST = 1.0
"""Seconds before memory is used again, lest such a thread write a sample of one sampler's into another's."""
_tag = np.array([_OUTSIDE], np.int64)
"""Read by handlers, so it stays where it is as well."""


def _memory() -> npt.NDArray[np.int64]:
    """Memory of one thread, without samples."""
    if _free and _free[0][0] + _REST < time.monotonic():
        _, memory = _free.popleft()
    else:
        memory = aligned_empty((_HEADER + 2 * _ROOM,), np.int64)
        memory[_CAPACITY], memory[_TAG] = _ROOM, address(_tag)
    memory[_COUNT] = 0
    return memory


class _Thread:
    """A thread that is sampled: the memory that the handler writes to, and a timer."""

    def __init__(self):
        self.memory = _memory()
        self.timer = ctypes.c_void_p()
        """The first of a process may be 0."""
        self.running = False

    def start(self, libc: Any, number: int, period: float) -> bool:
        """Interrupt the thread of this number from now on; whether the system lets us."""
        event = _Event(address(self.memory), signal.SIGPROF, _TO_THREAD, number)
        if libc.timer_create(_MONOTONIC, ctypes.byref(event), ctypes.byref(self.timer)):
            return False
        self.running = True
        seconds, nanoseconds = divmod(round(period * 1e9), 10**9)
        interval = (ctypes.c_long * 4)(seconds, nanoseconds, seconds, nanoseconds)
        libc.timer_settime(self.timer, 0, interval, None)
        return True

    def stop(self, libc: Any) -> None:
        """Interrupt the thread no more, and let others have its memory."""
        if self.running:
            libc.timer_delete(self.timer)
            self.running = False
        memory, samples = self.memory, self.samples
        self.memory = np.concatenate([memory[:_HEADER], samples.ravel()])
        self.memory[_COUNT] = len(samples)
        _free.append((time.monotonic(), memory))

    @property
    def samples(self) -> npt.NDArray[np.int64]:
        """Return the result of `Sampler.samples`."""
        count = int(self.memory[_COUNT])
        return np.array(self.memory[_HEADER : _HEADER + 2 * count]).reshape(count, 2)


class Sampler:
    """Samples the thread that enters it, every `period` seconds, while it is inside.

    threads: the numbers, as the system has them, of further threads that are sampled.
    Raises PipelineError on systems other than Linux on x86-64 and aarch64, and where another sampler runs.
    """

    tag: npt.NDArray[np.int64]
    """An array of one element, which is recorded with each sample; -1 at first."""
    period: float

    _running = threading.Lock()

    def __init__(self, period: float = 2.5e-4, threads: Sequence[int] = ()):
        if not can_sample():
            system = f"{sys.platform} on {platform.machine()}"
            raise PipelineError(expectation("sampler", "Linux on x86-64 or aarch64", system))
        if not 2e-5 <= period <= 10:
            raise PipelineError(expectation("sampler", "a period from 2e-5 to 10 seconds", str(period)))
        self.period = period
        self.tag = _tag
        self._numbers = tuple(threads)
        self._own, self._others = _Thread(), [_Thread() for _ in threads]
        self._before = _Action()
        self._mask: set[Any] = set()

    def __enter__(self) -> Sampler:
        if not Sampler._running.acquire(blocking=False):
            raise PipelineError(expectation("sampler", "one at a time", "another that runs"))
        _tag[0] = _OUTSIDE
        libc = ctypes.CDLL(None, use_errno=True)
        action = _Action(handler=_handler()[0], flags=_SIGINFO | _RESTART)
        libc.sigaction(signal.SIGPROF, ctypes.byref(action), ctypes.byref(self._before))
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
        pairs = zip([*self._others, self._own], [*self._numbers, threading.get_native_id()], strict=True)
        if not all([thread.start(libc, number, self.period) for thread, number in pairs]):
            error = ctypes.get_errno()
            self.__exit__(None, None, None)
            raise PipelineError(expectation("sampler", "timers of the system", f"error {error}"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        libc = ctypes.CDLL(None, use_errno=True)
        for thread in (self._own, *self._others):
            thread.stop(libc)
        # A thread may just have taken a signal, of which nothing tells. The default action would end the process by it,
        # so the handler stays in its place.
        if self._before.handler:
            libc.sigaction(signal.SIGPROF, ctypes.byref(self._before), None)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        Sampler._running.release()

    @property
    def full(self) -> bool:
        """Return whether there is room for no further sample."""
        return int(self._own.memory[_COUNT]) >= _ROOM

    @property
    def samples(self) -> npt.NDArray[np.int64]:
        """Return tag and program counter of each sample of the thread that entered, a copy of shape (samples, 2).

        Of all ticks at which the thread did not run, as it waited or others had its CPU, there is one sample.
        """
        return self._own.samples

    @property
    def others(self) -> list[npt.NDArray[np.int64]]:
        """Return `samples` of each further thread."""
        return [thread.samples for thread in self._others]
