"""Random TFLite models of one operator, against LiteRT's reference kernels.

    PYTHONPATH=src:tests/support python tests/support/random_tflite.py --cases 1000 [--seed 0] [--only CONV] [--compile]
        [--fenced end]

Floats may differ by 1e-5 of their range; integers are equal. With `--fenced` models are compiled and run where all
buffers lie at the ends of pages beside one that nobody may touch, or at their begins: a wrong access is a crash.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from fenced_pages import Pages, Side
from random_tflite_float import FLOAT
from random_tflite_more import DETECTIONS, MORE
from random_tflite_moves import MOVES
from random_tflite_quantized import HYBRID, QUANTIZED
from random_tflite_recurrent import RECURRENT
from random_tflite_stablehlo import STABLEHLO
from seed_workers import Difference, run
from tflite_builder import Array, litert, random_inputs

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite
from whence.provenance.audit import check_located
from whence.support.errors import FrontendError

Make = Callable[[np.random.Generator], bytes]
CASES: dict[str, Make] = {
    **FLOAT,
    **MOVES,
    **MORE,
    **RECURRENT,
    **STABLEHLO,
    **{f"{name} quantized": make for name, make in QUANTIZED.items()},
    **{f"{name} hybrid": make for name, make in HYBRID.items()},
}
"""Name -> what makes a random model of it."""
_OTHERS = ("CEIL", "ELU", "ELU quantized", "ROUND", "SEGMENT_SUM", "SUM quantized", "LOCAL_RESPONSE_NORMALIZATION")
_NEWER = ("STABLEHLO_AND", "STABLEHLO_SHIFT_LEFT")
_LIMIT = 120.0
"""Seconds for a case."""
DEFAULT_KERNELS = frozenset((*_OTHERS, *_NEWER))
"""Held against the kernels that LiteRT runs by default: there are no others, or the reference lacks a neighbour."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "" when it is right, else what is wrong; `skipped` when LiteRT does not take it."""

    name: str
    seed: int
    problem: str = ""
    skipped: bool = False


def difference(mine: Array, theirs: Array, tolerance: float = 1e-5) -> str:
    """What is wrong with a result; "" when nothing is."""
    if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
        return f"{mine.dtype}{list(mine.shape)} for {theirs.dtype}{list(theirs.shape)}"
    if mine.dtype.kind != "f":
        wrong = np.count_nonzero(mine != theirs)
        far = np.abs(mine.astype(np.int64) - theirs.astype(np.int64)).max(initial=0)
        return f"{wrong} of {mine.size} differ, by up to {far}" if wrong else ""
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "other infinities"
    scale = max(np.abs(b[finite]).max(initial=0), 1e-3)
    off = np.abs(a - b)[finite].max(initial=0) / scale
    return f"off by {off:.3g} of the range" if not off <= tolerance else ""


def run_case(name: str, seed: int, compiled: bool = False, pages: Pages | None = None) -> Outcome:
    """One case, of a name of `CASES`. pages: where it is compiled and run, if not anywhere."""
    rng = np.random.default_rng([seed, *name.encode()])
    data = CASES[name](rng)
    inputs = random_inputs(data, rng)
    try:
        expected = litert(data, inputs, reference=name not in DEFAULT_KERNELS)
    except (RuntimeError, ValueError) as error:
        return Outcome(name, seed, str(error).strip().splitlines()[-1], True)
    try:
        found = _found(data, inputs, compiled) if pages is None else _fenced(data, inputs, pages)
    except FrontendError as error:
        return Outcome(name, seed, f"refused: {error}")
    if name in DETECTIONS:
        # Behind the detections LiteRT leaves what was in its memory.
        count = int(expected[3].item()) * DETECTIONS[name]
        found, expected = ([*(one[:, :count] for one in given[:3]), given[3]] for given in (found, expected))
    problems = [difference(mine, theirs) for mine, theirs in zip(found, expected, strict=True)]
    return Outcome(name, seed, "; ".join(filter(None, problems)))


def _found(data: bytes, inputs: Mapping[str, Array], compiled: bool) -> list[Array]:
    if compiled:
        import whence

        exe = whence.compile(data, threads=1)
        return [np.asarray(value) for value in exe.run(inputs).values()]
    module = from_tflite(data)
    module.verify()
    check_located(module, "from_tflite")
    result: Any = evaluate_module(module, list(inputs.values()))
    return list(result)


def _fenced(data: bytes, inputs: Mapping[str, Array], pages: Pages) -> list[Array]:
    with pages.everywhere():
        found = _found(data, pages.copies(inputs), True)
        pages.check()
    return found


def check(at: int, names: Sequence[str], seed: int, compiled: bool, side: Side | None) -> set[str]:
    """Run case `at` and say whether LiteRT refuses it. Raises Difference."""
    name = names[at % len(names)]
    outcome = run_case(name, seed + at // len(names), compiled, None if side is None else Pages(side))
    if outcome.skipped:
        return {f"{name}: LiteRT: {outcome.problem}"}
    if outcome.problem:
        raise Difference(f"{name} {outcome.seed}: {outcome.problem}")
    return set()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fenced", choices=("end", "begin"))
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    names = [name for name in CASES if args.only in name]
    failed, skipped = 0, Counter[str]()
    case = partial(check, names=names, seed=args.seed, compiled=args.compile, side=args.fenced)
    for at, words, problem in run(range(args.cases), case, args.jobs, _LIMIT):
        skipped.update(words)
        if problem:
            failed += 1
            print(f"{names[at % len(names)]}: {problem}", flush=True)
    for text in sorted(skipped):
        print(text)
    print(f"{args.cases} cases of {len(names)} operators: {failed} wrong, {skipped.total()} that LiteRT refuses")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
