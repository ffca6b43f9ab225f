"""Programs in Python that begin at once: copies of a process that has all modules imported."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO

from whence.exploring.worker import LENGTH

_BEGINNING = 0.4
"""Seconds in which a worker that has imported should begin a program that is to end."""
COMPILER = (
    "llvmlite.binding",
    "whence.compiler.compile",
    "whence.explorer.session.file",
    "whence.exploring.failing",
    "whence.exploring.measured_schedule",
    "whence.exploring.record",
    "whence.frontends.onnx.load",
    "whence.lowering.relay_to_te.schedules.convolution",
    "whence.lowering.relay_to_te.transform",
    "whence.passes.relay.alter_op_layout",
    "whence.passes.relay.fake_quantization_to_integer",
    "whence.passes.relay.fuse_ops",
    "whence.passes.relay.simplify_expr",
)
"""What most compilations import."""
_COMMAND = (sys.executable, "-P", "-m", "whence.exploring.worker")


class Process:
    """A program that runs, with what others use of `subprocess.Popen`."""

    def __init__(self, worker: subprocess.Popen[bytes], stdin: IO[bytes], stdout: IO[bytes], told: socket.socket):
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        """Its exit code, or the negative number of the signal that ended it; None as long as it runs."""
        self._worker, self._told = worker, told
        self._pid = 0
        self._lines = b""
        self._lock = threading.Lock()

    def _hear(self, key: str, timeout: float | None) -> int:
        """Wait for a number; raises TimeoutError, and ConnectionError where the worker is gone."""
        self._told.settimeout(timeout)
        while b"\n" not in self._lines:
            if not (piece := self._told.recv(1024)):
                raise ConnectionResetError("expected a copy of the worker, got none")
            self._lines += piece
        line, _, self._lines = self._lines.partition(b"\n")
        return int(json.loads(line)[key])

    @property
    def pid(self) -> int:
        """Its number; raises OSError where it never began."""
        with self._lock:
            return self._number(None)

    def _number(self, timeout: float | None) -> int:
        self._pid = self._pid or self._hear("number", timeout)
        return self._pid

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, and return its exit code; raises TimeoutExpired if it takes longer."""
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        try:
            if self.returncode is None:
                self._number(timeout)
                self.returncode = self._hear("code", timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired("worker", timeout or 0.0) from None
        except OSError:
            # It never began, or all of the worker's copies were ended from outside.
            self.returncode = -signal.SIGKILL
        finally:
            self._lock.release()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code of a program that has ended, else None."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.001)
        return self.returncode

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it started; one that has not begun never will, as its worker ends."""
        if self.returncode is not None and not self._pid:
            return
        try:
            if not self._pid and self._lock.acquire(timeout=_BEGINNING):
                try:
                    self._number(_BEGINNING)
                finally:
                    self._lock.release()
        except OSError:
            self._worker.kill()
            self._worker.wait()
        if self._pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for file in (self.stdin, self.stdout):
            with suppress(OSError):
                file.close()
        self.wait()
        self._told.close()


class Warm:
    """One worker, which is started when it is first needed, and again where it ended."""

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """modules: those that the worker imports."""
        self.modules = modules
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def begin(self) -> None:
        """Start the worker, which imports while others go on."""
        with self._lock:
            self._started()

    def start(self, words: Sequence[str]) -> Process:
        """Run `python WORDS`, a module after -m or a file, in a session of its own; raises OSError if that fails."""
        with self._lock:
            try:
                return self._start(words)
            except (BrokenPipeError, ConnectionResetError):
                self._end()
                return self._start(words)

    def _start(self, words: Sequence[str]) -> Process:
        orders, worker = self._started()
        data = json.dumps(list(words)).encode()
        stdin, written = os.pipe()
        read, stdout = os.pipe()
        ours, told = socket.socketpair()
        try:
            with told:
                socket.send_fds(orders, [LENGTH.pack(len(data))], [stdin, stdout, told.fileno()])
                orders.sendall(data)
            for file in (stdin, stdout):
                os.close(file)
            return Process(worker, os.fdopen(written, "wb"), os.fdopen(read, "rb"), ours)
        except BaseException:
            for file in (stdin, stdout, written, read):
                with suppress(OSError):
                    os.close(file)
            ours.close()
            raise

    def _started(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        if self._orders is None or self._worker is None or self._worker.poll() is not None:
            self._end()
            self._orders, theirs = socket.socketpair()
            with theirs:
                # In a session of its own: no signal from a terminal reaches it.
                command = [*_COMMAND, *self.modules]
                nothing = subprocess.DEVNULL
                self._worker = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=nothing, stderr=nothing, start_new_session=True
                )
        return self._orders, self._worker

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._orders is not None:
            self._orders.close()
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
        self._orders = self._worker = None
