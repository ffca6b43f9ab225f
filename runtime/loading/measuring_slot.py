"""A slot for measurements: this process watches and limits another, which runs the candidates of jobs.

A candidate that crashes, hangs or is wrong ends the process that ran it, and a new one measures the candidates after
it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Lock
from typing import IO, Any, cast

from ...support.codec import JSON
from ...support.errors import FrontendError
from ..program.cpus import available_cpus
from .machine_facts import in_core_order
from .measuring_process import LENGTH, main
from .outcomes import Failed, JobHead, Outcome, Request, Started, outcomes_of
from .package import Package
from .sealed import unsealed

START_SECONDS = 60.0
"""The seconds in which a process has to start and accept a job, even if processors are busy."""
_LARGEST = 1 << 24
"""The maximal bytes of an answer."""
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables of libraries that would start threads beside the kernels."""
_START = f"import sys; sys.path[:] = sys.argv[2:]; from {main.__module__} import main; main(int(sys.argv[1]))"


class _Late(Exception):
    """The process took too long."""


class _Refused(Exception):
    """The process refused to measure the job, for the reason in the text."""


class _Ended(Exception):
    """The process ended, or closed its pipes, as the text says."""


class Slot:
    """A place where jobs are measured one after the other, by one thread at a time."""

    def __init__(self, number: int = 0, slots: int = 1, *, pinned: bool = True):
        """number: its number among the slots of this machine. pinned: it gets processors of its own, if possible."""
        self._number, self._slots, self._pinned = number, slots, pinned
        self._process: _Process | None = None
        self._lock, self._stopped = Lock(), False

    def measured(self, job: bytes, first: int = 0, end: int | None = None) -> list[Outcome]:
        """Return the outcomes of the candidates from `first` to before `end`, by default all.

        Raises FrontendError for bytes that are no job or a damaged one.
        """
        content = unsealed(memoryview(job), "job", "a job for measuring")
        head = Package.of(content, "job").about(JobHead)
        protocol, count = head.protocol, len(head.codes) - 1 if end is None else end
        outcomes: list[Outcome] = []
        while (candidate := first + len(outcomes)) < count:
            request = Request(candidate, count, tuple(self._cpus(protocol.threads)), protocol.memory_bytes)
            try:
                process = self._ready(request, content, protocol.seconds)
            except (_Refused, _Late, _Ended, FrontendError, OSError, ValueError) as error:
                self._end()
                reason = str(error) if isinstance(error, _Refused) else f"default kernel: {error}"
                return outcomes + [Failed("error", reason)] * (count - candidate)
            for _ in range(candidate, count):
                outcomes.append(self._answer(process, protocol.seconds))
                if isinstance(outcomes[-1], Failed):
                    self._end()
                    break
        return outcomes

    def stop(self) -> None:
        """Make `measured`, in another thread, return soon, and refuse jobs until the slot is closed."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process; a later job starts another."""
        self._end()
        self._stopped = False

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def _ready(self, request: Request, job: memoryview, seconds: float) -> _Process:
        """Return a process that has run the default kernel of a job.

        Raises _Refused if it did not, _Late or _Ended if it does not answer, OSError if it cannot start.
        """
        if self._process is not None and not self._process.alive:
            self._end()
        with self._lock:
            if self._stopped:
                raise _Refused("stopped")
            process = self._process = self._process or _Process()
        end = time.monotonic() + START_SECONDS + seconds
        process.send(JSON.text(request).encode(), end)
        process.send(job, end)
        started = JSON.decode(Started, process.answer(end), "answer")
        if started.failed is not None:
            raise _Refused(started.failed)
        return process

    def _answer(self, process: _Process, seconds: float) -> Outcome:
        """Return the outcome of the running candidate."""
        try:
            (outcome,) = outcomes_of([process.answer(time.monotonic() + seconds)])
            return outcome
        except _Late:
            return Failed("hang", f"expected an end within {seconds:g} s")
        except (_Ended, FrontendError, ValueError) as error:
            return Failed("crash", str(error))

    def _cpus(self, threads: int) -> list[int]:
        """Return the processors for the threads of this slot; none if all slots share all processors."""
        if not self._pinned or not hasattr(os, "sched_getaffinity"):
            return []
        cpus = in_core_order(os.sched_getaffinity(0))
        if threads >= len(cpus) or self._slots * threads > min(len(cpus), available_cpus()):
            return cpus
        return cpus[self._number * threads : (self._number + 1) * threads]


class _Process:
    """A process of `measuring_process` and the pipes to it."""

    def __init__(self) -> None:
        """Start the process; raises OSError if the system refuses."""
        reading, self._requests = os.pipe()
        try:
            # The child has a session of its own, so that an interrupt from the terminal does not reach it; it ends when
            # its standard input does.
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, str(reading), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(reading,),
                start_new_session=True,
                env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
            )
        except OSError:
            os.close(self._requests)
            raise
        finally:
            os.close(reading)
        self._answers = cast("IO[bytes]", self._child.stdout).fileno()
        os.set_blocking(self._requests, False)

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def send(self, data: bytes | memoryview, end: float) -> None:
        """Send a frame; raises _Late or _Ended when it does not arrive before `end` on the monotonic clock."""
        for piece in (LENGTH.pack(len(data)), data):
            unsent = memoryview(piece)
            while unsent:
                self._wait(self._requests, select.POLLOUT, end)
                try:
                    unsent = unsent[os.write(self._requests, unsent) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise self._ended() from None

    def answer(self, end: float) -> Any:
        """Return the next answer, parsed from JSON; raises _Late or _Ended when there is none before `end`."""
        (size,) = cast("tuple[int]", LENGTH.unpack(self._read(LENGTH.size, end)))
        if size > _LARGEST:
            raise _Ended(f"answers with {size} bytes")
        return json.loads(self._read(size, end))

    def kill(self) -> None:
        with suppress(OSError):
            self._child.kill()

    def end(self) -> None:
        """Kill the process and close the pipes."""
        self.kill()
        os.close(self._requests)
        with self._child:
            pass

    def _read(self, size: int, end: float) -> bytes:
        data = b""
        while len(data) < size:
            self._wait(self._answers, select.POLLIN, end)
            if not (piece := os.read(self._answers, size - len(data))):
                raise self._ended()
            data += piece
        return data

    def _wait(self, file: int, event: int, end: float) -> None:
        """Wait until a pipe is ready, or closed at its other end. Raises _Late."""
        poll = select.poll()
        poll.register(file, event)
        if not poll.poll(max(0.0, end - time.monotonic()) * 1e3):
            raise _Late("expected an end in time, but it goes on")

    def _ended(self) -> _Ended:
        """Return an error that says how the process, which closed its pipes, ended."""
        try:
            code = self._child.wait(1)
        except subprocess.TimeoutExpired:
            return _Ended("closed the pipe of its process")
        if code >= 0:
            return _Ended(f"ended its process with code {code}")
        with suppress(ValueError):
            return _Ended(f"ended its process by {signal.Signals(-code).name}")
        return _Ended(f"ended its process by signal {-code}")


_worker = Slot(pinned=False)
_lock = Lock()


def measure(job: bytes, first: int, end: int) -> bytes:
    """Return the outcomes of some candidates of a job in JSON, for callers that reach this process remotely.

    They run in a child of this process, which stays for later jobs. The child is not pinned, because others may
    measure on this machine, too.
    """
    with _lock:
        try:
            outcomes = _worker.measured(job, first, end)
        except FrontendError as error:
            outcomes = [Failed("error", str(error))] * (end - first)
    return JSON.text(outcomes).encode()
