"""Child processes of tests, which end with the test that began them.

`end_children` is called after each test: a process that a test leaves behind, or that one of its own children did, is
killed, whatever it waits for. Processes that several tests share say so (`shared`). `guard` looks after the rest: where
tests themselves are killed, it kills what they have begun.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""
_MARK = "WHENCE_TEST_RUN"
_COMPILER = b"whence.executables.apart_process"
_shared: set[int] = set()


def adopt_orphans() -> None:
    """Become the parent of processes whose parents, our children, end before them."""
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)


def shared(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Let a child process outlive the test that begins it."""
    _shared.add(process.pid)
    return process


def share_children() -> None:
    """Let the child processes that are there now outlive the test that began them."""
    _shared.update(children())


def children() -> set[int]:
    """Return the child processes that no other test shares, those included that ended and nobody waited for."""
    numbers: set[int] = set()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return numbers
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            numbers |= set(map(int, (thread / "children").read_text().split()))
    return {number for number in numbers - _shared if not _compiles(number)}


def _compiles(number: int) -> bool:
    """Return whether a process compiles beside calls: it ends with its work, and an executable waits for it."""
    try:
        return _COMPILER in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


def end_children(before: set[int]) -> set[int]:
    """Kill the children that were not there before, then their own, which become ours; returns them all.

    They stay zombies, as somebody may wait for them.
    """
    ended: set[int] = set()
    while left := children() - before - ended:
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
        ended |= left
    return ended


def guard() -> subprocess.Popen[bytes]:
    """Start a process that waits for the end of this one, and then kills all that inherit its environment."""
    os.environ[_MARK] = f"{os.getpid()}-{os.urandom(8).hex()}"
    command = [sys.executable, "-I", "-S", __file__, os.environ[_MARK]]
    environment = {name: value for name, value in os.environ.items() if name != _MARK}
    # In a session of its own, it is not among those that a terminal or `timeout` ends along with the tests.
    return shared(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True))


def marked(mark: str) -> set[int]:
    """Return the processes that began with a mark in their environment."""
    entry = f"{_MARK}={mark}".encode()
    numbers: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                numbers.add(int(folder.name))
    return numbers


def _watch(mark: str) -> None:
    sys.stdin.read()
    while left := marked(mark):
        for number in left:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)


if __name__ == "__main__":
    _watch(sys.argv[1])
