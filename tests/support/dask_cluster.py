"""Schedulers and workers of dask as processes of their own, for tests of what measures on a cluster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

_DASK = Path(sys.executable).with_name("dask")
_SECONDS = 60


class Cluster:
    """A scheduler and its workers, which write what they say into a folder. `options` are for all of them."""

    def __init__(self, folder: Path, *options: str, protocol: str = "tcp"):
        self._folder, self._options, self._count = folder, options, 0
        self._protocol = protocol
        self._processes: list[subprocess.Popen[bytes]] = []
        self._environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "True"}
        self.scheduler, self.address = self.start_scheduler(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for process in reversed(self._processes):
            kill(process)

    def start_scheduler(self, port: int = -1) -> tuple[subprocess.Popen[bytes], str]:
        """Start a scheduler; at the port of the one before, when none is given."""
        number = port if port >= 0 else int(self.address.rpartition(":")[2])
        words = ["scheduler", "--host", f"{self._protocol}://127.0.0.1", "--port", str(number), "--no-dashboard"]
        self.scheduler, said = self._start(words, r"Scheduler at: +(\S+)")
        self.address = said
        return self.scheduler, said

    def worker(self, *options: str, resource: bool = True) -> subprocess.Popen[bytes]:
        """Start a worker."""
        words = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--local-directory", str(self._folder), *options]
        words += ["--resources", "measure=1"] if resource else []
        return self._start(words, r"Registered to: +(\S+)")[0]

    def _start(self, words: list[str], pattern: str) -> tuple[subprocess.Popen[bytes], str]:
        self._count += 1
        log = self._folder / f"log{self._count}"
        command = [str(_DASK), *words, *self._options]
        with log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=self._environment)
        self._processes.append(process)
        end = time.monotonic() + _SECONDS
        while (match := re.search(pattern, log.read_text())) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"dask {words[0]} did not start:\n{log.read_text()}")
            time.sleep(0.02)
        return process, match[1]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process at once, and wait until it has ended."""
    process.send_signal(signal.SIGKILL)
    process.wait()
