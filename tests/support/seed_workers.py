"""Cases by their seeds, in processes that may crash or take too long without harm to the others."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
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


def main(
    parser: argparse.ArgumentParser, arguments: Sequence[str], check: Callable[[argparse.Namespace], Check]
) -> int:
    """Run the cases that a command line asks for and print what they are of; the exit code is 1 where one is wrong.

    parser: with the caller's own options; `--limit` among its defaults. check: what checks a case, under the options.
    Words with a colon are lines of their own.
    """
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=parser.get_default("limit"), help="seconds for a case")
    options = parser.parse_args(arguments)
    words, wrong, begin = Counter[str](), 0, time.monotonic()
    seeds = range(options.seed, options.seed + options.cases)
    for count, (_, used, text) in enumerate(run(seeds, check(options), options.jobs, options.limit), 1):
        for line in (word for word in used if ":" in word):
            print(line, flush=True)
        words.update(word for word in used if ":" not in word)
        if text:
            wrong += 1
            print(text, flush=True)
        if count % 100 == 0:
            print(f"{count} cases, {wrong} wrong, {time.monotonic() - begin:.0f} s", flush=True)
    print("in cases:", ", ".join(f"{word} {n}" for word, n in sorted(words.items())))
    print(f"{options.cases} cases: {wrong} wrong")
    return 1 if wrong else 0
