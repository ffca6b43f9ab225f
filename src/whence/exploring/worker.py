"""A process that has the compiler's modules imported, and runs each program in a copy of itself.

A copy begins at once, where a new process would first import for seconds. It is as separate as a new process: it has a
session of its own, limits of its own, and leaves nothing behind. Orders come through the socket that is standard input.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

LENGTH = struct.Struct("!I")
"""The length of an order, before it."""
PIPES = 3
"""Files that come with an order: standard input, standard output, and a socket for the number and the exit code."""


def main() -> None:
    """Import the modules that are arguments, and run programs until standard input is closed."""
    orders = socket.socket(fileno=os.dup(0))
    for name in sys.argv[1:]:
        import_module(name)
    # Nobody waits for the processes that wait for programs.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, files, _, _ = socket.recv_fds(orders, LENGTH.size, PIPES)
        if len(head) < LENGTH.size:
            return
        words: list[str] = json.loads(_received(orders, LENGTH.unpack(head)[0]))
        if os.fork() == 0:
            orders.close()
            _supervise(words, *files)
            return
        for file in files:
            os.close(file)


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := connection.recv(size - len(data))):
            raise EOFError("expected the rest of an order")
        data += piece
    return data


def _supervise(words: list[str], stdin: int, stdout: int, told: int) -> None:
    """Run a program in another copy, and tell its number and its exit code; return in that copy alone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    number = os.fork()
    if number == 0:
        os.setsid()
        # Only now do signals to the session reach it.
        with suppress(OSError), socket.socket(fileno=told) as line:
            _tell(line, {"number": os.getpid()})
        _run(words, stdin, stdout)
        return
    with suppress(OSError), socket.socket(fileno=told) as line:
        for file in (stdin, stdout):
            os.close(file)
        _tell(line, {"code": os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])})
    os._exit(0)


def _tell(line: socket.socket, message: dict[str, Any]) -> None:
    line.sendall(f"{json.dumps(message)}\n".encode())


def _run(words: list[str], stdin: int, stdout: int) -> None:
    """Run `python WORDS` with other standard files; nobody reads its standard error."""
    silent = os.open(os.devnull, os.O_WRONLY)
    for source, target in ((stdin, 0), (stdout, 1), (silent, 2)):
        os.dup2(source, target)
        os.close(source)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(words[0]))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
