"""Keras networks as the converter writes them, against LiteRT.

    PYTHONPATH=src:tests/support python tests/support/tflite_exports.py [FOLDER] [--compile]

Without a folder, those that are committed (tests/exports/tflite).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from random_tflite import difference
from tflite_builder import Array, litert, random_inputs

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.tensor import Undecided
from whence.frontends.tflite import from_tflite

FOLDER = Path(__file__).parent.parent / "exports" / "tflite"
FILES = sorted(FOLDER.glob("*.tflite"))
LIMIT = 300_000


def inputs_of(data: bytes) -> dict[str, Array]:
    """Random inputs; ids are not negative."""
    found = random_inputs(data, np.random.default_rng(0))
    return {name: np.abs(value) if value.dtype == np.int32 else value for name, value in found.items()}


def results(data: bytes, *, compiled: bool) -> tuple[list[Array], list[Array]]:
    """What a model gives here, and by LiteRT's reference kernels. Loops are compiled in any case."""
    inputs = inputs_of(data)
    expected = litert(data, inputs)
    if not compiled:
        try:
            return [np.asarray(value) for value in evaluate_module(from_tflite(data), list(inputs.values()))], expected
        except Undecided:
            pass
    exe = whence.compile(data, threads=1)
    return [np.asarray(value) for value in exe.run(inputs).values()], expected


def wrong_of(found: list[Array], expected: list[Array]) -> list[str]:
    """What is wrong with results; nothing of those that are right."""
    told = [difference(mine, theirs) for mine, theirs in zip(found, expected, strict=True)]
    return [text for text in told if text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    wrong = 0
    for path in sorted(args.folder.glob("*.tflite")):
        found, expected = results(path.read_bytes(), compiled=args.compile)
        problems = wrong_of(found, expected)
        wrong += bool(problems)
        print(f"{path.stem:28} {'; '.join(problems) or 'equal'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
