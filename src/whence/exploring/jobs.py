"""Jobs: what the page asks to compile, one at a time, each in a process of its own with limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Session
from whence.explorer.session.file import read
from whence.exploring.feed import Feed
from whence.exploring.guard import Refusal
from whence.exploring.request import Request
from whence.exploring.store import Store
from whence.support.errors import WhenceError

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
    process: subprocess.Popen[bytes]
    begun: float = field(default_factory=time.monotonic)
    ended: str = ""
    """The reason for which it was ended from outside; "" for none."""


class Jobs:
    """Starts processes, tells the feed what they say, and keeps the sessions that they write."""

    def __init__(self, command: Sequence[str], store: Store, feed: Feed, folder: Path, limits: Limits) -> None:
        """command: the program, which takes the words of a request, `--job FILE` and `--job-memory BYTES`."""
        self._command, self._store, self._feed, self._folder = list(command), store, feed, folder
        self.limits = limits
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
            path = self._folder / f"session{self._count}.json.gz"
            try:
                # In a session of its own: a signal to it reaches what it started, and none from a terminal reaches it.
                process = subprocess.Popen(
                    [*self._command, *request.words(), f"--job={path}", f"--job-memory={self.limits.memory}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise Refusal(503, f"expected a process to start, got: {error.strerror}") from error
            self.current = job = Job(self._count, request, about, base, process)
        self._feed.tell("running", job=job.number, about=about, what="starting", done=0, of=0, seconds=0.0)
        threading.Thread(target=self._follow, args=(job, path), daemon=True).start()
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

    def _follow(self, job: Job, path: Path) -> None:
        """Tell what a job does until it ends."""
        watchdog = threading.Timer(
            self.limits.seconds, _end, (job, f"expected at most {self.limits.seconds:g} s, got more")
        )
        watchdog.daemon = True
        watchdog.start()
        answer: dict[str, Any] = {}
        with job.process as process:
            for line in cast("IO[bytes]", process.stdout):
                answer = json.loads(line)
                if "what" in answer:
                    seconds = round(time.monotonic() - job.begun, 1)
                    self._feed.tell("running", job=job.number, about=job.about, **answer, seconds=seconds)
            # Before its standard input is closed, which would end it.
            process.wait()
        watchdog.cancel()
        status, state = self._result(job, path, answer)
        with self._lock:
            self.current = None
        self._feed.tell(status, job=job.number, about=job.about, **state)

    def _result(self, job: Job, path: Path, answer: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if job.ended == "cancelled":
            path.unlink(missing_ok=True)
            return "cancelled", {}
        failure = answer.get("failure")
        if job.ended or (failure is None and job.process.returncode):
            reason = job.ended or f"expected the compiler to end well, got {_exit(job.process.returncode)}"
            failure = {"message": reason}
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
                failure = {"message": str(error), "command": job.request.command()}
            path.unlink()
        state: dict[str, Any] = {"session": number, "seconds": round(time.monotonic() - job.begun, 1)}
        return ("finished", state) if failure is None else ("failed", {**state, "failure": failure})


def _exit(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _end(job: Job, reason: str) -> None:
    """End the process of a job and what it started: asked first, then killed."""
    job.ended = job.ended or reason
    _signal(job, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        job.process.wait(_PATIENCE)
    _signal(job, signal.SIGKILL)


def _signal(job: Job, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(job.process.pid, number)
