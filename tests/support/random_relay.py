"""Random Relay programs: through every relay pass, the pipelines and the compiler, against the interpreter in numpy.

    python tests/support/random_relay.py [--cases 5000] [--seed 0] [--jobs 2] [--limit 120] [--only STAGE] [--size 12]

Case k has seed SEED + k. Each goes through expressions and text, every relay pass alone, the pipelines at levels 0 to
3, and is built with spans off; one in `--every` is compiled, too, at one of the levels. What fails is made short and
written to the folder `--out`, as ops and as Relay text. The exit code is 1 when anything failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from random_relay_checks import LEVELS, Checker, Failure
from random_relay_program import Sample, random_program
from random_relay_shrink import shrunk, write


def levels_of(seed: int, every: int) -> tuple[int, ...]:
    """The levels at which a case is compiled: 3 half of the time."""
    if not every or seed % every:
        return ()
    return ((3, 2, 3, 1, 3, 0)[seed // every % 6],)


def check(seed: int, levels: Sequence[int] = (), size: int = 12, only: str = "") -> Sample:
    """Draw a program and check it. Raises Failure."""
    sample = random_program(seed, size)
    Checker(sample.program, sample.inputs, only).check(levels)
    return sample


def report(
    seed: int, levels: Sequence[int], size: int, only: str, folder: Path, seconds: float
) -> tuple[set[str], str]:
    """The operators of a case, and what is wrong with it: a failure is made short and written to a folder."""
    try:
        return set(check(seed, levels, size, only).operators), ""
    except Failure as failure:
        sample = random_program(seed, size)
        short, last = shrunk(sample.program, sample.inputs, failure, levels, seconds)
        path = write(folder, f"seed{seed}", short, last, seed)
        return set(), f"seed {seed}: {last}\n    {path}"
    except Exception:
        return set(), f"seed {seed}: drawing fails\n{traceback.format_exc()}"


def _work(pipe: Connection, every: int, options: argparse.Namespace) -> None:
    """Run the seeds that come, and tell how each ended."""
    warnings.simplefilter("ignore")
    while (seed := pipe.recv()) is not None:
        levels = levels_of(seed, every)
        pipe.send(report(seed, levels, options.size, options.only, Path(options.out), options.shrink))


class _Worker:
    """A process, and the seed that it runs now."""

    def __init__(self, every: int, options: argparse.Namespace) -> None:
        self.pipe, theirs = get_context("spawn").Pipe()
        self.process: Any = get_context("spawn").Process(target=_work, args=(theirs, every, options), daemon=True)
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


def run(seeds: Sequence[int], every: int, options: argparse.Namespace) -> Iterator[tuple[int, set[str], str]]:
    """How each case ended: its operators, and what is wrong."""
    left = iter(seeds)
    workers = [_Worker(every, options) for _ in range(options.jobs)]
    for worker in workers:
        worker.give(next(left, None))
    while any(worker.seed is not None for worker in workers):
        ready = wait([worker.pipe for worker in workers if worker.seed is not None], timeout=1)
        for at, worker in enumerate(workers):
            if (seed := worker.seed) is None:
                continue
            operators, text = set[str](), None
            if worker.pipe in ready:
                try:
                    operators, text = worker.pipe.recv()
                except EOFError:
                    worker.end()
                    text = f"seed {seed}: crash: the process ended with {worker.process.exitcode}"
                    workers[at] = worker = _Worker(every, options)
            elif time.monotonic() - worker.since > options.limit + options.shrink:
                worker.end()
                text = f"seed {seed}: time-out: longer than {options.limit:g} s"
                workers[at] = worker = _Worker(every, options)
            if text is not None:
                worker.give(next(left, None))
                yield seed, operators, text
    for worker in workers:
        worker.process.join()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=12, help="how many steps a program takes at most")
    parser.add_argument("--every", type=int, default=5, help="one case in so many is compiled; 0: none")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a case")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make a failure short")
    parser.add_argument("--only", default="", help="one stage: 'view', 'text', 'pass relay-fuse-ops', 'compile 3', ..")
    parser.add_argument("--out", default="build/relay-failures", help="where programs that fail are written")
    options = parser.parse_args(arguments)
    operators, wrong, begin = Counter[str](), 0, time.monotonic()
    seeds = range(options.seed, options.seed + options.cases)
    for count, (_, used, text) in enumerate(run(seeds, options.every, options), 1):
        operators.update(used)
        if text:
            wrong += 1
            print(text, flush=True)
        if count % 100 == 0:
            print(f"{count} cases, {wrong} wrong, {time.monotonic() - begin:.0f} s", flush=True)
    compiled = sum(bool(levels_of(seed, options.every)) for seed in seeds)
    print("operators in cases:", ", ".join(f"{op} {n}" for op, n in sorted(operators.items())))
    levels = ", ".join(map(str, LEVELS))
    print(
        f"{options.cases} programs over {len(operators)} operators, pipelines at levels {levels}, {compiled} compiled: "
        f"{wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
