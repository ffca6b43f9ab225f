"""Senseless and damaged input of every kind: each ends in an error for people, or is taken; nothing else escapes.

    python tests/support/senseless.py [--kind KIND ..] [--cases 5000] [--seed 0] [--jobs 2] [--limit 60]

Case k of a kind has seed SEED + k. It is wrong when what comes out is no WhenceError, an InternalError, an error
without text, a crash, or takes longer than the limit. Prints each such case with its seed, and how the others ended;
the exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from tempfile import TemporaryDirectory

import senseless_calls
import senseless_models
import senseless_texts
from seed_workers import Difference, run

from whence.support.errors import InternalError, WhenceError

Draw = Callable[[random.Random], Callable[[], object]]
"""Draws a case: what it calls is a user's call."""
KINDS: dict[str, Draw] = {**senseless_models.KINDS, **senseless_texts.KINDS, **senseless_calls.KINDS}
_MEMORY = 12 << 30
"""Bytes that a process may take."""


def check(seed: int, kind: str) -> set[str]:
    """Run one case and return how it ended. Raises Difference, with the case."""
    call = KINDS[kind](random.Random(f"{kind} {seed}"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except InternalError as error:
        raise Difference(f"{kind} seed {seed}: {error}\n{_trace(error.__cause__ or error)}") from error
    except WhenceError as error:
        if not str(error).strip():
            raise Difference(f"{kind} seed {seed}: an error without text") from error
        return {"refused"}
    except (Exception, SystemExit) as error:
        raise Difference(f"{kind} seed {seed}: {type(error).__name__}: {error}\n{_trace(error)}") from error
    return {"taken"}


def _bounded(seed: int, kind: str) -> set[str]:
    """As `check`, in a process of its own, which takes no more memory than `_MEMORY`."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return check(seed, kind)


def _trace(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return "\n".join(f"    {frame.filename}:{frame.lineno} {frame.line}" for frame in frames)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a case")
    options = parser.parse_args(arguments)
    total = 0
    for kind in options.kind:
        ends, wrong, begin = Counter[str](), 0, time.monotonic()
        seeds = range(options.seed, options.seed + options.cases)
        with TemporaryDirectory() as folder:
            os.environ["WHENCE_CACHE_DIR"] = folder
            for _, words, text in run(seeds, partial(_bounded, kind=kind), options.jobs, options.limit):
                ends.update(words)
                if text:
                    wrong += 1
                    print(text, flush=True)
        how = ", ".join(f"{count} {end}" for end, count in ends.most_common())
        print(f"{kind}: {options.cases} cases, {how}: {wrong} wrong, {time.monotonic() - begin:.0f} s", flush=True)
        total += wrong
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
