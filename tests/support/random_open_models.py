"""Random programs of open sizes, te and ONNX, each compiled once and run at six sizes or more.

    python tests/support/random_open_models.py [--cases 1000] [--seed 0] [--jobs 2] [--limit 120]

Case k has seed SEED + k. Even ones are te graphs under random schedules, against numpy; odd ones are ONNX programs,
against onnxruntime. Both are compiled at levels 3 and 0. In every fifth pair all buffers, inputs, outputs, weights and
the arena, lie at the end of a page before one that nobody may touch, and in a second run at the begin of one behind
such a page: so an access beside a buffer is a crash, which is reported with its seed. The exit code is 1 when there is
a difference, an error, a crash or a case that takes longer than the limit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import onnx.printer
import seed_workers
from fenced_pages import Pages
from numpy.typing import NDArray
from random_open_onnx import Program, random_program, session
from random_open_recipes import RECIPES
from random_open_sizes import check as check_schedule
from seed_workers import Difference

import whence
from whence.support.errors import WhenceError

Array = NDArray[Any]
LEVELS = (3, 0)
_FENCED = 5


def check(seed: int) -> set[str]:
    """Run one case; what it is of. Raises Difference."""
    half = seed // 2
    sides = (Pages("end"), Pages("begin")) if half % _FENCED == 0 else (None,)
    words = {"fenced"} if len(sides) > 1 else set[str]()
    for pages in sides:
        for level in LEVELS:
            try:
                if seed % 2:
                    words |= check_model(half, level, pages)
                else:
                    words |= {"te", *(() if check_schedule(half, level, pages) else ("te by size",))}
            except Exception as error:
                where = f"seed {seed} level {level}{f' {pages.side} of pages' if pages is not None else ''}"
                text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                raise Difference(f"{where}: {text[:4000]}") from error
    return words


def check_model(seed: int, level: int, pages: Pages | None = None) -> set[str]:
    """Compile an ONNX program once and run it at all sizes; its operators. Raises AssertionError, with the program."""
    program = random_program(seed, RECIPES)
    model = program.model()
    reference = session(model)
    text = onnx.printer.to_text(model)
    try:
        with pages.everywhere() if pages is not None else nullcontext():
            executable = whence.compile(
                model, opt_level=level, threads=1, tier="symbolic", input_shapes=program.input_shapes(), audit=True
            )
            for sizes in program.sizes():
                _check_sizes(program, executable, reference, sizes, pages)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
    return {"onnx", *program.operators}


def _check_sizes(
    program: Program, executable: whence.Executable, reference: Any, sizes: dict[str, int], pages: Pages | None
) -> None:
    inputs = program.arrays(sizes)
    if pages is not None:
        inputs = {name: pages.copy(array) for name, array in inputs.items()}
    try:
        wanted = reference.run(None, inputs) if program.means_something(sizes) else None
    except Exception:
        wanted = None
    if wanted is None:
        # Some operators make no sense for nothing. Whence may say so or not, but must not touch what is not its own.
        try:
            executable.run(inputs)
        except WhenceError:
            return
        return
    found = executable.run(inputs)
    for (name, mine), theirs in zip(found.items(), wanted, strict=True):
        if what := difference(mine, theirs):
            raise AssertionError(f"{sizes}: {name}: {what}")
    if pages is not None:
        pages.check()


def difference(found: Array, wanted: Array) -> str:
    """What is wrong with a result, or nothing."""
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{list(found.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
    if found.dtype.kind != "f":
        same = found == wanted
    else:
        most = np.abs(wanted, where=np.isfinite(wanted), out=np.ones(wanted.shape, wanted.dtype)).max(initial=1.0)
        same = np.isclose(found, wanted, rtol=0, atol=2e-4 * most, equal_nan=True)
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{(~same).sum()} of {same.size} differ, at {at}: {found[at]}, wanted {wanted[at]}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(limit=120.0)
    return seed_workers.main(parser, arguments, lambda options: check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
