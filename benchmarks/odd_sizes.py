"""Operators of sizes that nobody chose, beside onnxruntime, and beside the sizes next to them.

    python benchmarks/odd_sizes.py                                  every family, one thread
    python benchmarks/odd_sizes.py --family gemm --cases 50 --seed 3
    python benchmarks/odd_sizes.py --cliffs                         gemm and convolutions beside their neighbours
    python benchmarks/odd_sizes.py --cache ~/odd                    keep kernels for the next time

Draws `--cases` random cases of each family (seeded, those that there are stay when more are asked for), checks their
numbers against onnxruntime's, and times both in turn in one process: seconds of the processor, copies in and out
included. The ratio is theirs / ours, so that more than 1 is faster than onnxruntime. Ends with status 1 where a number
is wrong. `--cliffs` changes one size of a case by up to 3, and to the multiples of 16 on either side, and prints those
that cost more than 1.3 of the best of these, per multiplication.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from beside.odd_moves import MOVES
from beside.odd_products import PRODUCTS, convolution, gemm
from beside.odd_rows import ROWS
from beside.one_node import Array, Case, Dice, cases

import whence

FAMILIES = PRODUCTS | ROWS | MOVES
SAMPLES = 7
SAMPLE_SECONDS = 2e-3
"""Calls that are shorter are timed several at once."""
TOLERANCE = 1e-4
"""How far numbers may be from onnxruntime's, relative to their range."""
CLIFF = 1.3
Call = Callable[[], object]


class Row(NamedTuple):
    family: str
    case: str
    ours: float
    theirs: float
    off: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def text(self) -> str:
        wrong = "  WRONG" * (not self.off <= TOLERANCE)
        times = f"{self.ours * 1e6:10.1f}{self.theirs * 1e6:10.1f}{self.ratio:7.2f}"
        return f"{self.family:15}{self.case:62}{times}{wrong}"


def calls(case: Case, threads: int) -> tuple[Call, Call, float]:
    """A call of Whence, one of onnxruntime, and how far their results are apart."""
    inputs, constants = case.filled()
    model = case.model(inputs, constants)
    runtime: Any = onnxruntime  # which has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compiled = whence.compile(model, threads=threads)
    feeds = {f"X{i}": array for i, array in enumerate(inputs)}
    results = compiled(*inputs)
    given = results if isinstance(results, tuple) else (results,)
    apart = (off(np.asarray(a), b) for a, b in zip(given, session.run(None, feeds), strict=True))
    return lambda: compiled(*inputs), lambda: session.run(None, feeds), max(apart)


