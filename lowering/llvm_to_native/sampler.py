"""A sampler of the program counter: a timer interrupts the calling thread, a native handler notes where it was.

The handler only writes to memory, so that it may run anywhere, within kernels, within Python, within a lock. Beside the
program counter it notes a tag, a number that the sampled program sets: the kernel call that it is in. Only the thread
that samples is interrupted. It takes part in every parallel loop, so where it is, there the time goes.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import sys
import threading
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.tensors import address, aligned_empty
from ...support.errors import PipelineError, expectation
from .compile import compile_text
from .link import link
from .target import Target

_COUNTER = {"x86_64": 168, "aarch64": 440}
"""Machine -> where the program counter is in a `ucontext_t` of Linux, in bytes."""
_COUNT, _CAPACITY, _TAG, _LOST, _HEADER = 0, 1, 2, 3, 8
"""Words of the sampler's memory; pairs of tag and program counter follow."""
_ROOM = 1 << 18
_OUTSIDE = -1

# void (int signal, siginfo_t*, ucontext_t*); si_code is at 8, si_overrun at 20, si_value at 24.
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
  %p.over = getelementptr i8, ptr %info, i64 20
  %over = load i32, ptr %p.over
  %lost = sext i32 %over to i64
  %p.lost = getelementptr i64, ptr %memory, i64 $LOST
  %before = load i64, ptr %p.lost
  %sum = add i64 %before, %lost
  store i64 %sum, ptr %p.lost
  %count = load i64, ptr %memory
  %p.capacity = getelementptr i64, ptr %memory, i64 $CAPACITY
  %capacity = load i64, ptr %p.capacity
  %room = icmp slt i64 %count, %capacity
  br i1 %room, label %store, label %done
store:
  %p.tag = getelementptr i64, ptr %memory, i64 $TAG
  %tag = load i64, ptr %p.tag
  %p.counter = getelementptr i8, ptr %context, i64 $COUNTER
  %counter = load i64, ptr %p.counter
  %twice = shl i64 %count, 1
  %at = add i64 %twice, $HEADER
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
    """Whether such a system has what the sampler needs."""
    return system == "linux" and machine in _COUNTER


@cache
def _handler() -> tuple[int, object]:
    """The address of the handler, and what keeps it."""
    words = {"CAPACITY": _CAPACITY, "LOST": _LOST, "TAG": _TAG, "HEADER": _HEADER}
    text = _HANDLER.replace("$COUNTER", str(_COUNTER[platform.machine()]))
    for name, value in words.items():
        text = text.replace(f"${name}", str(value))
    code = link([compile_text(text, Target.native()).object], ["whence_sample"])
    return code["whence_sample"], code


class Sampler:
    """Samples the thread that enters it, every `period` seconds, while it is inside.

    Raises PipelineError on systems other than Linux on x86-64 and aarch64, and where another sampler runs.
    """

    tag: npt.NDArray[np.int64]
    """One element; what stands in it is noted with each sample. -1 at first."""
    period: float

    _running = threading.Lock()

    def __init__(self, period: float = 2.5e-4):
        if not can_sample():
            found = f"{sys.platform} on {platform.machine()}"
            raise PipelineError(expectation("sampler", "Linux on x86-64 or aarch64", found))
        if not 2e-5 <= period <= 10:
            raise PipelineError(expectation("sampler", "a period from 2e-5 to 10 seconds", str(period)))
        self.period = period
        self._memory = aligned_empty((_HEADER + 2 * _ROOM,), np.int64)
        self._memory[:_HEADER] = 0
        self._memory[_CAPACITY] = _ROOM
        self._memory[_TAG] = _OUTSIDE
        self.tag = self._memory[_TAG : _TAG + 1]
        self._timer = ctypes.c_void_p()
        self._before = _Action()
        self._mask: set[Any] = set()

    def __enter__(self) -> Sampler:
        if not Sampler._running.acquire(blocking=False):
            raise PipelineError(expectation("sampler", "one at a time", "another that runs"))
        libc = ctypes.CDLL(None, use_errno=True)
        action = _Action(handler=_handler()[0], flags=_SIGINFO | _RESTART)
        libc.sigaction(signal.SIGPROF, ctypes.byref(action), ctypes.byref(self._before))
        event = _Event(address(self._memory), signal.SIGPROF, _TO_THREAD, threading.get_native_id())
        if libc.timer_create(_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)):
            libc.sigaction(signal.SIGPROF, ctypes.byref(self._before), None)
            Sampler._running.release()
            raise PipelineError(expectation("sampler", "a timer of the system", f"error {ctypes.get_errno()}"))
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
        self._set(libc, self.period)
        return self

    def _set(self, libc: Any, period: float) -> None:
        seconds, nanoseconds = divmod(round(period * 1e9), 10**9)
        interval = (ctypes.c_long * 4)(seconds, nanoseconds, seconds, nanoseconds)
        libc.timer_settime(self._timer, 0, interval, None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        libc = ctypes.CDLL(None, use_errno=True)
        # A signal on its way is delivered before these calls return: the handler is still there.
        self._set(libc, 0)
        libc.timer_delete(self._timer)
        libc.sigaction(signal.SIGPROF, ctypes.byref(self._before), None)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        Sampler._running.release()

    @property
    def full(self) -> bool:
        """Whether there is room for no further sample."""
        return int(self._memory[_COUNT]) >= _ROOM

    @property
    def lost(self) -> int:
        """How many samples were not taken, as the thread could not be interrupted in time."""
        return int(self._memory[_LOST])

    @property
    def samples(self) -> npt.NDArray[np.int64]:
        """Tag and program counter of each sample, shape (samples, 2): a copy."""
        count = int(self._memory[_COUNT])
        return np.array(self._memory[_HEADER : _HEADER + 2 * count]).reshape(count, 2)
