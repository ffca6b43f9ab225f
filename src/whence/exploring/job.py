"""The work of a job: a process with limits, which reports its progress and its result on a pipe."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import IO, Any

from whence.runtime.loading.parent import end_with

try:
    import resource
except ImportError:  # no such system
    resource = None


class Teller:
    """Progress of a compilation as lines of JSON for the process that started this one."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe

    def __call__(self, what: str, done: int, total: int) -> None:
        self._say({"what": what, "done": done, "of": total})

    def end(self) -> None:
        """Report that the compilation is done and recording begins."""
        self._say({"what": "taking it down", "done": 0, "of": 0})

    def fail(self, failure: dict[str, str]) -> None:
        """Say why there is no compiled model."""
        self._say({"failure": failure})

    def _say(self, message: dict[str, Any]) -> None:
        self._pipe.write(f"{json.dumps(message)}\n")
        self._pipe.flush()


@contextmanager
def job(memory: int) -> Generator[Teller]:
    """Open a scope that is limited in memory and ends with the process that started this one.

    Standard output carries only messages; other output goes to standard error.
    """
    if resource is not None and memory:
        with suppress(ValueError, OSError):  # a lower limit holds already
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end_with(os.getppid())
    with os.fdopen(os.dup(1), "w") as pipe:
        sys.stdout.flush()
        os.dup2(2, 1)
        yield Teller(pipe)
