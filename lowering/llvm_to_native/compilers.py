"""LLVM on several kernels at a time: a thread of this process, and processes of their own where kernels wait.

LLVM runs once at a time in a process, as its binding holds a lock. So each further compiler is a process, which takes
texts and gives back machine code through pipes; it starts when there is work for it, and ends with its pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import IO, Protocol, TypeVar, cast

from ...runtime.program.cpus import available_cpus
from ...support.codec import JSON
from ...support.supervising import supervised
from ...support.switching import quick_turns
from ..cache import decode
from .compile import Lines, Native, compile_text
from .compiler_process import LENGTH, Source, main
from .target import Target

ResultT = TypeVar("ResultT")


class Compile(Protocol):
    """A function that compiles as `compile_text` does."""

    def __call__(self, text: str, target: Target, lines: Lines = ()) -> Native: ...


Job = Callable[[Compile], None]

_WAITING = 6
"""Kernels that wait for each process that starts: starting one costs about as much as compiling as many."""
_LARGEST = 1 << 30
"""Bytes of an answer; more are none."""
_START = f"import sys; sys.path[:] = sys.argv[2:]; from {main.__module__} import main; main(sys.argv[1])"


class Compilers:
    """Compilers for a target that share a queue of jobs."""

    def __init__(self, target: Target):
        self._target = target
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        # Frozen and embedded interpreters are other programs.
        can_start = os.path.basename(sys.executable or "").startswith("python")
        self._most = available_cpus() if can_start else 1

    def submit(self, job: Callable[[Compile], ResultT]) -> Future[ResultT]:
        """Run a job with a function that compiles as `compile_text` does, soon, in another thread."""
        future: Future[ResultT] = Future()

        def run(compile: Compile) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job(compile))
            except BaseException as error:
                future.set_exception(error)

        self._jobs.put(run)
        count = len(self._threads)
        if count < self._most and self._jobs.qsize() > _WAITING * count:
            # Where no thread starts, the job is done by now.
            with suppress(RuntimeError):
                self._threads.append(supervised(self._apart if count else self._here, self._ended))
        return future

    def drop(self) -> None:
        """Forget the jobs that nobody works on yet."""
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()

    def close(self) -> None:
        """End when the jobs are done."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _here(self) -> None:
        while (job := self._jobs.get()) is not None:
            job(compile_text)

    def _apart(self) -> None:
        with _process(self._target) as compile:
            while (job := self._jobs.get()) is not None:
                job(compile)

    def _ended(self, error: BaseException | None) -> None:
        """Compile here what a thread leaves behind that an error ended."""
        if error is not None:
            # An end of its own: the thread may have taken one already.
            self._jobs.put(None)
            self._here()


@contextmanager
def compilers(target: Target) -> Generator[Compilers]:
    """Compilers whose jobs are done at the end; after an error, those that somebody works on."""
    group = Compilers(target)
    with quick_turns():
        try:
            yield group
        except BaseException:
            group.drop()
            raise
        finally:
            group.close()


@contextmanager
def _process(target: Target) -> Generator[Compile]:
    """A process that compiles. What it cannot compile, or if there is none, is compiled here, errors included."""
    words = JSON.text(target)
    try:
        # In a session of its own: who interrupts this process from a terminal does not interrupt that one, which ends
        # as its standard input does.
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, words, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield compile_text
        return
    into, out = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)

    def compile(text: str, target: Target, lines: Lines = ()) -> Native:
        try:
            return _asked(JSON.text(Source(text, lines)).encode(), into, out)
        except (OSError, ValueError):
            return compile_text(text, target, lines)

    with process:
        try:
            yield compile
        finally:
            with suppress(OSError):
                into.close()


def _asked(text: bytes, into: IO[bytes], out: IO[bytes]) -> Native:
    """The answer of a process; raises OSError or ValueError where there is none."""
    into.write(LENGTH.pack(len(text)) + text)
    into.flush()
    if len(head := out.read(LENGTH.size)) < LENGTH.size:
        raise ValueError("expected an answer")
    (size,) = cast("tuple[int]", LENGTH.unpack(head))
    if not size or size > _LARGEST:
        raise ValueError(f"expected a record, got {size} bytes")
    record = decode(out.read(size))
    return Native(cast("bytes", record["object"]), cast("str", record["assembly"]))