def off(ours: Array, theirs: Array) -> float:
    """The largest difference, relative to the largest number; infinity where shapes or kinds differ."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where(a == b, 0, np.abs(a - b))
    scale = np.abs(b[np.isfinite(b)]).max(initial=0) or 1
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0) / scale)


def medians(functions: Sequence[Call]) -> list[float]:
    """The median seconds of each call, called in turn."""
    counts: list[int] = []
    for call in functions:
        begin = process_time()
        call()
        counts.append(max(1, int(SAMPLE_SECONDS / max(process_time() - begin, 1e-7))))
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(SAMPLES):
        for call, count, mine in zip(functions, counts, times, strict=True):
            begin = process_time()
            for _ in range(count):
                call()
            mine.append((process_time() - begin) / count)
    return [median(mine) for mine in times]


def sweep(families: Sequence[str], args: argparse.Namespace) -> list[Row]:
    """Measure the cases of some families; their means and the worst are printed, too."""
    rows: list[Row] = []
    for name in families:
        for case in cases(name, FAMILIES[name], args.seed, args.cases):
            try:
                ours, theirs, apart = calls(case, args.threads)
            except whence.WhenceError as error:
                rows.append(Row(name, case.name, math.nan, math.nan, math.inf))
                print(f"{case.name}: {error}")
                continue
            mine, best = medians((ours, theirs))
            rows.append(Row(name, case.name, mine, best, apart))
            print(rows[-1].text, flush=True)
    print("\nthe worst")
    timed = [row for row in rows if row.ours == row.ours]
    for row in sorted(timed, key=lambda row: row.ratio)[:20]:
        print(row.text)
    print()
    for name in families:
        ratios = [row.ratio for row in timed if row.family == name]
        print(f"{name:15}{geometric_mean(ratios):6.2f}  least {min(ratios):.2f}")
    ratios = [row.ratio for row in timed]
    low = sum(ratio < 0.7 for ratio in ratios)
    print(f"{'all':15}{geometric_mean(ratios):6.2f}  {len(ratios)} cases, {low} below 0.7")
    return rows


def _neighbours(size: int) -> list[int]:
    near = {size + by for by in (-3, -2, -1, 1, 2, 3)} | {size // 16 * 16, -(-size // 16) * 16}
    return [size, *sorted(other for other in near - {size} if other > 0)]


def groups(args: argparse.Namespace) -> Iterator[tuple[str, str, list[Case]]]:
    """Families and the size that changes, with cases that differ in it; the first is the one that was drawn."""
    for number in range(args.cases):
        dice = Dice(f"{args.seed} cliffs {number}")
        m, k, n = dice.size(1, 300), dice.size(16, 1500), dice.size(16, 1500)
        axis = dice.choice((0, 2))
        sizes = [
            [other if i == axis else size for i, size in enumerate((m, k, n))] for other in _neighbours((m, k, n)[axis])
        ]
        yield "gemm", "mkn"[axis], [gemm(*each) for each in sizes]
        channels, outputs, side = dice.size(8, 600), dice.size(8, 600), dice.size(6, 60)
        kernel, axis = dice.choice((1, 3)), dice.randrange(3)
        drawn = (channels, outputs, side)
        sizes = [[other if i == axis else size for i, size in enumerate(drawn)] for other in _neighbours(drawn[axis])]
        what = ("channels", "outputs", "image")[axis]
        yield "conv2d", what, [convolution(c, o, (s, s), (kernel, kernel)) for c, o, s in sizes]


def cliffs(args: argparse.Namespace) -> list[Row]:
    """Measure cases beside their neighbours, and print those that cost too much."""
    rows: list[Row] = []
    for family, what, near in groups(args):
        if family not in args.family or near[0].work > 3e8:
            continue
        pairs = [calls(case, args.threads) for case in near]
        seconds = medians([call for ours, theirs, _ in pairs for call in (ours, theirs)])
        mine = [Row(family, case.name, seconds[2 * i], seconds[2 * i + 1], pairs[i][2]) for i, case in enumerate(near)]
        each = [row.ours / case.work for row, case in zip(mine, near, strict=True)]
        best = min(range(len(near)), key=each.__getitem__)
        for row, cost in zip(mine, each, strict=True):
            if cost > CLIFF * each[best]:
                print(f"{row.text}  {what}: {cost / each[best]:.2f} of {mine[best].case}", flush=True)
        rows += mine
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="only these")
    parser.add_argument("--cases", type=int, default=12, metavar="N", help="of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cliffs", action="store_true", help="measure sizes beside their neighbours")
    parser.add_argument("--cache", metavar="FOLDER", help="keep kernels there")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    args = parser.parse_args()
    if args.cache:
        os.environ["WHENCE_CACHE_DIR"] = str(Path(args.cache).expanduser())
    print(f"{'family':15}{'case':62}{'whence us':>10}{'ort us':>10}{'ratio':>7}")
    rows = cliffs(args) if args.cliffs else sweep(args.family, args)
    if args.json:
        Path(args.json).write_text(json.dumps([{**row._asdict(), "ratio": row.ratio} for row in rows], indent=1))
    wrong = [row for row in rows if not row.off <= TOLERANCE]
    for row in wrong:
        print(f"wrong: {row.case}: {row.off:.1e} of the range")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
