"""Jobs: compilations that the page requests, one at a time, each in a process of its own with limits."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Session
from whence.explorer.session.file import read
from whence.exploring.feed import Feed, Status
from whence.exploring.guard import Refusal, json_object
from whence.exploring.request import Request
from whence.exploring.store import Store
from whence.exploring.warm import Process, Warm
from whence.support.errors import WhenceError
from whence.support.supervising import reason, supervised

_PATIENCE = 0.5
"""Seconds between the two signals that end a process."""


@dataclass(frozen=True)
class Limits:
    """The most that a job may take."""

    seconds: float = 1800.0
    memory: int = 0
    """Bytes of address space; 0: any."""


@dataclass
class Job:
    """A process that compiles, or did."""

    number: int
    request: Request
    about: str
    base: Session | None
    process: Process
    begun: float = field(default_factory=time.monotonic)
    ended: str = ""
    """The reason for which it was ended from outside; "" for none."""
    failure: dict[str, Any] | None = None
    """The process's reason for failing to compile the model."""
    outcome: tuple[Status, dict[str, Any]] | None = None
    """Its final status and the facts of it."""


class Jobs:
    """The runner of jobs: starts processes, passes their messages to the feed, and keeps their sessions."""

    def __init__(
        self, program: Sequence[str], store: Store, feed: Feed, folder: Path, limits: Limits, warm: Warm
    ) -> None:
        """program: the words after `python`; it takes those of a request, `--job FILE` and `--job-memory BYTES`."""
        self._program, self._store, self._feed, self._folder = list(program), store, feed, folder
        self.limits, self.warm = limits, warm
        self._lock = threading.Lock()
        self._count = 0
        self.current: Job | None = None
        self._closed = False

    def start(self, request: Request, about: str, base: Session | None = None) -> int:
        """Begin a job and return its number; refuses with 409 while another one runs.

        base: the session that the new one is compared with.
        """
        with self._lock:
            if self.current is not None or self._closed:
                raise Refusal(409, "expected no other job to run")
            self._count += 1
            path = self._folder / f"session{self._count}.json"
            try:
                # In a session of its own: a signal to it reaches what it started, and none from a terminal reaches it.
                process = self.warm.start(
                    [*self._program, *request.words(), f"--job={path}", f"--job-memory={self.limits.memory}"]
                )
            except (OSError, ValueError) as error:
                raise Refusal(503, f"expected a process to start, got {reason(error)}") from error
            self.current = job = Job(self._count, request, about, base, process)
        self._feed.tell("running", job=job.number, about=about, what="starting", done=0, of=0, seconds=0.0)
        supervised(partial(self._follow, job, path), partial(self._free, job, path))
        return job.number

    def cancel(self, number: int) -> None:
        """End a job; refuses with 404 where it does not run."""
        job = self.current
        if job is None or job.number != number:
            raise Refusal(404, f"expected a job that runs, got {number}")
        _end(job, "cancelled")

    def close(self) -> None:
        """End the job that runs, and take no other."""
        with self._lock:
            self._closed, job = True, self.current
        if job is not None:
            _end(job, "cancelled")
        self.warm.close()

    def _follow(self, job: Job, path: Path) -> None:
        """Report the progress of a job until it ends, and keep its session."""
        watchdog = threading.Timer(
            self.limits.seconds, _end, (job, f"expected at most {self.limits.seconds:g} s, got more")
        )
        watchdog.daemon = True
        watchdog.start()
        try:
            with job.process as process:
                for line in process.stdout:
                    self._take(job, line)
                # Before its standard input is closed, which would end it.
                process.wait()
        finally:
            watchdog.cancel()
        job.outcome = self._result(job, path)

    def _take(self, job: Job, line: bytes) -> None:
        """Handle a line from a job's process; a torn line is ignored, and the exit code gives the reason."""
        try:
            message = json_object(line)
        except Refusal:
            return
        if isinstance(failure := message.get("failure"), dict):
            job.failure = cast("dict[str, Any]", failure)
        match message:
            case {"what": str(what), "done": int(done), "of": int(total)}:
                seconds = round(time.monotonic() - job.begun, 1)
                about = {"job": job.number, "about": job.about, "what": what, "done": done, "of": total}
                self._feed.tell("running", **about, seconds=seconds)
            case _:
                pass

    def _free(self, job: Job, path: Path, error: BaseException | None) -> None:
        """Let the next job begin, and tell how this one ended."""
        outcome = job.outcome
        if error is not None or outcome is None:
            with suppress(OSError):
                _end(job, "given up")
            why = f"expected to follow the compiler, got {reason(error) if error is not None else 'nothing'}"
            outcome = "failed", {"session": 0, "failure": {"message": why, "command": job.request.command()}}
        with suppress(OSError):
            path.unlink(missing_ok=True)
        with self._lock:
            self.current = None
        status, state = outcome
        self._feed.tell(status, job=job.number, about=job.about, **state)

    def _result(self, job: Job, path: Path) -> tuple[Status, dict[str, Any]]:
        if job.ended == "cancelled":
            return "cancelled", {}
        failure = job.failure
        if job.ended or (failure is None and job.process.returncode):
            failure = {
                "message": job.ended or f"expected the compiler to end well, got {_exit(job.process.returncode)}"
            }
        if failure is not None:
            failure = {"command": job.request.command(), **failure}
        number = 0
        if path.exists() and not job.ended:
            try:
                session = read(path)
                if job.base is not None and failure is None:
                    session.comparison = compare_sessions(session, job.base)
                number = self._store.add(session, job.request, job.about)
            except WhenceError as error:
                failure = failure or {"message": str(error), "command": job.request.command()}
        state: dict[str, Any] = {"session": number, "seconds": round(time.monotonic() - job.begun, 1)}
        return ("finished", state) if failure is None else ("failed", {**state, "failure": failure})


def _exit(code: int | None) -> str:
    if code is None:
        return "no exit code"
    with suppress(ValueError):
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _end(job: Job, reason: str) -> None:
    """End the process of a job and its children, which are first asked and then killed."""
    job.ended = job.ended or reason
    job.process.signal(signal.SIGTERM)
    try:
        with suppress(subprocess.TimeoutExpired):
            job.process.wait(_PATIENCE)
    finally:
        job.process.signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            job.process.wait(_PATIENCE)
