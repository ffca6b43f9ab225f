"""Random ONNX programs, compiled, against a reference: onnxruntime or the evaluator of the onnx package.

    python tests/support/random_programs.py [--cases 3000] [--seed 0] [--jobs 2] [--limit 60] [--only OPERATOR]
        [--fenced]

Case k has seed SEED + k and is compiled at level 3; every third at level 0, too. A case is up to 12 nodes of random
dtypes, shapes and attributes (`random_onnx`). In every fourth all buffers lie at the ends of pages beside one that
nobody may touch, or at the begin of one behind such a page, in turn; with `--fenced` in all. Prints each difference
with its seed, and the sum; the exit code is 1 when there is a difference, an error, a crash or a case that takes longer
than the limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import onnx.printer
from fenced_pages import Pages
from random_onnx import Program, Redraw, Value, is_float, largest
from random_onnx_elementwise import RECIPES as ELEMENTWISE
from random_onnx_layout import RECIPES as LAYOUT
from random_onnx_nets import RECIPES as NETS
from seed_workers import Difference, run

RECIPES = {**ELEMENTWISE, **LAYOUT, **NETS}
_LENGTHS = (1, 1, 1, 2, 2, 3, 4, 5, 7, 9)
_MOST = 12
_FENCED = 4


def random_program(seed: int, only: str = "") -> Program:
    """A program of one to `_MOST` drawn operators. only: an operator that it is of."""
    program = Program(seed)
    wanted = 1 if only else program.choice(_LENGTHS)
    drawn = 0
    while drawn < wanted and len(program.nodes) < _MOST:
        op = only or program.choice(tuple(RECIPES))
        try:
            RECIPES[op](program)
        except Redraw:
            if only:
                return random_program(seed + 1_000_003, only)
            continue
        drawn += 1
    return program


def check(seed: int, levels: Sequence[int], only: str = "", pages: Pages | None = None) -> set[str]:
    """Run one case, in fenced memory where there is such, and return its operators. Raises Difference, with the
    program."""
    import whence

    program = random_program(seed, only)
    model, inputs, outputs = program.model()
    for level in levels:
        where = f"seed {seed} level {level}"
        try:
            with pages.everywhere() if pages is not None else nullcontext():
                executable = whence.compile(model, opt_level=level, threads=1, audit=True)
                found = executable.run(inputs if pages is None else pages.copies(inputs))
                if pages is not None:
                    pages.check()
        except Exception as error:
            text = f"{where}: {type(error).__name__}: {' '.join(str(error).split())[:600]}"
            raise Difference(f"{text}\n{onnx.printer.to_text(model)}") from error
        for value in outputs:
            if what := difference(value, found[value.name]):
                raise Difference(f"{where}: {value.name}: {what}\n{onnx.printer.to_text(model)}")
    return program.operators


def difference(wanted: Value, got: Any) -> str:
    """What is wrong with a result, or nothing."""
    array = wanted.array
    if (got.shape, got.dtype) != (array.shape, array.dtype):
        return f"{got.dtype}{list(got.shape)}, wanted {array.dtype}{list(array.shape)}"
    if is_float(array.dtype):
        found, expected = got.astype(np.float64), array.astype(np.float64)
        near = wanted.error * largest(array)
        same = np.isclose(found, expected, rtol=0, atol=near, equal_nan=True)
    else:
        found, expected, near, same = got, array, 0, got == array
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{(~same).sum()} of {same.size} differ by more than {near:.1e}, at {at}: {found[at]}, wanted {expected[at]}"


def levels_of(seed: int) -> tuple[int, ...]:
    return (3, 0) if seed % 3 == 0 else (3,)


def _operators(seed: int, only: str, fenced: bool) -> set[str]:
    pages = Pages("begin" if seed // _FENCED % 2 else "end") if fenced or not seed % _FENCED else None
    return check(seed, levels_of(seed), only, pages)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a case")
    parser.add_argument(
        "--only", default="", choices=("", *RECIPES), metavar="OPERATOR", help="one node, of this operator"
    )
    parser.add_argument("--fenced", action="store_true", help="all cases beside pages that nobody may touch")
    options = parser.parse_args(arguments)
    operators, wrong, begin = Counter[str](), 0, time.monotonic()
    seeds = range(options.seed, options.seed + options.cases)
    case = partial(_operators, only=options.only, fenced=options.fenced)
    for count, (_, used, text) in enumerate(run(seeds, case, options.jobs, options.limit), 1):
        operators.update(used)
        if text:
            wrong += 1
            print(text, flush=True)
        if count % 100 == 0:
            print(f"{count} cases, {wrong} wrong, {time.monotonic() - begin:.0f} s", flush=True)
    print("operators in cases:", ", ".join(f"{op} {n}" for op, n in sorted(operators.items())))
    levels = sum(len(levels_of(seed)) for seed in seeds)
    print(f"{options.cases} programs over {len(operators)} operators, {levels} compilations: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
