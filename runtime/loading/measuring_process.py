"""The work of a process that runs untrusted code: candidates of jobs, one after the other.

Messages are frames, `u64 size, bytes`. A request is two of them: a `Request` in JSON, and a job without its seal. The
answers are frames in JSON: a `Started` when the default kernel has run, then an `Outcome` for each candidate. The
process ends after a failed candidate, which may have corrupted its memory.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from ...support.codec import JSON
from ...support.errors import WhenceError, expectation
from .disturbance import Disturbance
from .measuring import Bench
from .outcomes import Failed, Outcome, Request, Started
from .package import Package
from .parent import end_with

try:
    import resource
except ImportError:  # no such system
    resource = None

LENGTH = struct.Struct("<Q")


def main(requests: int) -> None:
    """Answer the requests on a pipe, until it ends, on the original standard output."""
    end_with(os.getppid())
    # Output that kernels print must not mix with answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()
    with os.fdopen(requests, "rb") as file, answers:
        while (request := _read(file)) is not None and (job := _read(file)) is not None:
            _serve(JSON.decode(Request, json.loads(request), "request"), job, answers)
            gc.collect()


def _serve(request: Request, job: bytes, answers: IO[bytes]) -> None:
    _limit(request.memory_bytes)
    cpus = _pin(request.cpus)
    try:
        package = Package.of(memoryview(job), "job")
        bench = Bench(package, Disturbance(cpus))
    except (WhenceError, MemoryError) as error:
        _say(answers, Started(_reason(error, request.memory_bytes)))
        sys.exit(1)
    _say(answers, Started())
    for candidate in range(request.first, request.end):
        try:
            outcome = bench.measured(candidate)
        except MemoryError as error:
            outcome = Failed("error", _reason(error, request.memory_bytes))
        _say(answers, outcome)
        if isinstance(outcome, Failed):
            sys.exit(1)


def _reason(error: WhenceError | MemoryError, memory: int) -> str:
    if isinstance(error, WhenceError):
        return str(error)
    return expectation("memory", f"no more than the {memory} bytes of the protocol", str(error) or "more")


def _limit(memory: int) -> None:
    if resource is not None:
        with suppress(ValueError, OSError):  # a lower limit holds already
            resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _pin(cpus: Sequence[int]) -> frozenset[int]:
    """Pin all threads of this process to these processors, if there are any; return the processors that it runs on."""
    if not hasattr(os, "sched_setaffinity"):
        return frozenset(range(os.cpu_count() or 1))
    if cpus:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), cpus)
    return frozenset(os.sched_getaffinity(0))


def _read(file: IO[bytes]) -> bytes | None:
    """Return a frame; None at the end."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    data = file.read(size)
    return data if len(data) == size else None


def _say(file: IO[bytes], message: Started | Outcome) -> None:
    data = JSON.text(message).encode()
    file.write(LENGTH.pack(len(data)) + data)
    file.flush()
