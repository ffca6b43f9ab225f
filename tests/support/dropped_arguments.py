"""Operators with an optional argument, option, field or attribute of another value, each against its own framework.

    PYTHONPATH=src:tests/support python tests/support/dropped_arguments.py [torch tflite ..] --count 300 --seconds 300
        [--seed 0] [--only REGEX]

What an operator states changes the result as the framework's does, or it is refused. A framework that is not installed
is named and left out. `mutated_onnx.py` does the same for ONNX.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.support.errors import FrontendError

Array = NDArray[Any]
FRAMEWORKS = {
    "torch": ("torch", "expecttest"),
    "tflite": ("ai_edge_litert",),
    "keras": ("keras",),
    "tensorflow": ("tensorflow",),
}
"""The frontends, and the packages that each sweep needs."""
WRONG = ("wrong", "foreign")
_ABSENT = "operators are not supported for frontend"


class Change(NamedTuple):
    """An operator with a changed argument. ours, theirs: what computes its results, or raises."""

    operator: str
    change: str
    ours: Callable[[], Sequence[Array]]
    theirs: Callable[[], Sequence[Array]]


class Outcome(NamedTuple):
    """The verdict on a change.

    verdict: `right`, `refused` by both, `told` (refused by us alone), `no row` (the operator is not imported), `alone`
    (computed by us alone), `known` (different, for a reason), `wrong`, or `foreign` (an error that is not of ours).
    """

    operator: str
    change: str
    verdict: str
    detail: str = ""


def difference(mine: Sequence[Array], theirs: Sequence[Array]) -> str:
    """Return what is wrong with results; "" where nothing is."""
    if len(mine) != len(theirs):
        return f"{len(mine)} outputs, not {len(theirs)}"
    for own, other in zip(mine, theirs, strict=True):
        if own.shape != other.shape or own.dtype != other.dtype:
            return f"{own.dtype}{list(own.shape)}, not {other.dtype}{list(other.shape)}"
        exact = own.dtype.kind in "iub" and own.dtype.itemsize > 0
        coarse = own.dtype.itemsize < 4 and not exact
        # The least number of float32 stands for minus infinity in masks.
        left, right = (np.nan_to_num(array.astype(np.float64), nan=np.nan).clip(-1e38, 1e38) for array in (own, other))
        most = float(np.abs(right[np.abs(right) < 1e38]).max(initial=1.0))
        rtol, atol = (0.0, 0.0) if exact else (0.03, 0.02) if coarse else (2e-4, 1e-6 * most + 1e-5)
        if not np.allclose(left, right, rtol, atol, equal_nan=True):
            with np.errstate(all="ignore"):
                return f"off by {np.nanmax(np.abs(left - right)):.4g} of {np.nanmax(np.abs(right)):.4g}"
    return ""


def judged(change: Change) -> Outcome:
    """Compute a changed operator by both, and compare."""

    def outcome(verdict: str, detail: str = "") -> Outcome:
        return Outcome(change.operator, change.change, verdict, detail)

    refusal, mine = "", None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            mine = change.ours()
        except FrontendError as error:
            if _ABSENT in (refusal := str(error)):
                return outcome("no row", refusal)
        except Exception as error:
            return outcome("foreign", f"{type(error).__name__}: {str(error)[:300]}")
        try:
            theirs = change.theirs()
        except Exception as error:
            return outcome("refused" if mine is None else "alone", str(error)[:300])
        if mine is None:
            return outcome("told", refusal)
        wrong = difference(mine, theirs)
    return outcome("wrong" if wrong else "right", wrong)


def outcomes(frontend: str, count: int, seed: int = 0, seconds: float = float("inf"), only: str = "") -> list[Outcome]:
    """The verdicts on changes that are drawn, at most as many as `count`, and no longer than `seconds`."""
    module: Any = import_module(f"arguments_{frontend}")
    with closing(module) if hasattr(module, "close") else nullcontext():
        return _drawn(frontend, module, count, seed, seconds, only)


def _drawn(frontend: str, module: Any, count: int, seed: int, seconds: float, only: str) -> list[Outcome]:
    dice, end = random.Random(seed), time.monotonic() + seconds
    operators = [name for name in module.operators() if re.search(only, name)]
    found: list[Outcome] = []
    for _ in range(20 * count):
        if len(found) == count or time.monotonic() > end:
            break
        change = module.draw(dice, dice.choice(operators))
        if change is not None:
            outcome = judged(change)
            text = f"{frontend} {': '.join(outcome)}"
            if outcome.verdict == "wrong" and any(re.search(pattern, text) for pattern in module.KNOWN):
                outcome = outcome._replace(verdict="known")
            if outcome.verdict in (*WRONG, "told"):
                print(text, flush=True)
            found.append(outcome)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frontends", nargs="*", help="all that have a judge here, where none is named")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    wrong = 0
    for frontend in options.frontends or FRAMEWORKS:
        missing = [package for package in FRAMEWORKS[frontend] if find_spec(package) is None]
        if missing:
            print(f"{frontend}: not installed: {', '.join(missing)}")
            continue
        verdicts = outcomes(frontend, options.count, options.seed, options.seconds, options.only)
        counts = Counter(outcome.verdict for outcome in verdicts)
        print(f"{frontend}: {', '.join(f'{number} {name}' for name, number in sorted(counts.items()))}", flush=True)
        wrong += sum(counts[name] for name in WRONG)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
