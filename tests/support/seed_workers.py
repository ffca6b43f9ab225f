"""Cases by their seeds, in processes that may crash or take too long without harm to the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

Check = Callable[[int], set[str]]
"""Runs the case of a seed and returns words to count; raises where it goes wrong. A function that pickles."""


def _work(pipe: Connection, check: Check) -> None:
    """Run the seeds that come, and tell how each ended."""
    warnings.simplefilter("ignore")
    while (seed := pipe.recv()) is not None:
        try:
            pipe.send((check(seed), ""))
        except Exception as error:
            text = str(error) if isinstance(error, Difference) else f"seed {seed}: drawing fails with {error!r}"
            pipe.send((set[str](), text))


class Difference(AssertionError):
    """What a compiled program should not have given; says which case it is."""


class _Worker:
    """A process, and the seed that it runs now."""

    def __init__(self, check: Check) -> None:
        self.pipe, theirs = get_context("spawn").Pipe()
        self.process: Any = get_context("spawn").Process(target=_work, args=(theirs, check), daemon=True)
        self.process.start()
        theirs.close()
        self.seed: int | None = None
        self.since = 0.0

    def give(self, seed: int | None) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.pipe.send(seed)

    def end(self) -> None:
        self.process.terminate()
        self.process.join()


def run(seeds: Sequence[int], check: Check, jobs: int, limit: float) -> Iterator[tuple[int, set[str], str]]:
    """How each case ended: its seed, its words, and what is wrong. limit: seconds for a case."""
    left = iter(seeds)
    workers = [_Worker(check) for _ in range(jobs)]
    for worker in workers:
        worker.give(next(left, None))
    while any(worker.seed is not None for worker in workers):
        ready = wait([worker.pipe for worker in workers if worker.seed is not None], timeout=1)
        for at, worker in enumerate(workers):
            if (seed := worker.seed) is None:
                continue
            text, words = None, set[str]()
            if worker.pipe in ready:
                try:
                    words, text = worker.pipe.recv()
                except EOFError:
                    worker.end()
                    text = f"seed {seed}: crash: the process ended with {worker.process.exitcode}"
                    workers[at] = worker = _Worker(check)
            elif time.monotonic() - worker.since > limit:
                worker.end()
                text = f"seed {seed}: time-out: longer than {limit:g} s"
                workers[at] = worker = _Worker(check)
            if text is not None:
                worker.give(next(left, None))
                yield seed, words, text
    for worker in workers:
        worker.process.join()
